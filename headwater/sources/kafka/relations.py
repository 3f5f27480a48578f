"""System relations about Kafka sources."""

from __future__ import annotations

from typing import Final

from headwater.catalog.builtin.exports import exports_from
from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.details import ShownEncoding
from headwater.catalog.state import Item


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
    pairs = [(source, topic) for source in sources for topic in _topics(facts, source)]
    return {
        "id": [facts.state.named_source(source.id).id for source, _ in pairs],
        "group_id_prefix": [source.ingestion.options["group_id_prefix"] for source, _ in pairs],
        "topic": [topic for _, topic in pairs],
    }


def _topics(facts: SystemFacts, source: Item) -> list[str]:
    """Those that a source names; of a pattern those that are listed, or that tables are made of."""
    if source.ingestion.options["pattern"] is None:
        return list(source.ingestion.options["topics"])
    listed = {reference.name for reference in source.ingestion.references}
    tabled = {item.fed_export.reference[-1] for item in facts.state.exports_of(source.id)}
    return sorted(listed | tabled)


MZ_KAFKA_SOURCES: Final = BuiltinTable(
    number=116,
    schema="mz_catalog",
    name="mz_kafka_sources",
    description="Facts of Kafka sources, a row for each topic.",
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
