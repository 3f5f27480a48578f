"""mz_internal.mz_source_references: what each source could ingest, as of the last look at its upstream."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import moment


def _namespace(value: object) -> str | None:
    """Of a path of namespaces the last one says enough."""
    if isinstance(value, list):
        return str(value[-1]) if value else None
    return None if value is None else str(value)


def _rows(facts: SystemFacts) -> Columns:
    references = [
        (item, reference)
        for item in facts.state.items.values()
        if item.ingests
        for reference in item.details["references"]
    ]
    return {
        "source_id": [facts.state.named_source(item.id).id for item, _ in references],
        "namespace": [_namespace(reference.get("namespace")) for _, reference in references],
        "name": [reference["name"] for _, reference in references],
        "updated_at": [moment(item.details["references_updated_at_ms"]) for item, _ in references],
        "columns": [reference.get("columns") for _, reference in references],
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
