"""pg_catalog.pg_foreign_data_wrapper: foreign-data wrappers."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=441,
    schema="pg_catalog",
    name="pg_foreign_data_wrapper",
    description="Foreign-data wrappers.",
    columns=shape(
        """
        oid oid
        fdwname name
        fdwowner oid
        fdwhandler oid
        fdwvalidator oid
        fdwacl mz_aclitem[]?
        fdwoptions text[]?
        """
    ),
    postgres_oid=2328,
)
