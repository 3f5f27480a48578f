"""mz_internal.mz_source_value_errors: values of tables' rows that could not be stored."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import moment


def _rows(facts: SystemFacts) -> Columns:
    found = facts.value_errors()
    return {
        "table_id": [entry.table_id for entry in found],
        "key": [entry.key for entry in found],
        "column": [entry.column for entry in found],
        "value": [entry.value for entry in found],
        "reason": [entry.reason for entry in found],
        "position": [entry.position for entry in found],
        "first_seen_at": [moment(entry.first_seen_ms) for entry in found],
    }


RELATION = BuiltinTable(
    number=681,
    schema="mz_internal",
    name="mz_source_value_errors",
    description="Values of tables' rows that could not be stored, and keep the tables from being read.",
    columns=shape(
        """
        table_id text
        key text
        column text?
        value text
        reason text
        position text
        first_seen_at timestamptz
        """
    ),
    rows=_rows,
    scope="moment",
)
