"""LOAD GENERATOR in SQL: data made up as it goes, for trying things out.

    LOAD GENERATOR {AUCTION | MARKETING | TPCH | COUNTER | CLOCK | DATUMS | KEY VALUE} [(option, ...)]

Not here: which options go with which generator (options.py).
"""

from __future__ import annotations

from typing import Final

from headwater.sql.options import boolean, duration, integer, number
from headwater.sql.upstream import Grammar

GRAMMAR: Final = Grammar(
    "LOAD GENERATOR",
    {
        "TICK INTERVAL": duration,
        "AS OF": integer,
        "UP TO": integer,
        "SCALE FACTOR": number,
        "MAX CARDINALITY": integer,
        "KEYS": integer,
        "SNAPSHOT ROUNDS": integer,
        "TRANSACTIONAL SNAPSHOT": boolean,
        "VALUE SIZE": integer,
        "SEED": integer,
        "PARTITIONS": integer,
        "BATCH SIZE": integer,
    },
    variants=("AUCTION", "MARKETING", "TPCH", "COUNTER", "CLOCK", "DATUMS", "KEY VALUE"),
    single=lambda upstream: upstream.variant in ("COUNTER", "CLOCK", "DATUMS", "KEY VALUE"),
)
