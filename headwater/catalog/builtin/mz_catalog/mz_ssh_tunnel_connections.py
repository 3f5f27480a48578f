"""mz_catalog.mz_ssh_tunnel_connections: the public keys of SSH tunnels."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=118,
    schema="mz_catalog",
    name="mz_ssh_tunnel_connections",
    description="The public keys of SSH tunnels.",
    columns=shape(
        """
        id text
        public_key_1 text
        public_key_2 text
        """
    ),
)
