"""pg_catalog.pg_rewrite: the rules that make views."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.objects import objects_of_type, session_objects
from headwater.catalog.builtin.oids import rewrite_oid
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    views = objects_of_type(session_objects(facts), "view")
    return {
        "oid": [rewrite_oid(v.oid) for v in views],
        "rulename": "_RETURN",
        "ev_class": [v.oid for v in views],
        "ev_type": "1",
        "ev_enabled": "O",
        "is_instead": True,
        "ev_qual": "",
        "ev_action": [v.definition for v in views],
    }


RELATION = BuiltinTable(
    number=418,
    schema="pg_catalog",
    name="pg_rewrite",
    description="The rules that make views.",
    columns=shape(
        """
        oid oid
        rulename name
        ev_class oid
        ev_type "char"
        ev_enabled "char"
        is_instead bool
        ev_qual text
        ev_action text
        """
    ),
    rows=_rows,
    scope="database",
    postgres_oid=2618,
)
