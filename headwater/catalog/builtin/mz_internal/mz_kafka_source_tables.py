"""mz_internal.mz_kafka_source_tables: which Kafka topic feeds which table."""

from __future__ import annotations

from headwater.catalog.builtin.exports import exports_from
from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    exports = exports_from(facts, "kafka")
    return {
        "id": [export.id for export in exports],
        "topic": [export.details["export"]["reference"][-1] for export in exports],
        "envelope_type": [export.details.get("envelope_type", "none") for export in exports],
        "key_format": [export.details.get("key_format") for export in exports],
        "value_format": [export.details.get("value_format") for export in exports],
    }


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
    rows=_rows,
)
