#!/usr/bin/env bash
# Runs all tests but those of `make check`.  First, alone, what measures how long answers take; then the rest in
# two rows side by side: both wait a lot for servers to start and for things to happen; more rows would only wait
# for the processors.  The first is shown as it goes, the other when it has ended.  Called by make, which has set
# everything up.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly rows=(
    "tests --ignore tests/postgres --ignore tests/text --ignore tests/wire/test_freezing.py --ignore tests/test_tidy.py"
    "tests/postgres"
    "tests/text"
    "tests/wire/test_freezing.py"
)
# What a shell starts in the background ignores Ctrl-C, and so would the programs under test.
readonly run=(env --default-signal=INT .venv/bin/pytest --durations 10 --durations-min 10)
log=$(mktemp)
beside=
trap '[ -z "$beside" ] || kill "$beside" 2>/dev/null || true; rm -f "$log"' EXIT

status=0
"${run[@]}" "${rows[3]}" || status=$?
"${run[@]}" "${rows[@]:1:2}" >"$log" 2>&1 &
beside=$!
# shellcheck disable=SC2086  # the row is several words
"${run[@]}" ${rows[0]} || status=$?
wait "$beside" || status=$?
echo "the row beside:"
cat "$log"
exit "$status"
