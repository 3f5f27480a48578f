"""SELECT, and SHOW of objects, which is a SELECT over system relations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.coordinator import queries
from headwater.coordinator.api import ParsedStatement, Prepared, Result
from headwater.core.types import SqlType
from headwater.sql.select import bind_parameters
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
    query = bind_parameters(queries.current(session, prepared).query, arguments)
    statement = prepared.parsed.statement
    as_of = statement.as_of if isinstance(statement, Select) else None
    read = await queries.open_read(session, query, as_of)
    result = Result(lambda rows: f"SELECT {rows}", prepared.columns, queries.run_read(session, read))
    result.closed = read.close
    queries.show_names(session, result)
    return result
