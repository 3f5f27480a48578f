"""mz_catalog.mz_egress_ips: addresses that connections to upstreams come from, where they are fixed."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=140,
    schema="mz_catalog",
    name="mz_egress_ips",
    description="Addresses that connections to upstreams come from, where they are fixed.",
    columns=shape(
        """
        egress_ip text
        prefix_length int4
        cidr text
        """
    ),
)
