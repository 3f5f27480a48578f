"""Statements that come by HTTP: run one after the other in a session, and told to whoever writes the answer.

    Asked ──parse──► statements ──each──► starting, columns, rows, rows, ..., complete
                                          error: the rest is not run

Statements of one request are one transaction unless they say otherwise, as those of one simple query are.
It is ended before the last `complete`, so that a commit that fails is never told as done.

Rows are encoded as JSON, column by column, in slices; the next slice is made when the last one was taken,
so what is in memory does not depend on how large a result is.

This is the place of HTTP where errors become answers, and where they fail the transaction.

Not here: what answers look like (sql.py, websocket.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import structlog

from headwater.coordinator.api import Names, Notice, ParsedStatement, Prepared, Result, Session
from headwater.core.clock import secret_number
from headwater.core.errors import TransientError, UserError, not_supported
from headwater.core.limits import ENCODE_AT_ONCE_BYTES_MAX, ENCODE_BYTES_MAX, RESULT_BATCH_ROWS
from headwater.core.relation import Column
from headwater.core.types import modifier_of, oid_of, size_of
from headwater.formats.batches import cut
from headwater.formats.byte_columns import spliced
from headwater.formats.json_values import quoted, to_json
from headwater.sql.statements.subscribe import Subscribe

_LOG: Final = structlog.get_logger("http")
_BUG_HINT: Final = "The server's log says more under this reference."


class ClientGone(Exception):
    """Nobody takes the answer any more."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A text; with arguments it is one statement, and its parameters are given."""

    text: str
    arguments: tuple[str | None, ...] | None = None


class Teller(Protocol):
    """Writes the answer; each method may wait until the client takes more, and raises ClientGone."""

    subscribes: bool  # whether rows may come without an end

    async def starting(self, has_rows: bool, endless: bool) -> None:
        """A statement is about to run."""

    async def columns(self, columns: Sequence[Column]) -> None:
        """It has rows, and these are their columns."""

    async def rows(self, lines: bytes) -> None:
        """JSON arrays, a line each."""

    async def complete(self, tag: str) -> None:
        """It has ended."""

    async def notices(self, notices: Sequence[Notice]) -> None:
        """Messages that are no errors."""

    async def error(self, error: UserError) -> None:
        """Something has failed; nothing follows but what ends the answer."""


_Given = tuple[ParsedStatement, tuple[str | None, ...] | None]


async def run(session: Session, asked: Sequence[Asked], teller: Teller) -> None:
    """All statements of a request, up to the first error, which the session is told of."""
    try:
        await _run(session, asked, teller)
    except ClientGone:
        session.fail()
        await session.finish(True)
        raise
    except Exception as raised:
        error = told(raised)
        session.told(error)
        session.fail()
        try:
            await session.finish(True)
        finally:
            await teller.notices(session.take_notices())
            await teller.error(error)


def told(raised: Exception) -> UserError:
    """What a client is told of an error, wherever it comes from."""
    if isinstance(raised, UserError):
        return raised
    if isinstance(raised, TransientError):
        return UserError(str(raised), "58030", hint=raised.hint)
    reference = f"{secret_number(32):08x}"
    _LOG.error("internal error", reference=reference, exc_info=raised)
    return UserError(f"internal error, reference {reference}", "XX000", hint=_BUG_HINT)


async def _run(session: Session, asked: Sequence[Asked], teller: Teller) -> None:
    statements: list[_Given] = []
    for each in asked:
        statements += await _parsed(session, each)
    if len(statements) > 1:
        session.begin_implicit()
    tag: str | None = None
    for parsed, arguments in statements:
        if tag is not None:
            await teller.complete(tag)
        try:
            tag = await _one(session, parsed, arguments, teller)
        except UserError as error:
            if error.position > 0:
                error.position += parsed.offset
            raise
    await session.finish(False)
    await teller.notices(session.take_notices())
    if tag is not None:
        await teller.complete(tag)


async def _parsed(session: Session, asked: Asked) -> list[_Given]:
    found = [each for each in await session.parse(asked.text) if each.statement is not None]
    if asked.arguments is not None and len(found) != 1:
        raise UserError(
            f'each query must contain exactly 1 statement, but "{asked.text[:80]}" has {len(found)}',
            "42601",
            hint='Send several statements as {"query": "..."}, or each as a query of its own.',
        )
    return [(each, asked.arguments) for each in found]


async def _one(
    session: Session, parsed: ParsedStatement, arguments: tuple[str | None, ...] | None, teller: Teller
) -> str:
    """One statement; its tag."""
    prepared = await session.prepare(parsed)
    if arguments is None and prepared.parameters:
        raise UserError("there is no parameter $1", "42P02", hint='Send {"queries": [{"query", "params"}]}.')
    if arguments is not None and len(arguments) != len(prepared.parameters):
        raise UserError(
            f"request supplied {len(arguments)} parameters, but the statement requires"
            f" {len(prepared.parameters)}",
            "08P01",
        )
    endless = isinstance(parsed.statement, Subscribe)
    if endless and not teller.subscribes:
        raise UserError(
            "SUBSCRIBE is not supported in a request of its own",
            "0A000",
            hint="Open a websocket at /api/experimental/sql, or DECLARE a cursor for it and FETCH there.",
        )
    await teller.starting(prepared.columns is not None, endless)
    result = await session.execute(replace(prepared, told=False), arguments or ())
    try:
        await teller.notices(result.notices)
        count = await _told_rows(prepared, result, teller)
        await teller.notices(session.take_notices())
        return result.tag(count)
    finally:
        result.close()


async def _told_rows(prepared: Prepared, result: Result, teller: Teller) -> int:
    """How many rows there were."""
    if result.copy_in is not None:
        await result.copy_in.sink.abort("COPY FROM STDIN does not come by HTTP")
        raise not_supported(
            "COPY FROM STDIN over HTTP", hint="Use INSERT, or COPY over PostgreSQL's protocol."
        )
    if result.copy_out is not None:
        raise not_supported("COPY TO STDOUT over HTTP", hint="Run the query itself.")
    if result.columns is None or result.batches is None:
        return 0
    await teller.columns(result.columns)
    encode = partial(json_lines, columns=result.columns, names=result.names)
    count = 0
    async for batch in result.batches:
        for part in _slices(batch):
            count += part.num_rows
            await teller.rows(await _encoded(result, partial(encode, part), part.nbytes))
    return count


async def _encoded(result: Result, encode: Callable[[], bytes], size_bytes: int) -> bytes:
    if result.beside is None or size_bytes <= ENCODE_AT_ONCE_BYTES_MAX:
        return encode()
    return await result.beside(encode)


def _slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    for start in range(0, batch.num_rows, RESULT_BATCH_ROWS):
        yield from cut(batch.slice(start, RESULT_BATCH_ROWS), ENCODE_BYTES_MAX)


def json_lines(batch: pa.RecordBatch, columns: Sequence[Column], names: Names) -> bytes:
    """A JSON array for each row, on a line of its own."""
    if not columns:
        return b"[]\n" * int(batch.num_rows)
    pieces: list[pa.Array | bytes] = [b"["]
    for array, column in zip(batch.columns, columns, strict=True):
        known = names.get(column.type.kind)
        value = to_json(array, column.type) if known is None else _named(array, known)
        pieces += [b"," if len(pieces) > 1 else b"", value.cast(pa.binary())]
    data: bytes = spliced([*pieces, b"]\n"]).buffers()[2].to_pybytes()
    return data


def _named(array: pa.Array, names: dict[int, str]) -> pa.Array:
    """Numbers of regclass and its kin as what they stand for."""
    met = array.dictionary_encode()
    shown = quoted(pa.array([names[oid] for oid in met.dictionary.to_pylist()], pa.string()))
    return pc.fill_null(shown.take(met.indices), "null")


# The forms that both ways of asking share


def description(columns: Sequence[Column]) -> dict[str, Any]:
    """What the columns of a result are."""
    return {
        "columns": [
            {
                "name": column.name,
                "type_oid": oid_of(column.type),
                "type_len": size_of(column.type),
                "type_mod": modifier_of(column.type),
            }
            for column in columns
        ]
    }


def error_form(error: UserError) -> dict[str, Any]:
    """An error as JSON; what it does not have is left out."""
    form: dict[str, Any] = {"message": error.message, "code": error.sqlstate}
    for name in ("detail", "hint", "context"):
        if getattr(error, name):
            form[name] = getattr(error, name)
    if error.position > 0:
        form["position"] = error.position
    return form


def notice_form(notice: Notice) -> dict[str, Any]:
    """A notice as JSON."""
    form: dict[str, Any] = {
        "message": notice.message,
        "code": notice.sqlstate,
        "severity": notice.severity.lower(),
    }
    for name in ("detail", "hint"):
        if getattr(notice, name):
            form[name] = getattr(notice, name)
    return form
