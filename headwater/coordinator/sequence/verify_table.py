"""VERIFY TABLE: the cluster reads the reference once and compares; here it is asked and shown."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from headwater.catalog.snapshot import with_article
from headwater.catalog.state import Item
from headwater.coordinator.api import Notice, ParsedStatement, Prepared, Result
from headwater.core.clock import unique_name
from headwater.core.errors import InvariantViolation, UserError
from headwater.core.protocol import VERIFY_COLUMNS, Verify
from headwater.core.relation import Column
from headwater.core.types import TEXT, SqlType
from headwater.sql.statements.verify_table import VerifyTable

if TYPE_CHECKING:
    from headwater.coordinator.session import SqlSession

_DIFFERENT: Final = frozenset(("missing", "unexpected"))
_HINT: Final = (
    "Changes that the upstream did not log, or did not log as rows, cannot be followed."
    " ALTER SOURCE {source} RESYNC brings all of its tables up to date."
)


def describe(
    session: SqlSession, parsed: ParsedStatement, parameter_types: tuple[SqlType | None, ...]
) -> Prepared:
    """Its columns."""
    return Prepared(parsed, (), tuple(Column(name, TEXT) for name in VERIFY_COLUMNS))


async def run(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    """Ask the cluster."""
    statement = prepared.parsed.statement
    if not isinstance(statement, VerifyTable):
        raise InvariantViolation("VERIFY TABLE of something else")
    item = session.names().resolve_item(statement.name.parts)
    if item.kind != "table" and not item.stores:
        raise UserError(f"{statement.name} is {with_article(item.kind)} not a table", "42809")
    if item.source_id is None:
        raise UserError(
            f'table "{session.coordinator.full_name(item)}" has no upstream to compare it with',
            "42809",
            hint="VERIFY TABLE is for tables that were created FROM SOURCE.",
        )
    command = Verify(
        f"v{unique_name()[:12]}", item.source_id, item.collection_id, session.coordinator.full_name(item)
    )
    return Result(lambda count: f"VERIFY {count}", prepared.columns, _answers(session, command, item))


async def _answers(session: SqlSession, command: Verify, item: Item) -> AsyncIterator[pa.RecordBatch]:
    controller = session.coordinator.controller
    pending = controller.start_peek(command)
    differs = False
    try:
        while (answer := await pending.answers.get()) is not None:
            if isinstance(answer, UserError):
                hint = answer.hint
                answer.hint = None if hint is None else session.coordinator.named_in(hint, item)
                raise answer
            if isinstance(answer, pa.RecordBatch):
                differs = differs or not _DIFFERENT.isdisjoint(answer.column(0).to_pylist())
                yield answer
    finally:
        controller.end_peek(command.peek_id)
    if differs:
        hint = session.coordinator.named_in(_HINT, item)
        session.notify(Notice("NOTICE", f'table "{command.name}" differs from its upstream', hint=hint))
