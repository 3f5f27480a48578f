"""What an upstream says of itself, as values, and whether it still agrees with what was pinned.

    Facts            the server, and one publication of it
      TableFacts     a table the publication has
        ColumnFacts  a column it publishes
        GeneratedFacts  a column that the upstream computes and does not send
        KeyFacts     a unique index over columns

`changed` compares what a table pinned when it was made with the facts of now.  What the
upstream may do without asking: add columns, keys and NOT NULL, drop columns nobody
takes, change the type of a column that is taken as text.

Not here: asking (inspect.py), pinning (pin.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg
import structlog

from headwater.sources.contract import Export, Pinned
from headwater.sources.postgres.altered import altered, what_happened
from headwater.sources.unforeseen import attempted, named, where

log = structlog.get_logger("postgres")

PARTITIONED = "p"


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """A published column; `readable`: its values may be selected.

    `labelled`: it is of an enum or a domain, or an array of one, which are nothing here but their texts.
    """

    name: str
    attnum: int
    type_oid: int
    typmod: int = -1
    not_null: bool = False
    readable: bool = True
    type_name: str | None = None  # as the upstream calls it
    labelled: bool = False


@dataclass(frozen=True, slots=True)
class GeneratedFacts:
    """A generated column that is not published."""

    name: str
    attnum: int
    expression: str
    stored: bool = True  # or computed whenever it is read


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
class PartitionFacts:
    """A partition some of whose columns may not be selected, or whose schema may not be used."""

    schema: str
    name: str
    schema_usable: bool
    unreadable: tuple[str, ...]


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
    generated: tuple[GeneratedFacts, ...] = ()
    unpublished: frozenset[int] = frozenset()  # other columns that it has
    partitions: tuple[
        PartitionFacts, ...
    ] = ()  # those that it has rows in and that may not be read as a whole
    heirs: tuple[str, ...] = ()  # tables that inherit from it, and show their rows in it


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
    unlogged: frozenset[int] = frozenset()  # of the tables that were asked for, those that are
    slots: frozenset[str] = frozenset()  # all of the server's
    slots_left: int = 1  # that could be made
    senders_left: int = 1  # that could be connected
    unchecked: bool = False  # a text may be any bytes

    def identity(self) -> dict[str, Any]:
        """What a source pins of the server."""
        return {"system_id": self.system_id, "timeline": self.timeline, "recovering": self.recovering}


RESYNC: Final = (
    "What was lost can no longer be read. ALTER SOURCE {source} RESYNC starts over and brings every table"
    " up to date."
)
UNLOGGED: Final = "table is UNLOGGED, so that its changes are missing"


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why a table cannot go on as it is.

    `heals`: it can be brought up to date by reading it again; `doubtful`: it counts once it has come again.
    """

    message: str
    heals: bool = True
    doubtful: bool = False


def judged(export: Export, judge: Callable[[], Doubt | None]) -> Doubt | None:
    """Why a table cannot go on; an error that nobody foresaw is no other table's either."""
    doubt = attempted(judge, psycopg.Error)
    if not isinstance(doubt, Exception):
        return doubt
    log.error("table cannot be judged", table=export.table_id, defect=where(doubt))
    return Doubt(
        f"internal error while the table was looked at upstream: {named(doubt)}", heals=False, doubtful=True
    )


def changed(pinned: Pinned, current: Facts) -> Doubt | None:
    """Why a table of which this is pinned can no longer be kept; None when it can."""
    if current.publication is None:
        return Doubt(missing_publication(current.publication_name), heals=False)
    oid = pinned.reference["oid"]
    table = current.tables.get(oid)
    if table is None:
        return Doubt(UNLOGGED) if oid in current.unlogged else Doubt("table was dropped", heals=False)
    what = what_happened(pinned, table)
    return None if what is None else Doubt(altered(pinned, what), heals=False)


def missing_publication(name: str) -> str:
    """As PostgreSQL says it."""
    return f'publication "{name}" does not exist'


def moved(identity: Mapping[str, Any], current: Facts) -> str | None:
    """Why a source with this identity must not go on reading from the server; None when it may."""
    if identity["system_id"] != current.system_id:
        return another_system(identity["system_id"], current.system_id)
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


def another_system(expected: object, found: object) -> str:
    """As PostgreSQL words what has another system identifier."""
    return (
        "unsupported action: the connection leads to another database system."
        f" Expected system identifier {expected} but got {found}"
    )


def went_back(how: str) -> str:
    """Why a source must not go on with a server that is the one it was, at an earlier day."""
    return (
        f"unsupported action: database restored from an earlier copy of itself. What was read is gone: {how}"
    )


def _role(recovering: bool) -> str:
    return "a physical replica" if recovering else "a primary"
