"""What the coordinator offers to those who speak with clients (pgwire, http).

A `Session` belongs to one connection.  It parses, prepares and executes; what
comes back is a `Result`: columns and Arrow batches in stored form (core/types.py),
or a command tag, or one half of a COPY.  Encoding is the caller's business.

    simple query       parse(text) -> statements; begin_implicit() if several;
                       for each: prepare, execute, drain; finish(failed)
    extended query     Parse: parse + prepare; Bind: current; Execute: execute; Sync: finish(failed)
    whatever fails     fail(), before the client is told: it aborts the transaction

All methods raise `UserError`; anything else that escapes is a bug and the caller
turns it into XX000 with a reference number.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import pyarrow as pa

from headwater.core.errors import UserError
from headwater.core.relation import Column
from headwater.core.types import SqlType

TransactionStatus = Literal["I", "T", "E"]


@dataclass(frozen=True, slots=True)
class Notice:
    """A message that is not an error."""

    severity: Literal["DEBUG", "INFO", "NOTICE", "WARNING"]
    message: str
    sqlstate: str = "00000"
    detail: str | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """One statement of a text.  `statement` is a value of sql/statements, None if empty."""

    statement: object
    text: str
    offset: int  # characters before it in the text it came from


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement that can be described and executed any number of times."""

    parsed: ParsedStatement
    parameters: tuple[SqlType, ...]
    columns: tuple[Column, ...] | None  # None: it returns no rows
    plan: object = None  # the coordinator's own
    basis: object = None  # what it was resolved against; the coordinator's own
    told: bool = True  # whether the client relies on the columns before it is executed
    described: bool = False  # whether it was sent them


class CopyInSink(Protocol):
    """Takes the data of COPY ... FROM STDIN."""

    async def write(self, data: bytes) -> None:
        """More bytes, cut anywhere."""

    async def finish(self) -> str:
        """All bytes have come; makes them durable and returns the command tag."""

    async def abort(self, reason: str) -> None:
        """The client gave up, or was made to."""


def other_columns() -> UserError:
    """A statement that was prepared would return something else than its client was told."""
    return UserError("cached plan must not change result type", "0A000", hint="Prepare the statement again.")


@dataclass(slots=True)
class CopyOut:
    """COPY ... TO STDOUT: the result's batches are to be sent as copy data."""

    format: Literal["text", "csv", "binary"]
    delimiter: str = "\t"
    null: str = "\\N"
    header: bool = False


@dataclass(slots=True)
class CopyIn:
    """COPY ... FROM STDIN: the client is asked for data."""

    format: Literal["text", "csv", "binary"]
    columns: tuple[Column, ...]
    sink: CopyInSink
    cancelled: Callable[[], Awaitable[None]] | None = None
    """Raises when the COPY is cancelled or takes too long; to be waited for beside the client's data."""


Names = dict[str, dict[int, str]]
"""By kind of type (regclass and its kin): what the numbers are shown as in text; filled batch by batch."""


@dataclass(slots=True)
class Result:
    """The outcome of a statement.

    With rows: `columns` and `batches`; the tag is asked for when the last batch is
    through.  `close` must be called when the caller stops early (portal closed,
    client gone, cancelled): it lets go of files and stops work on the cluster.
    Batches of a SUBSCRIBE come when they come; the caller sends each at once.
    """

    tag: Callable[[int], str]
    columns: tuple[Column, ...] | None = None
    batches: AsyncIterator[pa.RecordBatch] | None = None
    copy_out: CopyOut | None = None
    copy_in: CopyIn | None = None
    notices: list[Notice] = field(default_factory=list)
    names: Names = field(default_factory=dict)
    settled: bool = False  # what it did is durable: its rows are there, and nothing can keep them back
    closed: Callable[[], None] = lambda: None
    beside: Callable[[Callable[[], bytes]], Awaitable[bytes]] | None = None
    """If there is one, it encodes rows that are large, while others go on and the statement can be ended."""
    leave: Callable[[Sequence[pa.RecordBatch]], Awaitable[None]] | None = None
    """If there is one, a caller that stops for a while calls it, with what it has not used of the
    last batch, and goes on with `batches` later."""

    def close(self) -> None:
        self.closed()


class Session(Protocol):
    """One client's session."""

    backend_pid: int
    secret_key: int

    @property
    def statements(self) -> dict[str, Prepared]:
        """By names that PREPARE and the protocol's Parse share."""

    @property
    def status(self) -> TransactionStatus:
        """For ReadyForQuery."""

    def patience_s(self) -> float | None:
        """How long it waits for the client's next message, None: as long as that takes."""

    def parameter_statuses(self) -> dict[str, str]:
        """Settings the client is told of; the caller sends those that have changed since."""

    def take_notices(self) -> list[Notice]:
        """Notices that belong to no result; each is returned once."""

    def listen(self, tell: Callable[[Notice], None], end: Callable[[], None]) -> None:
        """`tell` sends a notice at once, also while a statement runs; `end` ends the conversation."""

    async def parse(self, text: str) -> tuple[ParsedStatement, ...]:
        """Cut a text into statements and parse each."""

    async def prepare(
        self, parsed: ParsedStatement, parameter_types: tuple[SqlType | None, ...] = ()
    ) -> Prepared:
        """Resolve names and types."""

    async def current(self, prepared: Prepared) -> Prepared:
        """The statement as the catalog of this moment has it; UserError if it now returns something
        else than the client relies on."""

    def check_usable(self, statement: object) -> None:
        """UserError if the transaction has failed and the statement does not end it."""

    async def execute(self, prepared: Prepared, arguments: tuple[str | None, ...] = ()) -> Result:
        """Run it; arguments are in PostgreSQL's text form."""

    def resume(self) -> None:
        """A result that was left for a while is gone on with, as a statement of this moment."""

    def cursor_columns(self, name: str) -> tuple[Column, ...] | None:
        """The columns of a cursor that DECLARE has made; clients may describe it like a portal."""

    @property
    def mark(self) -> int:
        """Goes with a portal that is made now, and tells which savepoints are older."""

    def told(self, error: UserError) -> None:
        """The client is told this error of a statement."""

    def fail(self) -> int:
        """Something has failed, whatever it was: so has the transaction.  Portals of the returned mark
        or a later one have failed with it."""

    def take_undone(self) -> int | None:
        """Portals of this mark or a later one are gone, by ROLLBACK TO or by the transaction's end;
        returned once."""

    def begin_implicit(self, pipeline: bool = False) -> None:
        """Several statements follow that are one transaction unless they say otherwise; in a
        pipeline it is not known how many."""

    async def finish(self, failed: bool) -> None:
        """End of a simple query or of a pipeline: commit or roll back an implicit transaction."""

    def cancel(self) -> None:
        """Another connection asks to stop what runs; thread- and task-safe."""

    async def close(self) -> None:
        """The client has gone."""


class Sessions(Protocol):
    """Makes sessions; the coordinator itself."""

    async def open_session(
        self, user: str, settings: dict[str, str], client_address: str, internal: bool
    ) -> Session:
        """A new session; `settings` are the startup parameters, `options` already taken apart."""

    def cancel(self, backend_pid: int, secret_key: int) -> None:
        """Cancel what that session runs, if the key is right."""
