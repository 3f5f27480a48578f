"""pg_catalog.pg_event_trigger: event triggers."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=439,
    schema="pg_catalog",
    name="pg_event_trigger",
    description="Event triggers.",
    columns=shape(
        """
        oid oid
        evtname name
        evtevent name
        evtowner oid
        evtfoid oid
        evtenabled "char"
        evttags text[]?
        """
    ),
    postgres_oid=3466,
)
