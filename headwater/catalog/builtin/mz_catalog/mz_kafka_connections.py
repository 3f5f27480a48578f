"""mz_catalog.mz_kafka_connections: facts of Kafka connections."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=115,
    schema="mz_catalog",
    name="mz_kafka_connections",
    description="Facts of Kafka connections.",
    columns=shape(
        """
        id text
        brokers text[]
        sink_progress_topic text
        """
    ),
)
