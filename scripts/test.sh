#!/usr/bin/env bash
# Runs all tests but those of `make check`.  First, alone, what measures how long answers take; then the rest in
# rows side by side: tests wait a lot, for servers to start and for things to happen.  The first row is shown as
# it goes, the others when they have ended.  What failed beside the others is run once more, alone: if it passes,
# the last lines name it, so that whoever reads them looks why; if it does not, the run has failed.
# Called by make, which has set everything up.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly rows=(
    "tests/wire/test_freezing.py"
    "tests --ignore tests/postgres --ignore tests/text --ignore tests/chaos --ignore tests/clients --ignore tests/kinds --ignore tests/mysql --ignore tests/wire/test_freezing.py --ignore tests/test_tidy.py"
    "tests/postgres tests/text"
    "tests/chaos tests/clients tests/kinds tests/mysql"
)
# Where so many have failed it is no chance.
readonly again_max=20
# What a shell starts in the background ignores Ctrl-C, and so would the programs under test.
readonly run=(env --default-signal=INT .venv/bin/pytest -rs --durations 10 --durations-min 10)
logs=$(mktemp -d)
beside=()
trap '[ ${#beside[@]} -eq 0 ] || kill "${beside[@]}" 2>/dev/null || true; rm -rf "$logs"' EXIT

# row NUMBER [OPTION...]: one row of tests
row() {
    local number=$1
    shift
    # shellcheck disable=SC2086  # a row is several words
    "${run[@]}" -o cache_dir="$logs/cache-$number" "$@" ${rows[number]}
}

# failed NUMBER: the tests of a row that have failed, one a line
failed() {
    sed -n 's/^  "\(.*\)": true,\?$/\1/p' "$logs/cache-$1/v/cache/lastfailed"
}

declare -A statuses=()
row 0 || statuses[0]=$?
for number in 2 3; do
    row "$number" >"$logs/$number" 2>&1 &
    beside[number]=$!
done
row 1 || statuses[1]=$?
for number in 2 3; do
    wait "${beside[number]}" || statuses[$number]=$?
    echo "the row of ${rows[number]}:"
    cat "$logs/$number"
done

passed_later=()
for number in "${!statuses[@]}"; do
    # Any other status says that pytest itself was ended, or could not begin.
    [ "${statuses[$number]}" -eq 1 ] || exit "${statuses[$number]}"
    mapfile -t tests < <(failed "$number")
    if [ ${#tests[@]} -eq 0 ] || [ ${#tests[@]} -gt "$again_max" ]; then
        exit 1
    fi
    echo "alone, what failed of ${rows[number]}:"
    row "$number" --last-failed --last-failed-no-failures none
    passed_later+=("${tests[@]}")
done
for test in "${passed_later[@]}"; do
    echo "failed beside the others and passed alone: $test"
done
