"""pg_catalog.pg_sequences: sequences, with the names around them."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=462,
    schema="pg_catalog",
    name="pg_sequences",
    description="Sequences, with the names around them.",
    columns=shape(
        """
        schemaname name?
        sequencename name?
        sequenceowner name?
        data_type regtype?
        start_value int8?
        min_value int8?
        max_value int8?
        increment_by int8?
        cycle bool?
        cache_size int8?
        last_value int8?
        """
    ),
)
