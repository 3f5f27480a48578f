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


def _sources(facts: SystemFacts) -> Columns:
    items = facts.state.items.values()
    sources = [s for s in items if s.ingests and s.ingestion.source_type == "kafka"]
    options = [source.ingestion.options for source in sources]
    return {
        "id": [facts.state.named_source(source.id).id for source in sources],
        "group_id_prefix": [option["group_id_prefix"] for option in options],
        "topic": [option["topic"] for option in options],
    }


MZ_KAFKA_SOURCES: Final = BuiltinTable(
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
    rows=_sources,
)


def _connections(facts: SystemFacts) -> Columns:
    items = [item for item in facts.state.items.values() if item.kind == "connection"]
    found = [item for item in items if item.connection.connection_type == "kafka"]
    return {
        "id": [item.id for item in found],
        "brokers": [item.connection.options["brokers"] for item in found],
        "sink_progress_topic": [
            item.connection.options.get("progress_topic", f"_materialize-progress-{item.id}")
            for item in found
        ],
    }


MZ_KAFKA_CONNECTIONS: Final = BuiltinTable(
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
    rows=_connections,
)
