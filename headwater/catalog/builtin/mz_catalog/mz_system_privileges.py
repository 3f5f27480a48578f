"""mz_catalog.mz_system_privileges: privileges on the system as a whole."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.rights import SYSTEM, acl_items


def _rows(facts: SystemFacts) -> Columns:
    return {"privileges": acl_items(facts.state, SYSTEM)}


RELATION = BuiltinTable(
    number=128,
    schema="mz_catalog",
    name="mz_system_privileges",
    description="Privileges on the system as a whole.",
    columns=shape(
        """
        privileges mz_aclitem
        """
    ),
    rows=_rows,
)
