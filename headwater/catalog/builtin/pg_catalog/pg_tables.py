"""pg_catalog.pg_tables: tables and sources, with the names around them."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.catalog.builtin.objects import Listed, objects_of_type, session_objects, system_objects
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(objects: Sequence[Listed]) -> Columns:
    tables = objects_of_type(objects, "table", "source")
    return {
        "schemaname": [t.schema.name for t in tables],
        "tablename": [t.name for t in tables],
        "tableowner": [t.owner_name for t in tables],
        "hasindexes": False,
        "hasrules": False,
        "hastriggers": False,
        "rowsecurity": False,
    }


RELATION = BuiltinTable(
    number=426,
    schema="pg_catalog",
    name="pg_tables",
    description="Tables and sources, with the names around them.",
    columns=shape(
        """
        schemaname name?
        tablename name?
        tableowner name?
        tablespace name?
        hasindexes bool?
        hasrules bool?
        hastriggers bool?
        rowsecurity bool?
        """
    ),
    rows=lambda facts: _rows(session_objects(facts)),
    fixed=lambda builtins: _rows(system_objects(builtins)),
    scope="database",
)
