"""What the environment and a cluster say to each other, and how it lies on the wire.

    environment --commands--> cluster        the wanted world, re-stated after every reconnect
    environment <--responses-- cluster       progress, statuses, rows

A frame is two lengths, a JSON header and a payload (Arrow IPC for rows):

    | header bytes: u32 | payload bytes: u32 | header: JSON | payload |

Commands are idempotent.  After `Hello` with a newer epoch than any before, an
older environment is no longer listened to.  The environment then states every
ingestion and table again and ends with `InitializationComplete`: what was not
stated is stopped.  `RunIngestion` for a source that already runs replaces its
description; exports are added and dropped at the next tick boundary and the
reader goes on.
"""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, dataclass, field
from typing import Any

from headwater.core.errors import InvariantViolation
from headwater.core.limits import PROTOCOL_FRAME_BYTES_MAX

PROTOCOL_VERSION = 2
_LENGTHS = struct.Struct(">II")
LENGTHS_BYTES = _LENGTHS.size


@dataclass(frozen=True, slots=True)
class Hello:
    """First command.  No timestamp at or below `ts_floor` may be minted from now on."""

    epoch: int
    version: int
    ts_floor: int


@dataclass(frozen=True, slots=True)
class InitializationComplete:
    """Everything wanted has been stated."""


@dataclass(frozen=True, slots=True)
class RunIngestion:
    """Run this source with exactly these exports (`sources.contract.Export` as JSON)."""

    source_id: str
    source_type: str
    options: dict[str, Any]
    interval_ms: int
    exports: list[dict[str, Any]]
    pool: str
    paused: bool


@dataclass(frozen=True, slots=True)
class MaintainTable:
    """A plain table, which the environment writes and the cluster folds."""

    collection_id: str


@dataclass(frozen=True, slots=True)
class AllowCompaction:
    """History before these timestamps may be forgotten, by collection or source."""

    since: dict[str, int]


@dataclass(frozen=True, slots=True)
class DropCollections:
    """These tables and sources are gone: forget everything of them."""

    ids: list[str]


@dataclass(frozen=True, slots=True)
class Peek:
    """Run a query; `plans` are the relations it reads (`core.change.ReadPlan` as JSON)."""

    peek_id: str
    sql: str
    plans: dict[str, Any]
    columns: dict[str, Any]  # the result as a Relation
    pool: str
    explain: bool = False
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class Verify:
    """Compare a table with its reference; answered as a peek is, with `VERIFY_COLUMNS`."""

    peek_id: str
    source_id: str
    table_id: str
    name: str  # of the table, for messages
    attempt: int = 1


VERIFY_COLUMNS = ("result", "key", "row")


@dataclass(frozen=True, slots=True)
class CancelPeek:
    """Nobody waits for this peek any more."""

    peek_id: str


@dataclass(frozen=True, slots=True)
class Shutdown:
    """Finish the ticks under way and end."""


@dataclass(frozen=True, slots=True)
class Welcome:
    """Answer to Hello."""

    version: int
    pid: int


@dataclass(frozen=True, slots=True)
class Refused:
    """Answer to a Hello that is older than another one."""

    epoch: int


@dataclass(frozen=True, slots=True)
class Frontiers:
    """Uppers by source: every timestamp below has been read.  `hydrated` tables may be read."""

    uppers: dict[str, int]
    hydrated: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Folded:
    """A table has a later state; what is only needed before it may go when `since` reaches it."""

    collection_id: str
    as_of: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Dropped:
    """Nothing of these is left."""

    ids: list[str]


@dataclass(frozen=True, slots=True)
class Status:
    """A source or table changed its status."""

    id: str
    status: str
    error: str | None
    hint: str | None
    at_ms: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counters and gauges of a source or table since the cluster started (see dialect of the relation)."""

    id: str
    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class PeekRows:
    """Rows of a peek; the payload is one Arrow IPC stream."""

    peek_id: str


@dataclass(frozen=True, slots=True)
class PeekFile:
    """Rows of a peek that lie in a file, relative to the data directory (persist/results.py)."""

    peek_id: str
    path: str
    rows: int


@dataclass(frozen=True, slots=True)
class PeekDone:
    """A peek has ended well; `text` is the plan of an EXPLAIN."""

    peek_id: str
    text: str | None = None


@dataclass(frozen=True, slots=True)
class PeekFailed:
    """A peek has ended with an error."""

    peek_id: str
    sqlstate: str
    message: str
    detail: str | None = None
    hint: str | None = None


MESSAGES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        Hello,
        InitializationComplete,
        RunIngestion,
        MaintainTable,
        AllowCompaction,
        DropCollections,
        Peek,
        Verify,
        CancelPeek,
        Shutdown,
        Welcome,
        Refused,
        Frontiers,
        Folded,
        Dropped,
        Status,
        Statistics,
        PeekRows,
        PeekFile,
        PeekDone,
        PeekFailed,
    )
}


def encode(message: Any, payload: bytes = b"") -> bytes:
    """One frame."""
    header = json.dumps({"type": type(message).__name__, **asdict(message)}).encode()
    if max(len(header), len(payload)) > PROTOCOL_FRAME_BYTES_MAX:
        raise InvariantViolation(f"a frame of {len(header)} + {len(payload)} bytes is over the limit")
    return _LENGTHS.pack(len(header), len(payload)) + header + payload


def decode_lengths(data: bytes) -> tuple[int, int]:
    """The lengths at a frame's start; checked before anything of that size is read."""
    header, payload = _LENGTHS.unpack(data)
    if max(header, payload) > PROTOCOL_FRAME_BYTES_MAX:
        raise InvariantViolation(f"a frame announces {header} + {payload} bytes, over the limit")
    return header, payload


def decode_header(data: bytes) -> Any:
    """The message in a header."""
    fields = json.loads(data)
    kind = MESSAGES.get(fields.pop("type", None))
    if kind is None:
        raise InvariantViolation(f"a message of a kind that is not known: {data[:80]!r}")
    return kind(**fields)
