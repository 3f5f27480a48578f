"""mz_catalog.mz_aws_privatelink_connections: facts of PrivateLink connections."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=119,
    schema="mz_catalog",
    name="mz_aws_privatelink_connections",
    description="Facts of PrivateLink connections.",
    columns=shape(
        """
        id text
        principal text
        """
    ),
)
