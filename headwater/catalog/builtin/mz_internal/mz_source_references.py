"""mz_internal.mz_source_references: what each source could ingest, as of the last look at its upstream."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import moment


def _rows(facts: SystemFacts) -> Columns:
    references = [
        (item, reference)
        for item in facts.state.items.values()
        if item.ingests
        for reference in item.ingestion.references
    ]
    return {
        "source_id": [facts.state.named_source(item.id).id for item, _ in references],
        # Of a path of namespaces the last one says enough.
        "namespace": [
            reference.namespace[-1] if reference.namespace else None for _, reference in references
        ],
        "name": [reference.name for _, reference in references],
        "updated_at": [moment(item.ingestion.references_updated_at_ms) for item, _ in references],
        # Messages have those that a table's clauses give them.
        "columns": [list(reference.columns) or None for _, reference in references],
    }


RELATION = BuiltinTable(
    number=201,
    schema="mz_internal",
    name="mz_source_references",
    description="What each source could ingest, as of the last look at its upstream.",
    columns=shape(
        """
        source_id text
        namespace text?
        name text
        updated_at timestamptz
        columns text[]?
        """
    ),
    rows=_rows,
)
