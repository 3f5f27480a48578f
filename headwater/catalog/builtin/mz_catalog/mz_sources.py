"""mz_catalog.mz_sources: the sources."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.objects import redacted
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.rights import acl_items
from headwater.catalog.state import CatalogState, Item


def _connection_id(state: CatalogState, source: Item) -> str | None:
    ingestion = state.ingestion_of(source)
    if not ingestion.ingests or source.parent_id is not None:
        return None
    connection_id = ingestion.ingestion.options.get("connection_id")
    return None if connection_id is None else str(connection_id)


def _rows(facts: SystemFacts) -> Columns:
    state = facts.state
    sources = [item for item in state.items.values() if item.kind == "source"]
    encodings = [source.encoding for source in sources]
    return {
        "id": [s.id for s in sources],
        "oid": [s.oid for s in sources],
        "schema_id": [s.schema_id for s in sources],
        "name": [s.name for s in sources],
        "type": [state.source_type(s) for s in sources],
        "connection_id": [_connection_id(state, s) for s in sources],
        "size": None,
        "envelope_type": [None if e is None else e.envelope_type for e in encodings],
        "key_format": [None if e is None else e.key_format for e in encodings],
        "value_format": [None if e is None else e.value_format for e in encodings],
        "cluster_id": [s.cluster_id for s in sources],
        "owner_id": [s.owner_id for s in sources],
        "privileges": [acl_items(facts.state, ("item", s.id)) for s in sources],
        "create_sql": [s.create_sql for s in sources],
        "redacted_create_sql": [redacted(s.create_sql) for s in sources],
    }


RELATION = BuiltinTable(
    number=107,
    schema="mz_catalog",
    name="mz_sources",
    description="The sources.",
    columns=shape(
        """
        id text
        oid oid
        schema_id text
        name text
        type text
        connection_id text?
        size text?
        envelope_type text?
        key_format text?
        value_format text?
        cluster_id text?
        owner_id text
        privileges mz_aclitem[]
        create_sql text?
        redacted_create_sql text?
        """
    ),
    rows=_rows,
)
