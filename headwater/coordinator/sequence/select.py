"""SELECT, and SHOW of objects, which is a SELECT over system relations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.coordinator import acting, queries
from headwater.coordinator.api import ParsedStatement, Prepared, Result
from headwater.coordinator.read import RelationDropped
from headwater.core.errors import UserError
from headwater.core.types import SqlType
from headwater.sql.select import take_actions
from headwater.sql.statements.select import Select

if TYPE_CHECKING:
    from headwater.coordinator.session import SqlSession


def describe(
    session: SqlSession, parsed: ParsedStatement, parameter_types: tuple[SqlType | None, ...]
) -> Prepared:
    """Parameters and columns."""
    made = queries.plan(session, parsed.statement, parameter_types)
    return Prepared(parsed, made.query.parameters, made.query.columns(), made)


async def run(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    """Read at one timestamp, the transaction's if there is one."""
    statement = prepared.parsed.statement
    as_of = statement.as_of if isinstance(statement, Select) else None
    made = await queries.current(session, prepared)
    while True:
        query, actions = take_actions(await queries.with_arguments(session, made.query, arguments))
        try:
            read = await queries.open_read(session, query, as_of)
            break
        except RelationDropped as error:
            made = await _again(session, prepared, made, error)
    if actions:
        try:
            rows = await queries.drain(session, read, None)
        finally:
            read.close()
        acted = await acting.carried_out(session, actions, rows, made.query.columns())
        return Result(lambda rows: f"SELECT {rows}", made.query.columns(), queries.batches_of(acted))
    result = Result(lambda rows: f"SELECT {rows}", query.columns(), queries.run_read(session, read))
    result.closed = read.close
    queries.show_names(session, result)
    return result


async def _again(
    session: SqlSession, prepared: Prepared, made: queries.SelectPlan, dropped: RelationDropped
) -> queries.SelectPlan:
    """What was waited for has gone: if the catalog has something else under its name, that is read."""
    try:
        again = await queries.current(session, prepared)
    except UserError:
        raise dropped from None
    if again.catalog_version == made.catalog_version:
        raise dropped
    return again
