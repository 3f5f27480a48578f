"""A source as a relation: `SELECT * FROM source` shows how far it has come upstream."""

from __future__ import annotations

import pyarrow as pa

from headwater.catalog.state import Item
from headwater.core.relation import Relation
from headwater.formats.arrow import state_schema
from headwater.persist.ledger import Ledger
from headwater.sources import SOURCE_TYPES


def progress(source: Item, ts: int, ledger: Ledger) -> pa.Table:
    """Its frontier at `ts`, in the columns of its kind."""
    source_type, options = SOURCE_TYPES[source.ingestion.source_type], source.ingestion.options
    binding = ledger.binding_at(source.id, ts)
    rows = source_type.progress_rows(binding[1]) if binding is not None else []
    schema = state_schema(Relation(source_type.progress_columns(options)))
    arrays = [pa.array([row[i] for row in rows], type=column.type) for i, column in enumerate(schema)]
    return pa.Table.from_arrays(arrays, schema=schema)
