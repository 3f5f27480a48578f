#!/usr/bin/env bash
# Runs all tests but those of `make check`, in three rows side by side: two wait a lot for servers to start
# and for things to happen, and the third, pure functions mostly, takes what they leave of the processors.
# Called by make, which has set everything up.
set -euo pipefail
cd "$(dirname "$0")/.."

# What a shell starts in the background ignores Ctrl-C, and so would the programs under test.
readonly run=(env --default-signal=INT .venv/bin/pytest --durations 10 --durations-min 10)
logs=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$logs"' EXIT

"${run[@]}" tests/postgres tests/text >"$logs/postgres" 2>&1 &
postgres=$!
nice "${run[@]}" tests --ignore tests/postgres --ignore tests/text --ignore tests/chaos --ignore tests/clients \
    --ignore tests/wire --ignore tests/test_tidy.py >"$logs/unit" 2>&1 &
unit=$!
status=0
"${run[@]}" tests/chaos tests/clients tests/wire || status=$?
wait "$unit" || status=$?
wait "$postgres" || status=$?
echo "the rows beside:"
cat "$logs/unit" "$logs/postgres"
exit "$status"
