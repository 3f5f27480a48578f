"""mz_internal.mz_comments: what COMMENT ON left, and descriptions of the system relations."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    comments = facts.state.comments.values()
    return {
        "id": [c.object_id for c in comments],
        "object_type": [c.object_kind.replace(" ", "-") for c in comments],
        "object_sub_id": [c.sub_id for c in comments],
        "comment": [c.text for c in comments],
    }


def _fixed(builtins: Sequence[BuiltinTable]) -> Columns:
    return {
        "id": [b.id for b in builtins],
        "object_type": "table",
        "comment": [b.description for b in builtins],
    }


RELATION = BuiltinTable(
    number=232,
    schema="mz_internal",
    name="mz_comments",
    description="What COMMENT ON left, and descriptions of the system relations.",
    columns=shape(
        """
        id text
        object_type text
        object_sub_id int4?
        comment text
        """
    ),
    rows=_rows,
    fixed=_fixed,
)
