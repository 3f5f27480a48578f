"""The options of CREATE CLUSTER and ALTER CLUSTER.

Not here: what they do.  Of all but the replication factor and the size nothing is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.sql.cursor import Cursor
from headwater.sql.options import Duration, OptionReader, boolean, duration, integer, render_options, string


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """What CREATE CLUSTER and ALTER CLUSTER may say; None is not said."""

    size: str | None = None
    replication_factor: int | None = None
    managed: bool | None = None
    disk: bool | None = None
    availability_zones: tuple[str, ...] = ()
    introspection_interval: Duration | None = None
    introspection_debugging: bool | None = None

    def render(self) -> str:
        return render_options(self, CLUSTER_OPTIONS)


def _strings(cursor: Cursor) -> tuple[str, ...]:
    closing = "]" if cursor.at_symbol("[") else ")"
    cursor.expect_symbol("[" if closing == "]" else "(")
    items = () if cursor.at_symbol(closing) else cursor.separated(cursor.string_or_identifier)
    cursor.expect_symbol(closing)
    return items


CLUSTER_OPTIONS: Final[dict[str, OptionReader]] = {
    "SIZE": string,
    "REPLICATION FACTOR": integer,
    "MANAGED": boolean,
    "DISK": boolean,
    "AVAILABILITY ZONES": _strings,
    "INTROSPECTION INTERVAL": duration,
    "INTROSPECTION DEBUGGING": boolean,
}
