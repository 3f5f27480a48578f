"""mz_internal.mz_source_statuses: how each source, and each table from a source, is doing."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.statuses import ALWAYS_RUNNING, shown_statuses
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import canonical_jsonb, moment


def _rows(facts: SystemFacts) -> Columns:
    shown = [
        (item, type_, None if type_ in ALWAYS_RUNNING else status)
        for item, type_, status in shown_statuses(facts)
    ]
    return {
        "id": [item.id for item, _, _ in shown],
        "name": [item.name for item, _, _ in shown],
        "type": [type_ for _, type_, _ in shown],
        "last_status_change_at": [None if s is None else moment(s.changed_at_ms) for _, _, s in shown],
        "status": [
            ("running" if type_ in ALWAYS_RUNNING else "created") if s is None else s.status
            for _, type_, s in shown
        ],
        "error": [None if s is None else s.error for _, _, s in shown],
        "details": [None if s is None else canonical_jsonb(s.details) for _, _, s in shown],
    }


RELATION = BuiltinTable(
    number=208,
    schema="mz_internal",
    name="mz_source_statuses",
    description="How each source, and each table from a source, is doing.",
    columns=shape(
        """
        id text
        name text
        type text
        last_status_change_at timestamptz?
        status text
        error text?
        details jsonb?
        """
    ),
    rows=_rows,
    scope="moment",
)
