"""mz_catalog.mz_kafka_sources: facts of Kafka sources."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=116,
    schema="mz_catalog",
    name="mz_kafka_sources",
    description="Facts of Kafka sources.",
    columns=shape(
        """
        id text
        group_id_prefix text
        topic text
        """
    ),
)
