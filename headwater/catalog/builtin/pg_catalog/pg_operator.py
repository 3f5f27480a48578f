"""pg_catalog.pg_operator: operators."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.objects import SYSTEM_ROLE_OID
from headwater.catalog.builtin.oids import PG_CATALOG_OID
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _operands(oids: tuple[int, ...]) -> tuple[int, int]:
    """Left and right; a prefix operator has nothing on its left."""
    return (oids[0], oids[1]) if len(oids) == 2 else (0, oids[0])


def _rows(facts: SystemFacts) -> Columns:
    operators = facts.operators()
    operands = [_operands(o.argument_type_oids) for o in operators]
    return {
        "oid": [o.oid for o in operators],
        "oprname": [o.name for o in operators],
        "oprnamespace": PG_CATALOG_OID,
        "oprowner": SYSTEM_ROLE_OID,
        "oprkind": ["b" if left else "l" for left, _ in operands],
        "oprcanmerge": False,
        "oprcanhash": False,
        "oprleft": [left for left, _ in operands],
        "oprright": [right for _, right in operands],
        "oprresult": [o.return_type_oid for o in operators],
        "oprcom": 0,
        "oprnegate": 0,
        "oprcode": 0,
        "oprrest": 0,
        "oprjoin": 0,
    }


RELATION = BuiltinTable(
    number=420,
    schema="pg_catalog",
    name="pg_operator",
    description="Operators.",
    columns=shape(
        """
        oid oid
        oprname name
        oprnamespace oid
        oprowner oid
        oprkind "char"
        oprcanmerge bool
        oprcanhash bool
        oprleft oid
        oprright oid
        oprresult oid
        oprcom oid
        oprnegate oid
        oprcode regproc
        oprrest regproc
        oprjoin regproc
        """
    ),
    rows=_rows,
    scope="moment",
    postgres_oid=2617,
)
