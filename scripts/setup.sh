#!/usr/bin/env bash
# Installs what Headwater needs, one part per call, and only what is absent.
#
#   scripts/setup.sh packages STAMP   virtual environment in .venv, the packages of requirements.txt, Headwater itself
#   scripts/setup.sh java             Java 17 or later
#   scripts/setup.sh classes          an archive of Java's classes, with which Spark starts in half the time
#   scripts/setup.sh postgresql       a PostgreSQL server and psql, for the tests
#   scripts/setup.sh kafka            a Kafka broker and a schema registry, for the tests
#   scripts/setup.sh mysql            a MariaDB server, and where root may make one a MySQL server, for the tests
#
# System packages come by apt where that is possible (root on Debian); elsewhere it
# says what to type and ends with status 1.  Called by make, which knows when.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly venv=.venv
readonly uv_version=0.13.7
readonly java_major_min=17
readonly kafka_lock=scripts/kafka.lock
# Where the tests find Kafka: a link to what all checkouts of a user share.
readonly kafka_link=.cache/kafka
# Where the tests find MySQL, the same way: the root of a system of its own, as Debian has it in its newest one alone.
readonly mysql_link=.cache/mysql
readonly mysql_cache=mysql-in-sid-1
# Later versions also want the description of an artifact's parent, which was not to be had for the registry.
readonly maven_copy=org.apache.maven.plugins:maven-dependency-plugin:2.10:copy

say() { printf '%s\n' "$*" >&2; }

# install_system WHAT PACKAGE...
install_system() {
    local what=$1
    shift
    if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
        say "installing $what: $*"
        # Two runs of apt at a time would fail, and make starts several of us.
        exec 9<scripts/setup.sh
        flock 9
        export DEBIAN_FRONTEND=noninteractive
        apt-get update -qq >&2
        apt-get install -y -qq --no-install-recommends "$@" >&2
        exec 9<&-
    else
        say "$what is needed and was not found. Type:"
        say "    sudo apt-get install -y $*"
        exit 1
    fi
}

install_packages() {
    local stamp=$1 python=${PYTHON:-python3}
    if ! "$venv/bin/python" -c '' 2>/dev/null; then
        "$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || {
            say "Python 3.11 to 3.13 is needed; name it: make setup PYTHON=python3.11"
            exit 1
        }
        # Debian keeps this module in a package of its own.
        "$python" -c 'import ensurepip' 2>/dev/null || install_system "python's venv" python3-venv
        "$python" -m venv --clear "$venv"
    fi
    "$venv/bin/uv" --version 2>/dev/null | grep -qF "uv $uv_version" ||
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "uv==$uv_version"
    "$venv/bin/uv" pip sync --quiet --compile-bytecode --python "$venv/bin/python" --require-hashes requirements.txt
    "$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --no-deps --editable .
    rm -f "$venv"/.installed-* "$venv"/var/spark-*.jsa
    touch "$stamp"
}

# java_major PATH: 17 of `openjdk version "17.0.13"`, 1 of `"1.8.0"`, nothing if it does not run.
java_major() {
    "$1" -version 2>&1 | sed -nE 's/.*version "([0-9]+).*/\1/p' | head -n 1
}

install_java() {
    local java major
    java=${JAVA_HOME:+$JAVA_HOME/bin/java}
    java=${java:-$(command -v java || true)}
    # Asking java takes a moment; the answer for the same file is remembered.
    if [ -x "$java" ] && [ "$(cat "$venv/.java" 2>/dev/null)" = "$java" ]; then return; fi
    major=$([ -x "$java" ] && java_major "$java" || true)
    if [ "${major:-0}" -ge "$java_major_min" ]; then
        printf '%s\n' "$java" >"$venv/.java"
        rm -f "$venv"/var/spark-*.jsa # it was made for another Java
    elif [ -n "${JAVA_HOME:-}" ]; then
        say "JAVA_HOME is $JAVA_HOME, where no Java $java_major_min or later is found. Change it or unset it."
        exit 1
    else
        install_system "Java $java_major_min" openjdk-17-jre-headless
    fi
}

make_classes() {
    compgen -G "$venv/var/spark-*.jsa" >/dev/null && return
    "$venv/bin/python" -m headwater.cluster.classes >/dev/null 2>&1 ||
        say "no archive of Java's classes could be made; Spark starts without one"
}

install_postgresql() {
    compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null && command -v psql >/dev/null && return
    # Debian starts a server of its own with this; the tests make theirs elsewhere.
    install_system PostgreSQL postgresql postgresql-client
}

# kafka_files: `group artifact version type classifier sha256 file` of every line of the lock.
kafka_files() {
    sed '/^#/d; s/[: ]/ /g' "$kafka_lock" | awk '{
        classifier = NF > 5 ? $5 : ""
        print $1, $2, $3, $4, classifier == "" ? "-" : classifier, $NF, $2 "-" $3 (classifier == "" ? "" : "-") classifier "." $4
    }'
}

# kafka_right FOLDER: whether every file there is what the lock says; names those that are not.
kafka_right() {
    kafka_files | awk -v folder="$1" '{ print $6 "  " folder "/" $7 }' | sha256sum --check --quiet --strict >&2
}

# kafka_fetch FOLDER: the files of the lock into a new folder.
kafka_fetch() {
    local folder=$1 group artifact version type classifier rest
    command -v mvn >/dev/null || install_system Maven maven
    say "fetching Kafka and a schema registry, 150 MB"
    {
        echo '<project><modelVersion>4.0.0</modelVersion><groupId>headwater</groupId><artifactId>kafka</artifactId>'
        echo '<version>1</version><packaging>pom</packaging><build><plugins><plugin>'
        echo '<groupId>org.apache.maven.plugins</groupId><artifactId>maven-dependency-plugin</artifactId><configuration>'
        echo "<outputDirectory>$folder</outputDirectory><artifactItems>"
        kafka_files | while read -r group artifact version type classifier rest; do
            printf '<artifactItem><groupId>%s</groupId><artifactId>%s</artifactId>' "$group" "$artifact"
            printf '<version>%s</version><type>%s</type>' "$version" "$type"
            [ "$classifier" = - ] || printf '<classifier>%s</classifier>' "$classifier"
            echo '</artifactItem>'
        done
        echo '</artifactItems></configuration></plugin></plugins></build></project>'
    } >"$folder/pom.xml"
    # Its own repository beside it: nothing is kept twice, and what somebody's own may have is not taken.
    mvn --batch-mode --quiet --file "$folder/pom.xml" -Dmaven.repo.local="$folder/repository" "$maven_copy" >&2
    rm -rf "$folder/pom.xml" "$folder/repository"
}

install_kafka() {
    local archive cache made
    cache=${XDG_CACHE_HOME:-$HOME/.cache}/headwater/kafka-$(sha256sum "$kafka_lock" | cut -c1-16)
    if [ "$(readlink "$kafka_link" 2>/dev/null)" = "$cache" ] && [ -d "$cache" ]; then return; fi
    archive=$(kafka_files | awk '$4 == "tar.gz" { print $7 }')
    if [ ! -d "$cache" ]; then
        mkdir -p "${cache%/*}"
        made=$(mktemp -d "$cache.XXXXXX")
        # shellcheck disable=SC2064  # this folder, whatever the name means then
        trap "rm -rf '$made'" EXIT
        kafka_fetch "$made"
        kafka_right "$made" || {
            say "what Maven fetched is not what $kafka_lock says"
            exit 1
        }
        mkdir "$made/registry"
        tar -xzf "$made/$archive" -C "$made/registry"
        chmod 755 "$made"
        # Another checkout may have been faster.
        mv --no-target-directory "$made" "$cache" 2>/dev/null || [ -d "$cache" ]
    elif ! kafka_right "$cache" || ! tar --compare -zf "$cache/$archive" -C "$cache/registry" >&2; then
        say "what is in $cache is not what $kafka_lock says. Type:"
        say "    rm -r $cache && make kafka"
        exit 1
    fi
    mkdir -p "${kafka_link%/*}"
    ln -sfn "$cache" "$kafka_link"
}

install_mysql() {
    local cache made mirror
    { [ -x /usr/sbin/mariadbd ] && command -v mariadb >/dev/null; } ||
        # Without the package that starts a server of its own.
        install_system MariaDB mariadb-server-core mariadb-client-core
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        say "MySQL runs in a chroot, which needs root on Debian; without it only MariaDB is tested"
        return
    fi
    cache=${XDG_CACHE_HOME:-$HOME/.cache}/headwater/$mysql_cache
    if [ ! -d "$cache" ]; then
        command -v debootstrap >/dev/null || install_system debootstrap debootstrap
        say "making a system with MySQL in it, 300 MB"
        mkdir -p "${cache%/*}"
        made=$(mktemp -d "$cache.XXXXXX")
        # shellcheck disable=SC2064  # this folder, whatever the name means then
        trap "rm -rf '$made'" EXIT
        chmod 755 "$made"
        # From where this system has its own packages.
        mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Label: Debian' | sed -n 1p)
        debootstrap --variant=minbase --include=mysql-server-core,mysql-client-core sid "$made" \
            ${mirror:+"$mirror"} >"$made.log" 2>&1 || {
            tail -n 20 "$made.log" >&2
            say "MySQL could not be fetched; $made.log says more"
            exit 1
        }
        rm -rf "$made.log" "$made"/var/cache/apt/archives/*.deb "$made"/var/lib/apt/lists/* "$made"/usr/share/{doc,locale,man}
        # Another checkout may have been faster.
        mv --no-target-directory "$made" "$cache" 2>/dev/null || [ -d "$cache" ]
    fi
    mkdir -p "${mysql_link%/*}"
    ln -sfn "$cache" "$mysql_link"
}

case ${1:-} in
packages) install_packages "$2" ;;
java) install_java ;;
classes) make_classes ;;
postgresql) install_postgresql ;;
kafka) install_kafka ;;
mysql) install_mysql ;;
*)
    say "usage: scripts/setup.sh packages STAMP | java | classes | postgresql | kafka | mysql"
    exit 2
    ;;
esac
