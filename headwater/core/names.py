"""What the SQL layer asks of the catalog: names to objects, read-only.

`sql/` is handed something that answers this protocol and never imports the
catalog, so statements can be planned against any snapshot, also one that is
not committed yet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from headwater.core.limits import NAME_BYTES_MAX
from headwater.core.relation import Relation

ItemKind = Literal["table", "source", "view", "connection", "secret", "system table", "system view"]


@dataclass(frozen=True, slots=True)
class NamedRelation:
    """A relation that a query may read, as found by name."""

    id: str
    database: str | None  # None for system schemas and temporary objects
    schema: str
    name: str
    kind: ItemKind
    relation: Relation
    definition: str | None = None  # a view's query, names fully qualified


def cut_name(text: str) -> str:
    """What the type `name` keeps of a text: as many whole characters as there is room for."""
    return text.encode()[:NAME_BYTES_MAX].decode(errors="ignore")


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """What a statement may know of the session and the moment it is planned in."""

    user: str = "materialize"
    superuser: bool = False
    database: str = "materialize"
    search_path: tuple[str, ...] = ("public",)
    cluster: str = "quickstart"
    zone: str = ""  # whose clocks it goes by; empty for UTC
    now_us: int = 0  # statement time, microseconds since the epoch
    started_us: int = 0  # when the server was started
    mz_now: int | None = None  # the timestamp the query is read at, known at generation
    backend_pid: int = 0
    settings: tuple[tuple[str, str], ...] = ()  # for current_setting()
    server_version: str = "15.0"
    mz_version: str = "v26.30.0 (headwater)"
    environment_id: str = "headwater-local"
    position: Callable[[str, int], str | None] | None = None  # a source's upstream position at a timestamp
    known: Callable[[str, str], bool] | None = None  # whether there is a role, schema or database of a name
    show: Callable[[str], str] | None = None  # the query behind a SHOW statement that stands in FROM


class Names(Protocol):
    """A snapshot of the catalog seen through a session's search path."""

    def find_relation(self, parts: tuple[str, ...]) -> NamedRelation:
        """Resolve 1 to 3 parts; UserError `unknown catalog item 'x'` when there is none."""

    def regclass(self, text: str) -> int | None:
        """The oid behind a text given for regclass, if there is one."""

    def type_oid(self, text: str) -> int | None:
        """The oid behind a text given for regtype, if there is one."""
