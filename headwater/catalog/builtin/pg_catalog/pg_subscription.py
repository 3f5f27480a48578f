"""pg_catalog.pg_subscription: subscriptions to publications."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=464,
    schema="pg_catalog",
    name="pg_subscription",
    description="Subscriptions to publications.",
    columns=shape(
        """
        oid oid
        subdbid oid
        subskiplsn text
        subname name
        subowner oid
        subenabled bool
        subbinary bool
        substream bool
        subtwophasestate "char"
        subdisableonerr bool
        subconninfo text
        subslotname name?
        subsynccommit text
        subpublications text[]
        """
    ),
    postgres_oid=6100,
)
