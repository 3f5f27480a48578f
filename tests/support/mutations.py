"""How many mutated messages of each kind the tests of bad input send: `make fuzz` sends ten times as many."""

from __future__ import annotations

import os

MUTATION_COUNT = int(os.environ.get("HEADWATER_MUTATIONS", "10000"))
