"""pg_catalog.pg_trigger: triggers."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=465,
    schema="pg_catalog",
    name="pg_trigger",
    description="Triggers.",
    columns=shape(
        """
        oid oid
        tgrelid oid
        tgparentid oid
        tgname name
        tgfoid oid
        tgtype int2
        tgenabled "char"
        tgisinternal bool
        tgconstrrelid oid
        tgconstrindid oid
        tgconstraint oid
        tgdeferrable bool
        tginitdeferred bool
        tgnargs int2
        tgattr int2vector
        tgargs bytea
        tgqual text?
        tgoldtable name?
        tgnewtable name?
        """
    ),
    postgres_oid=2620,
)
