#!/usr/bin/env bash
# Runs all tests but those of `make check`, in two rows side by side: both wait a lot for servers to start
# and for things to happen.  Called by make, which has set everything up.
set -euo pipefail
cd "$(dirname "$0")/.."

# What a shell starts in the background ignores Ctrl-C, and so would the programs under test.
readonly run=(env --default-signal=INT .venv/bin/pytest --durations 10 --durations-min 10)
log=$(mktemp)
trap 'kill "$beside" 2>/dev/null || true; rm -f "$log"' EXIT

"${run[@]}" tests/postgres tests/clients tests/wire tests/text >"$log" 2>&1 &
beside=$!
status=0
"${run[@]}" tests --ignore tests/postgres --ignore tests/clients --ignore tests/wire --ignore tests/text \
    --ignore tests/test_tidy.py || status=$?
wait "$beside" || status=$?
echo "the row beside:"
cat "$log"
exit "$status"
