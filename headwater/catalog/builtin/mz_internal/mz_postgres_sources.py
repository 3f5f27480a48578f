"""mz_internal.mz_postgres_sources: facts of PostgreSQL sources."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    items = facts.state.items.values()
    sources = [s for s in items if s.ingests and s.details["source_type"] == "postgres"]
    options = [source.details["options"] for source in sources]
    return {
        "id": [facts.state.named_source(source.id).id for source in sources],
        "replication_slot": [option["slot"] for option in options],
        "timeline_id": [option["identity"]["timeline"] for option in options],
    }


RELATION = BuiltinTable(
    number=202,
    schema="mz_internal",
    name="mz_postgres_sources",
    description="Facts of PostgreSQL sources.",
    columns=shape(
        """
        id text
        replication_slot text
        timeline_id uint8?
        """
    ),
    rows=_rows,
)
