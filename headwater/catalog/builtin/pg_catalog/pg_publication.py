"""pg_catalog.pg_publication: publications."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=454,
    schema="pg_catalog",
    name="pg_publication",
    description="Publications.",
    columns=shape(
        """
        oid oid
        pubname name
        pubowner oid
        puballtables bool
        pubinsert bool
        pubupdate bool
        pubdelete bool
        pubtruncate bool
        pubviaroot bool
        """
    ),
    postgres_oid=6104,
)
