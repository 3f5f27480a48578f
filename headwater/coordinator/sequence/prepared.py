"""PREPARE, EXECUTE, DEALLOCATE in SQL; the names are those of the protocol's own statements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.coordinator.api import ParsedStatement, Prepared, Result
from headwater.coordinator.queries import constant
from headwater.core.errors import UserError
from headwater.core.types import SqlType
from headwater.sql.statements.deallocate import Deallocate
from headwater.sql.statements.execute import Execute
from headwater.sql.statements.prepare import Prepare

if TYPE_CHECKING:
    from headwater.coordinator.session import SqlSession


async def run_prepare(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    """Keep a statement under a name."""
    statement = prepared.parsed.statement
    if isinstance(statement, Prepare):
        if statement.name in session.statements:
            raise UserError(f'prepared statement "{statement.name}" already exists', "42P05")
        parsed = ParsedStatement(statement.statement, statement.text.text, statement.text.offset)
        # Places inside of the statement count from the beginning of the PREPARE around it.
        session.statements[statement.name] = await session.prepare(parsed, statement.types)
    return Result(lambda _: "PREPARE")


def _find(session: SqlSession, name: str) -> Prepared:
    found = session.statements.get(name)
    if found is None:
        raise UserError(f'prepared statement "{name}" does not exist', "26000")
    return found


def describe_execute(
    session: SqlSession, parsed: ParsedStatement, parameter_types: tuple[SqlType | None, ...]
) -> Prepared:
    """The prepared statement's columns; that there is none is for the execution to say."""
    statement = parsed.statement
    found = session.statements.get(statement.name if isinstance(statement, Execute) else "")
    return Prepared(parsed, (), None if found is None else found.columns)


async def run_execute(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    """Arguments are constant expressions, converted to the parameters' types."""
    statement = prepared.parsed.statement
    if not isinstance(statement, Execute):
        raise UserError("EXECUTE needs a prepared statement", "26000")
    found = session.statements[statement.name] = await session.current(_find(session, statement.name))
    if len(statement.arguments) != len(found.parameters):
        raise UserError(
            f'wrong number of parameters for prepared statement "{statement.name}"',
            "42601",
            detail=f"Expected {len(found.parameters)} parameters but got {len(statement.arguments)}.",
        )
    values = []
    for argument, type_ in zip(statement.arguments, found.parameters, strict=True):
        text = f"SELECT CAST(CAST(({argument.text}) AS {type_}) AS text)"
        value = await constant(session, text, argument.offset - 18)
        values.append(None if value is None else str(value))
    try:
        return await session.run(found, tuple(values))
    except UserError as error:
        error.position = 0  # in the text of the PREPARE, not of this statement
        raise


async def run_deallocate(
    session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]
) -> Result:
    """Forget one prepared statement or all."""
    statement = prepared.parsed.statement
    if isinstance(statement, Deallocate) and statement.name is not None:
        _find(session, statement.name)
        del session.statements[statement.name]
        return Result(lambda _: "DEALLOCATE")
    session.statements.clear()
    return Result(lambda _: "DEALLOCATE ALL")
