"""pg_catalog.pg_attrdef: defaults of columns."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.objects import session_objects
from headwater.catalog.builtin.oids import default_oid
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    defaults = [
        (o.oid, number, column.default)
        for o in session_objects(facts)
        for number, column in enumerate(o.relation.columns, start=1)
        if column.default is not None
    ]
    return {
        "oid": [default_oid(oid, number) for oid, number, _ in defaults],
        "adrelid": [oid for oid, _, _ in defaults],
        "adnum": [number for _, number, _ in defaults],
        "adbin": [text for _, _, text in defaults],
    }


RELATION = BuiltinTable(
    number=403,
    schema="pg_catalog",
    name="pg_attrdef",
    description="Defaults of columns.",
    columns=shape(
        """
        oid oid
        adrelid oid
        adnum int2
        adbin text
        """
    ),
    rows=_rows,
    scope="database",
    postgres_oid=2604,
)
