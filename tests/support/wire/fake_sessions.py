"""A coordinator in memory, with a language that is just enough to test the protocol.

    rows R                  all batches of the relation R
    broken R                the same, then an error
    lost R                  the same, then the world does not answer
    odd R                   the same, but not of the types that were promised
    echo T [as N] ... $1 .. its parameters, of these types, as one row
    set N V                 a setting
    say X                   a notice
    fail S X                an error with this SQLSTATE, a detail, a hint and a position
    refuse S X              an error with this SQLSTATE only
    bug                     an exception that is no UserError
    wait                    until it is cancelled
    subscribe               batches as a test puts them into `feed`
    copy out F R            COPY (rows R) TO STDOUT in format F
    copy in F               COPY t FROM STDIN in format F; what came is in `copied`
    do X                    nothing, with the tag X
    begin, commit, rollback, savepoint, back (to the savepoint)

A statement may also be one that `translations` knows in this language.
What the coordinator was asked is in `calls`, in order.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Literal, cast

import pyarrow as pa

from headwater.coordinator.api import (
    CopyIn,
    CopyOut,
    Notice,
    ParsedStatement,
    Prepared,
    Result,
    Session,
    TransactionStatus,
)
from headwater.core.errors import TransientError, UserError
from headwater.core.relation import Column
from headwater.core.types import INT4, TEXT, SqlType, array_of, kind_of_name
from headwater.formats.text import from_text
from tests.support.stored import stored_column

ABORTED = "current transaction is aborted, commands ignored until end of transaction block"
Format = Literal["text", "csv", "binary"]


@dataclass
class FakeRelation:
    columns: tuple[Column, ...]
    batches: list[pa.RecordBatch]


def relation(values: dict[str, tuple[SqlType, list[object]]], batch_count: int = 1) -> FakeRelation:
    """A relation out of columns of stored values, the same batch as often as wanted."""
    columns = tuple(Column(name, type_) for name, (type_, _) in values.items())
    arrays = [stored_column(column, type_) for type_, column in values.values()]
    return FakeRelation(columns, [pa.RecordBatch.from_arrays(arrays, list(values))] * batch_count)


class FakeSink:
    def __init__(self, session: FakeSession) -> None:
        self.session = session
        self.data = b""

    async def write(self, data: bytes) -> None:
        self.data += data
        if b"poison" in self.data:
            raise UserError("that is poison", "22P04", context="COPY t, line 1")

    async def finish(self) -> str:
        self.session.sessions.copied.append(self.data)
        return f"COPY {self.data.count(bytes([10]))}"

    async def abort(self, reason: str) -> None:
        self.session.sessions.calls.append(f"abort {reason}")


@dataclass
class FakeSession:
    sessions: FakeSessions
    backend_pid: int
    secret_key: int
    statements: dict[str, Prepared] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)
    tell: Callable[[Notice], None] = lambda notice: None
    block: str = "I"
    saved: bool = False
    undone: int | None = None
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def status(self) -> TransactionStatus:
        return cast(TransactionStatus, self.block)

    def parameter_statuses(self) -> dict[str, str]:
        return dict(self.settings)

    def listen(self, tell: Callable[[Notice], None], end: Callable[[], None]) -> None:
        self.tell = tell

    def told(self, error: UserError) -> None:
        """Nobody asks."""

    def take_notices(self) -> list[Notice]:
        taken, self.notices = self.notices, []
        return taken

    async def parse(self, text: str) -> tuple[ParsedStatement, ...]:
        parsed = []
        offset = 0
        for part in text.split(";"):
            words = self.sessions.translations.get(part.strip(), part).split()
            if words:
                words[0] = words[0].lower()
            lead = len(part) - len(part.lstrip())
            if "syntax" in words:
                raise UserError("syntax error", "42601", position=offset + part.index("syntax") + 1)
            parsed.append(ParsedStatement(words or None, part.strip(), offset + lead))
            offset += len(part) + 1
        return tuple(parsed)

    async def prepare(
        self, parsed: ParsedStatement, parameter_types: tuple[SqlType | None, ...] = ()
    ) -> Prepared:
        words = cast(list[str], parsed.statement)
        self.check_usable(words)
        self.sessions.calls.append(f"prepare {parsed.text}")
        parameters: tuple[SqlType, ...] = ()
        columns: tuple[Column, ...] | None = None
        match words:
            case ["rows" | "broken" | "lost" | "odd", name]:
                columns = self._relation(name, parsed).columns
            case ["echo", *names]:
                text = " ".join(name for name in names if not name.startswith("$")).replace(" as ", ":")
                pairs = [word.partition(":") for word in text.split()]
                parameters = tuple(_type(name) for name, _, _ in pairs)
                given = zip(parameter_types, parameters, strict=False)
                parameters = tuple(one or other for one, other in given) + parameters[len(parameter_types) :]
                named = [name or f"p{i}" for i, (_, _, name) in enumerate(pairs, 1)]
                columns = tuple(Column(*column) for column in zip(named, parameters, strict=True))
            case ["subscribe"]:
                columns = (Column("n", INT4),)
        return Prepared(parsed, parameters, columns)

    def _relation(self, name: str, parsed: ParsedStatement) -> FakeRelation:
        found = self.sessions.relations.get(name)
        if found is None:
            raise UserError(
                f'relation "{name}" does not exist', "42P01", position=parsed.text.index(name) + 1
            )
        return found

    async def current(self, prepared: Prepared) -> Prepared:
        return prepared

    def check_usable(self, statement: object) -> None:
        words = cast(list[str], statement or ["nothing"])
        if self.block == "E" and words[0] not in ("rollback", "commit", "back"):
            raise UserError(ABORTED, "25P02")

    def resume(self) -> None:
        self.sessions.calls.append("resume")

    @property
    def mark(self) -> int:
        return int(self.saved)

    def fail(self) -> int:
        self.sessions.calls.append("fail")
        if self.block == "T":
            self.block = "E"
        return int(self.saved)

    def take_undone(self) -> int | None:
        undone, self.undone = self.undone, None
        return undone

    async def execute(self, prepared: Prepared, arguments: tuple[str | None, ...] = ()) -> Result:
        words = cast(list[str], prepared.parsed.statement)
        self.sessions.calls.append(f"execute {prepared.parsed.text}")
        self.sessions.arguments.append(arguments)
        self.check_usable(words)
        match words:
            case ["rows", name]:
                return self._rows(self._relation(name, prepared.parsed))
            case ["broken", name]:
                error = UserError("a row is broken", "22000")
                return self._rows(self._relation(name, prepared.parsed), error)
            case ["lost", name]:
                return self._rows(self._relation(name, prepared.parsed), TransientError("the disk is full"))
            case ["odd", name]:
                result = self._rows(self._relation(name, prepared.parsed))
                result.columns = tuple(Column(c.name, SqlType("interval")) for c in result.columns or ())
                return result
            case ["echo", *_]:
                return self._rows(_echo(prepared, arguments))
            case ["set", name, value]:
                self.settings[name] = value
                return Result(lambda _: "SET")
            case ["say", *rest]:
                return Result(lambda _: "SAY", notices=[Notice("NOTICE", " ".join(rest))])
            case ["fail", sqlstate, *rest]:
                raise UserError(" ".join(rest), sqlstate, "Some detail.", "Some hint.", 6)
            case ["refuse", sqlstate, *rest]:
                raise UserError(" ".join(rest), sqlstate)
            case ["bug"]:
                raise KeyError("a secret of ours")
            case ["wait"]:
                await self._until_cancelled()
            case ["subscribe"]:
                return Result(
                    lambda n: f"SUBSCRIBE {n}", (Column("n", INT4),), self._feed(), closed=self._closed
                )
            case ["copy", "out", format_, name]:
                return self._copy_out(cast(Format, format_), self._relation(name, prepared.parsed))
            case ["copy", "in", format_]:
                columns = (Column("a", INT4), Column("b", TEXT))
                copy_in = CopyIn(cast(Format, format_), columns, FakeSink(self))
                return Result(lambda n: f"COPY {n}", copy_in=copy_in)
            case ["do", *rest]:
                return Result(lambda _: " ".join(rest))
            case ["begin" | "commit" | "rollback" as word]:
                if word == "commit" and self.block == "E":
                    word = "rollback"
                self.block, self.saved, self.undone = "T" if word == "begin" else "I", False, 0
                return Result(lambda _: word.upper())
            case ["savepoint"]:
                self.saved = True
                return Result(lambda _: "SAVEPOINT")
            case ["back"]:
                self.block, self.undone = "T", 1
                return Result(lambda _: "ROLLBACK")
        raise UserError(f"no statement begins with {words[0]}", "42601", position=1)

    async def _until_cancelled(self) -> None:
        self.cancelled.clear()
        self.sessions.waiting.set()
        try:
            await self.cancelled.wait()
        finally:
            self.sessions.waiting.clear()
        raise UserError("canceling statement due to user request", "57014")

    def _rows(self, source: FakeRelation, then: Exception | None = None) -> Result:
        async def batches() -> AsyncIterator[pa.RecordBatch]:
            for batch in source.batches:
                self.sessions.batches_taken += 1
                yield batch
            if then is not None:
                raise then

        self.sessions.opened_results += 1
        return Result(lambda n: f"SELECT {n}", source.columns, batches(), closed=self._closed)

    def _copy_out(self, format_: Format, source: FakeRelation) -> Result:
        result = self._rows(source)
        result.tag = lambda n: f"COPY {n}"
        result.copy_out = CopyOut("csv", ",", "", True) if format_ == "csv" else CopyOut(format_)
        return result

    async def _feed(self) -> AsyncIterator[pa.RecordBatch]:
        self.sessions.waiting.set()
        while (batch := await self.sessions.feed.get()) is not None:
            yield batch

    def _closed(self) -> None:
        self.sessions.closed_results += 1

    def patience_s(self) -> float | None:
        return None if self.status == "I" else self.sessions.patience_s

    def cursor_columns(self, name: str) -> tuple[Column, ...] | None:
        return None

    def begin_implicit(self, pipeline: bool = False) -> None:
        self.sessions.calls.append("begin implicit")

    async def finish(self, failed: bool) -> None:
        self.sessions.calls.append(f"finish {'failed' if failed else 'well'}")

    def cancel(self) -> None:
        self.sessions.calls.append("cancel")
        self.cancelled.set()

    async def close(self) -> None:
        self.sessions.calls.append("close")
        self.sessions.open.pop(self.backend_pid)


@dataclass
class FakeSessions:
    relations: dict[str, FakeRelation] = field(default_factory=dict)
    translations: dict[str, str] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    arguments: list[tuple[str | None, ...]] = field(default_factory=list)
    copied: list[bytes] = field(default_factory=list)
    open: dict[int, FakeSession] = field(default_factory=dict)
    opened: list[tuple[str, dict[str, str], str, bool]] = field(default_factory=list)
    feed: asyncio.Queue[pa.RecordBatch | None] = field(default_factory=asyncio.Queue)
    waiting: asyncio.Event = field(default_factory=asyncio.Event)
    opened_results: int = 0
    closed_results: int = 0
    batches_taken: int = 0
    patience_s: float | None = None  # in a block
    last_pid: int = 1000

    async def open_session(
        self, user: str, settings: dict[str, str], client_address: str, internal: bool
    ) -> Session:
        if user == "nobody":
            raise UserError('role "nobody" does not exist', "28000")
        self.opened.append((user, settings, client_address, internal))
        self.last_pid += 1
        session = FakeSession(self, self.last_pid, 0x9ABCDEF0)
        session.settings.update(
            server_version="15.0",
            client_encoding="UTF8",
            standard_conforming_strings="on",
            integer_datetimes="on",
            DateStyle="ISO, MDY",
            TimeZone="UTC",
        )
        if "application_name" in settings:
            session.settings["application_name"] = settings["application_name"]
        if settings.get("welcome") == "on":
            session.notices.append(Notice("NOTICE", "welcome"))
        self.open[session.backend_pid] = session
        return session

    def cancel(self, backend_pid: int, secret_key: int) -> None:
        session = self.open.get(backend_pid)
        if session is not None and session.secret_key == secret_key:
            session.cancel()


def _type(name: str) -> SqlType:
    if name.endswith("[]"):
        return array_of(_type(name[:-2]))
    kind = kind_of_name(name)
    if kind is None:
        raise UserError(f'type "{name}" does not exist', "42704")
    return SqlType(kind)


def _echo(prepared: Prepared, arguments: tuple[str | None, ...]) -> FakeRelation:
    columns = prepared.columns or ()
    arrays = [
        from_text(pa.array([argument], pa.string()), column.type)
        for argument, column in zip(arguments, columns, strict=True)
    ]
    return FakeRelation(columns, [pa.RecordBatch.from_arrays(arrays, [c.name for c in columns])])
