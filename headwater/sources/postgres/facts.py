"""What an upstream says of itself, as values, and whether it still agrees with what was pinned.

    Facts            the server, and one publication of it
      TableFacts     a table the publication has
        ColumnFacts  a column it publishes; generated and unpublished ones are not here
        KeyFacts     a unique index over columns

`changed` compares what a table pinned when it was made with the facts of now.  What the
upstream may do without asking: add columns, keys and NOT NULL, drop columns nobody
takes, change the type of a column that is taken as text.  It must have published the table all the
time (publication.py).

Not here: asking (inspect.py), pinning (pin.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headwater.sources.postgres.publication import UNLOGGED, Look, interrupted

PARTITIONED = "p"


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """A published column; `readable`: its values may be selected."""

    name: str
    attnum: int
    type_oid: int
    typmod: int = -1
    not_null: bool = False
    readable: bool = True


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """A unique index over columns, by their attnums.

    `constraint_oid` is that of the PRIMARY KEY or UNIQUE constraint it stands for, None for
    an index alone.  A deferrable one may be violated until the end of a transaction.
    """

    columns: tuple[int, ...]
    constraint_oid: int | None = None
    primary: bool = False
    identity: bool = False  # ALTER TABLE ... REPLICA IDENTITY USING INDEX names it
    deferrable: bool = False
    nulls_equal: bool = False  # NULLS NOT DISTINCT


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A published table.  `identity` is what its changes carry: d, f, i or n as in pg_class."""

    oid: int
    schema: str
    name: str
    columns: tuple[ColumnFacts, ...]
    keys: tuple[KeyFacts, ...] = ()
    relkind: str = "r"
    identity: str = "d"
    row_filter: str | None = None
    schema_usable: bool = True
    row_security: bool = False  # some rows may be hidden from us


@dataclass(frozen=True, slots=True)
class PublicationFacts:
    """A publication's options."""

    inserts: bool = True
    updates: bool = True
    deletes: bool = True
    truncates: bool = True
    via_root: bool = False

    def left_out(self) -> tuple[str, ...]:
        """The operations that it does not publish."""
        said = (
            ("insert", self.inserts),
            ("update", self.updates),
            ("delete", self.deletes),
            ("truncate", self.truncates),
        )
        return tuple(name for name, published in said if not published)


@dataclass(frozen=True, slots=True)
class Facts:
    """A server as a user of one of its databases sees it; no publication: it does not exist."""

    database: str
    user: str
    system_id: str
    timeline: int
    version: int  # 150004
    wal_level: str
    recovering: bool  # a physical replica
    publication_name: str
    publication: PublicationFacts | None
    tables: Mapping[int, TableFacts] = field(default_factory=dict)  # by oid
    look: Look | None = None  # how these are published

    def identity(self) -> dict[str, Any]:
        """What a source pins of the server."""
        return {"system_id": self.system_id, "timeline": self.timeline, "recovering": self.recovering}


def changed(pinned: Mapping[str, Any], current: Facts) -> str | None:
    """Why a table with these pinned details can no longer be kept; None when it can."""
    if current.publication is None:
        return missing_publication(current.publication_name)
    table = current.tables.get(pinned["oid"])
    if table is None:
        unlogged = current.look is not None and current.look.unlogged(pinned["oid"])
        return UNLOGGED if unlogged else "table was dropped"
    if _compatible(pinned, table):
        published = pinned.get("published")
        if current.look is None or published is None:
            return None
        return interrupted(published, pinned["oid"], current.look, current.publication_name)
    which = f"source table {pinned['table']} with oid {pinned['oid']}"
    return f"incompatible schema change: {which} has been altered"


def missing_publication(name: str) -> str:
    """As PostgreSQL says it."""
    return f'publication "{name}" does not exist'


def moved(identity: Mapping[str, Any], current: Facts) -> str | None:
    """Why a source with this identity must not go on reading from the server; None when it may."""
    if identity["system_id"] != current.system_id:
        return (
            "unsupported action: the connection leads to another database system."
            f" Expected system identifier {identity['system_id']} but got {current.system_id}"
        )
    if identity.get("recovering", False) != current.recovering:
        was, is_ = (_role(identity.get("recovering", False)), _role(current.recovering))
        return (
            "unsupported action: upstream physical replica status changed."
            f" Expected the server to be {was} but it is {is_}"
        )
    if identity["timeline"] != current.timeline:
        return (
            "unsupported action: database restored from point-in-time backup."
            f" Expected timeline ID {identity['timeline']} but got {current.timeline}"
        )
    return None


def went_back(how: str) -> str:
    """Why a source must not go on with a server that is the one it was, at an earlier day."""
    return (
        f"unsupported action: database restored from an earlier copy of itself. What was read is gone: {how}"
    )


def _role(recovering: bool) -> str:
    return "a physical replica" if recovering else "a primary"


def _compatible(pinned: Mapping[str, Any], table: TableFacts) -> bool:
    if (pinned["schema"], pinned["table"]) != (table.schema, table.name):
        return False
    # With another filter rows come and go that no change tells of.
    if pinned["row_filter"] != table.row_filter:
        return False
    columns = {column.attnum: column for column in table.columns}
    if not all(_same_column(column, columns.get(column["attnum"])) for column in pinned["columns"]):
        return False
    return all(any(_same_key(key, now) for now in table.keys) for key in pinned.get("keys", ()))


def _same_column(pinned: Mapping[str, Any], now: ColumnFacts | None) -> bool:
    if now is None or now.name != pinned["name"]:
        return False
    if pinned["not_null"] and not now.not_null:
        return False
    return pinned["text"] or (pinned["type_oid"], pinned["typmod"]) == (now.type_oid, now.typmod)


def _same_key(pinned: Mapping[str, Any], now: KeyFacts) -> bool:
    # A constraint that was dropped and made again is another one: there was a time without it.
    same_constraint = pinned["oid"] is None or pinned["oid"] == now.constraint_oid
    return same_constraint and tuple(pinned["columns"]) == now.columns
