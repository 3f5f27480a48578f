#!/usr/bin/env bash
# Runs all tests but those of `make check`.  First, alone, what measures how long answers take; then the rest in
# rows side by side: tests wait a lot, for servers to start and for things to happen.  The first row is shown as
# it goes, the others when they have ended.  Called by make, which has set everything up.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly rows=(
    "tests --ignore tests/postgres --ignore tests/text --ignore tests/chaos --ignore tests/mysql --ignore tests/wire/test_freezing.py --ignore tests/test_tidy.py"
    "tests/postgres tests/text"
    "tests/chaos tests/mysql"
    "tests/wire/test_freezing.py"
)
# What a shell starts in the background ignores Ctrl-C, and so would the programs under test.
readonly run=(env --default-signal=INT .venv/bin/pytest --durations 10 --durations-min 10)
logs=$(mktemp -d)
beside=()
trap '[ ${#beside[@]} -eq 0 ] || kill "${beside[@]}" 2>/dev/null || true; rm -rf "$logs"' EXIT

status=0
"${run[@]}" "${rows[3]}" || status=$?
# shellcheck disable=SC2086  # a row is several words
for row in 1 2; do
    "${run[@]}" ${rows[row]} >"$logs/$row" 2>&1 &
    beside[row]=$!
done
# shellcheck disable=SC2086
"${run[@]}" ${rows[0]} || status=$?
for row in 1 2; do
    wait "${beside[row]}" || status=$?
    echo "the row of ${rows[row]}:"
    cat "$logs/$row"
done
exit "$status"
