"""mz_internal.mz_show_databases: what SHOW DATABASES lists."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    databases = facts.state.databases.values()
    return {
        "name": [d.name for d in databases],
        "comment": [facts.state.comment_on("database", d.id) or "" for d in databases],
    }


RELATION = BuiltinTable(
    number=252,
    schema="mz_internal",
    name="mz_show_databases",
    description="What SHOW DATABASES lists.",
    columns=shape(
        """
        name text
        comment text
        """
    ),
    rows=_rows,
)
