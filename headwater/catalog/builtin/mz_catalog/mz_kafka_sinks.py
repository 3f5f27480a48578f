"""mz_catalog.mz_kafka_sinks: facts of Kafka sinks."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=117,
    schema="mz_catalog",
    name="mz_kafka_sinks",
    description="Facts of Kafka sinks.",
    columns=shape(
        """
        id text
        topic text
        """
    ),
)
