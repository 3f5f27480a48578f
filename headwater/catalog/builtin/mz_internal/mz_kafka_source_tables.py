"""mz_internal.mz_kafka_source_tables: which Kafka topic feeds which table."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=206,
    schema="mz_internal",
    name="mz_kafka_source_tables",
    description="Which Kafka topic feeds which table.",
    columns=shape(
        """
        id text
        topic text
        envelope_type text?
        key_format text?
        value_format text?
        """
    ),
)
