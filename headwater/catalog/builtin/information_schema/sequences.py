"""information_schema.sequences: sequences."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=619,
    schema="information_schema",
    name="sequences",
    description="Sequences.",
    columns=shape(
        """
        sequence_catalog text?
        sequence_schema text?
        sequence_name text?
        data_type text?
        numeric_precision int4?
        numeric_precision_radix int4?
        numeric_scale int4?
        start_value text?
        minimum_value text?
        maximum_value text?
        increment text?
        cycle_option text?
        """
    ),
)
