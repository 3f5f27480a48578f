"""mz_catalog.mz_timezone_names: the names of time zones."""

from __future__ import annotations

import zoneinfo
from collections.abc import Sequence

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _fixed(builtins: Sequence[BuiltinTable]) -> Columns:
    return {"name": sorted(zoneinfo.available_timezones())}


RELATION = BuiltinTable(
    number=141,
    schema="mz_catalog",
    name="mz_timezone_names",
    description="The names of time zones.",
    columns=shape(
        """
        name text
        """
    ),
    fixed=_fixed,
)
