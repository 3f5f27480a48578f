#!/usr/bin/env bash
# Runs all tests but those of `make check`, in two rows side by side: one needs a processor, the other
# mostly waits for servers to start and for things to happen.  Called by make, which has set everything up.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly bin=.venv/bin
log=$(mktemp)
trap 'kill "$beside" 2>/dev/null; rm -f "$log"' EXIT

# What a shell starts in the background ignores Ctrl-C, and so would the programs under test.
nice env --default-signal=INT $bin/pytest tests/unit tests/text >"$log" 2>&1 &
beside=$!
status=0
env --default-signal=INT $bin/pytest tests --ignore tests/unit --ignore tests/text \
    --ignore tests/test_tidy.py || status=$?
wait "$beside" || status=$?
echo "the row beside:"
cat "$log"
exit "$status"
