"""pg_catalog.pg_available_extensions: extensions that could be installed."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=433,
    schema="pg_catalog",
    name="pg_available_extensions",
    description="Extensions that could be installed.",
    columns=shape(
        """
        name name?
        default_version text?
        installed_version text?
        comment text?
        """
    ),
)
