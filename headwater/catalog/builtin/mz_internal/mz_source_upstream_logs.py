"""mz_internal.mz_source_upstream_logs: what upstreams keep because sources have not read it yet."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import moment


def _rows(facts: SystemFacts) -> Columns:
    known = [entry for entry in facts.upstream_logs() if entry.id in facts.state.items]
    return {
        "id": [facts.state.named_source(entry.id).id for entry in known],
        "state": [entry.state for entry in known],
        "held_bytes": [entry.held_bytes for entry in known],
        "left_bytes": [entry.left_bytes for entry in known],
        "limit_bytes": [entry.limit_bytes for entry in known],
        "measured_at": [moment(entry.measured_at_ms) for entry in known],
    }


RELATION = BuiltinTable(
    number=680,
    schema="mz_internal",
    name="mz_source_upstream_logs",
    description="What upstreams keep because sources have not read it yet.",
    columns=shape(
        """
        id text
        state text
        held_bytes uint8?
        left_bytes uint8?
        limit_bytes uint8?
        measured_at timestamptz
        """
    ),
    rows=_rows,
    scope="moment",
)
