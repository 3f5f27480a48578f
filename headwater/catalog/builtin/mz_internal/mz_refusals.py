"""mz_internal.mz_refusals: who was refused what."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import moment


def _rows(facts: SystemFacts) -> Columns:
    found = facts.refusals()
    return {
        "user": [r.user for r in found],
        "client_ip": [r.client for r in found],
        "statement": [r.statement for r in found],
        "object": [r.object for r in found],
        "error": [r.error for r in found],
        "count": [r.count for r in found],
        "first_at": [moment(r.first_at_ms) for r in found],
        "last_at": [moment(r.last_at_ms) for r in found],
    }


RELATION = BuiltinTable(
    number=682,
    schema="mz_internal",
    name="mz_refusals",
    description="Statements that were refused for want of a right, and refused logins of roles.",
    columns=shape(
        """
        user text
        client_ip text
        statement text
        object text?
        error text
        count uint8
        first_at timestamptz
        last_at timestamptz
        """
    ),
    rows=_rows,
    scope="moment",
)
