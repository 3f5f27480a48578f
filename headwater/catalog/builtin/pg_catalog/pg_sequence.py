"""pg_catalog.pg_sequence: sequences."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=461,
    schema="pg_catalog",
    name="pg_sequence",
    description="Sequences.",
    columns=shape(
        """
        seqrelid oid
        seqtypid oid
        seqstart int8
        seqincrement int8
        seqmax int8
        seqmin int8
        seqcache int8
        seqcycle bool
        """
    ),
    postgres_oid=2224,
)
