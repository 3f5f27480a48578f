"""pg_catalog.pg_foreign_server: foreign servers."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=442,
    schema="pg_catalog",
    name="pg_foreign_server",
    description="Foreign servers.",
    columns=shape(
        """
        oid oid
        srvname name
        srvowner oid
        srvfdw oid
        srvtype text?
        srvversion text?
        srvacl mz_aclitem[]?
        srvoptions text[]?
        """
    ),
    postgres_oid=1417,
)
