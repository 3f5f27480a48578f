"""What is fed by sources of a kind: tables, subsources, and legacy sources with rows of their own."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.table import Columns
from headwater.catalog.state import Item


def exports_from(facts: SystemFacts, source_type: str) -> Sequence[Item]:
    """In order of creation."""
    items = facts.state.items
    fed = [item for item in items.values() if item.source_id is not None]
    return [item for item in fed if items[item.source_id or ""].ingestion.source_type == source_type]


def upstream_tables(facts: SystemFacts, source_type: str) -> Columns:
    """Which table of a database feeds which: references of such upstreams end with schema and table."""
    exports = exports_from(facts, source_type)
    references = [export.fed_export.reference for export in exports]
    return {
        "id": [export.id for export in exports],
        "schema_name": [reference[-2] for reference in references],
        "table_name": [reference[-1] for reference in references],
    }
