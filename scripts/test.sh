#!/usr/bin/env bash
# Runs all tests but those of `make check`: unit tests, which need a processor, beside the others, which
# mostly wait for servers to start and for things to happen.  Called by make, which has set everything up.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly bin=.venv/bin
log=$(mktemp)
trap 'kill "$unit" 2>/dev/null; rm -f "$log"' EXIT

# What a shell starts in the background ignores Ctrl-C, and so would the programs under test.
nice env --default-signal=INT $bin/pytest tests/unit >"$log" 2>&1 &
unit=$!
status=0
env --default-signal=INT $bin/pytest tests --ignore tests/unit --ignore tests/test_tidy.py || status=$?
wait "$unit" || status=$?
echo "tests/unit:"
cat "$log"
exit "$status"
