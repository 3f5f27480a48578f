"""System relations about Kafka sources."""

from __future__ import annotations

from typing import Final

from headwater.catalog.builtin.exports import exports_from
from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.details import ShownEncoding


def _tables(facts: SystemFacts) -> Columns:
    exports = exports_from(facts, "kafka")
    encodings = [export.encoding or ShownEncoding() for export in exports]
    return {
        "id": [export.id for export in exports],
        "topic": [export.fed_export.reference[-1] for export in exports],
        "envelope_type": [encoding.envelope_type for encoding in encodings],
        "key_format": [encoding.key_format for encoding in encodings],
        "value_format": [encoding.value_format for encoding in encodings],
    }


MZ_KAFKA_SOURCE_TABLES: Final = BuiltinTable(
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
    rows=_tables,
)
