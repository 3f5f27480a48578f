"""INSERT, UPDATE, DELETE: rows of plain tables.

INSERT evaluates its query and appends.  UPDATE and DELETE read the table as of its last write, and
append the rows that go and the rows that come at one timestamp.  What was computed from plain tables is
appended only if they are still what they were, see rows.py.

Everything that can fail, RETURNING included, comes before the append.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from headwater.catalog.state import Item
from headwater.coordinator.api import ParsedStatement, Prepared, Result, other_columns
from headwater.coordinator.composed import Composed
from headwater.coordinator.queries import batches_of, collect, is_current, with_arguments
from headwater.coordinator.rows import (
    Computed,
    complete_rows,
    target_columns,
    writable,
    write_computed,
    write_rows,
)
from headwater.coordinator.tables import check_not_null, deleted, inserted
from headwater.core.errors import InvariantViolation, UserError, not_supported
from headwater.core.relation import Column, Relation
from headwater.core.types import SqlType
from headwater.formats.arrow import state_schema
from headwater.sql.cursor import SqlText, quote_identifier
from headwater.sql.select import plan_query, values_width
from headwater.sql.select.plan.nodes import Query
from headwater.sql.statements.delete import Delete
from headwater.sql.statements.insert import Insert
from headwater.sql.statements.update import Update

if TYPE_CHECKING:
    from headwater.coordinator.session import SqlSession


# INSERT


@dataclass(frozen=True, slots=True)
class InsertPlan:
    """What an INSERT was planned to be, and against which catalog."""

    item: Item
    targets: tuple[Column, ...]
    query: Query | None
    returning: Query | None
    catalog_version: int
    made_at_ms: int
    took_ms: int


def _plan_insert(
    session: SqlSession, statement: Insert, parameter_types: tuple[SqlType | None, ...]
) -> InsertPlan:
    version, clock = session.state.version, session.coordinator.clock
    begun_ms = clock.now_ms()
    item = writable(session, statement.table)
    targets = target_columns(item, statement.columns)
    if statement.query is None:
        returning = _plan_returning(session, statement, item)
        return InsertPlan(item, (), None, returning, version, clock.now_ms(), 0)
    text, offset = statement.query.text, statement.query.offset
    names, facts = session.names(), session.facts()
    if not statement.columns and len(targets) > 1:
        # Without a list of columns fewer values than columns may be given: the first ones are meant.
        given = values_width(text) or len(plan_query(text, names, facts, parameter_types, offset).output)
        targets = targets[: max(1, given)] if given <= len(targets) else targets
    query = plan_query(text, names, facts, parameter_types, offset, targets)
    returning = _plan_returning(session, statement, item)
    now_ms = clock.now_ms()
    return InsertPlan(item, targets, query, returning, version, now_ms, now_ms - begun_ms)


def describe_insert(
    session: SqlSession, parsed: ParsedStatement, parameter_types: tuple[SqlType | None, ...]
) -> Prepared:
    """Parameters of the query, columns of RETURNING."""
    statement = parsed.statement
    if not isinstance(statement, Insert):
        raise UserError("INSERT needs a table", "42601")
    plan = _plan_insert(session, statement, parameter_types)
    columns = None if plan.returning is None else plan.returning.columns()
    return Prepared(parsed, () if plan.query is None else plan.query.parameters, columns, plan)


def _plan_returning(session: SqlSession, statement: Insert, item: Item) -> Query | None:
    """RETURNING is a query over the rows that were inserted."""
    if statement.returning is None:
        return None
    names = session.names()
    alias = quote_identifier(statement.alias or item.name)
    before = "SELECT "
    text = f"{before}{statement.returning.text} FROM {names.full_name(item)} AS {alias}"
    query = plan_query(text, names, session.facts(), (), statement.returning.offset - len(before))
    if query.relation_ids - {item.id}:
        raise not_supported("RETURNING with a subquery", position=statement.returning.offset + 1)
    return query


async def run_insert(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    """Evaluate, complete, write."""
    statement = prepared.parsed.statement
    if not isinstance(statement, Insert):
        raise UserError("INSERT needs a table", "42601")
    plan = await _current_insert(session, statement, prepared)
    if plan.query is not None and plan.query.relation_ids:
        session.enter("single")
        return await _insert_query(session, prepared, statement, arguments)
    session.enter("write")
    if plan.query is None:
        given = pa.table({"_": pa.array([None])})
    else:
        query = await with_arguments(session, plan.query, arguments)
        given = await collect(session, query, plan.item)
    computed = await _inserted(session, plan, given)
    await write_rows(session, plan.item, computed.changes)
    return computed.result


async def _current_insert(session: SqlSession, statement: Insert, prepared: Prepared) -> InsertPlan:
    plan: InsertPlan = prepared.plan  # type: ignore[assignment]
    if is_current(session, plan.catalog_version, plan.made_at_ms, plan.took_ms):
        return plan
    again = await session.planned(lambda: _plan_insert(session, statement, prepared.parameters))
    returned = None if again.returning is None else again.returning.columns()
    if prepared.told and returned != prepared.columns:
        raise other_columns()
    return again


async def _insert_query(
    session: SqlSession, prepared: Prepared, statement: Insert, arguments: tuple[str | None, ...]
) -> Result:
    """What a query finds in tables."""
    plans: list[InsertPlan] = []  # the last one is of this attempt

    async def plan() -> tuple[Item, Query]:
        plans.append(await _current_insert(session, statement, prepared))
        query = plans[-1].query
        if query is None:
            raise InvariantViolation("INSERT lost its query")
        return plans[-1].item, await with_arguments(session, query, arguments)

    async def compute(_: Item, found: pa.Table) -> Computed:
        return await _inserted(session, plans[-1], found)

    return await write_computed(session, plan, compute)


async def _inserted(session: SqlSession, plan: InsertPlan, given: pa.Table) -> Computed:
    """Complete rows, and what the client is told of them."""
    rows = await complete_rows(session, plan.item, plan.targets, given)
    count = rows.num_rows
    result = Result(lambda _: f"INSERT 0 {count}")
    if plan.returning is not None:
        returned = await _returned(session, plan.returning, plan.item, rows)
        result.columns, result.batches = plan.returning.columns(), batches_of(returned)
        result.settled = session.transaction is None
    return Computed(inserted(rows), result)


async def _returned(session: SqlSession, query: Query, item: Item, rows: pa.Table) -> pa.Table:
    schema = state_schema(Relation(query.columns()))
    sql, tables = await session.coordinator.reads.generated(
        query, {item.id: "hw_inserted"}, None, {"hw_inserted": rows}
    )
    return await session.coordinator.engine.table(sql, schema, tables)


# UPDATE and DELETE


def _update_query(item: Item, statement: Update, full: str) -> Composed:
    """A query for the old rows followed by the new values of all columns."""
    alias = quote_identifier(statement.alias or item.name)
    names = [column.name for column in item.relation.columns]
    new: dict[str, str | SqlText] = {name: f"{alias}.{quote_identifier(name)}" for name in names}
    seen: set[str] = set()
    for assignment in statement.assignments:
        if assignment.column not in new:
            raise UserError(
                f'column "{assignment.column}" of relation "{item.name}" does not exist',
                "42703",
                hint=f"It has {', '.join(names)}.",
            )
        if assignment.column in seen:
            raise UserError(f'multiple assignments to same column "{assignment.column}"', "42601")
        seen.add(assignment.column)
        default = next(c.default for c in item.relation.columns if c.name == assignment.column)
        new[assignment.column] = assignment.expression or default or "NULL"
    query = Composed("SELECT ")
    query.add(", ".join(f"{alias}.{quote_identifier(name)} AS o{i}" for i, name in enumerate(names)))
    for i, name in enumerate(names):
        query.add(", ", new[name], f" AS n{i}")
    query.add(f" FROM {full} AS {alias}")
    return query if statement.where is None else query.add(" WHERE ", statement.where)


def _delete_query(item: Item, statement: Delete, full: str) -> Composed:
    alias = quote_identifier(statement.alias or item.name)
    columns = ", ".join(f"{alias}.{quote_identifier(c.name)}" for c in item.relation.columns)
    query = Composed(f"SELECT {columns} FROM {full} AS {alias}")
    if statement.using is not None:
        query.add(" WHERE EXISTS (SELECT 1 FROM ", statement.using)
    if statement.where is not None:
        query.add(" WHERE ", statement.where)
    return query if statement.using is None else query.add(")")


def _plan_mutation(
    session: SqlSession, statement: Update | Delete, parameter_types: tuple[SqlType | None, ...]
) -> tuple[Item, Query]:
    item = writable(session, statement.table, "mutate")
    names = session.names()
    full = names.full_name(item)
    columns = item.relation.columns
    if isinstance(statement, Update):
        composed, targets = _update_query(item, statement, full), (*columns, *columns)
    else:
        composed, targets = _delete_query(item, statement, full), columns
    try:
        return item, plan_query(composed.text, names, session.facts(), parameter_types, 0, targets)
    except UserError as error:
        composed.place(error)
        raise


def _describe_mutation(
    session: SqlSession, parsed: ParsedStatement, parameter_types: tuple[SqlType | None, ...]
) -> Prepared:
    statement = parsed.statement
    if not isinstance(statement, Update | Delete):
        raise UserError("UPDATE and DELETE need a table", "42601")
    _, query = _plan_mutation(session, statement, parameter_types)
    return Prepared(parsed, query.parameters, None)


describe_update = _describe_mutation
describe_delete = _describe_mutation


async def run_update(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    """Old rows go, new rows come."""
    return await _mutate(session, prepared, arguments, "UPDATE")


async def run_delete(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    """Rows go."""
    return await _mutate(session, prepared, arguments, "DELETE")


async def _mutate(
    session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...], tag: str
) -> Result:
    statement = prepared.parsed.statement
    if not isinstance(statement, Update | Delete):
        raise UserError(f"{tag} needs a table", "42601")
    session.enter("single")

    async def plan() -> tuple[Item, Query]:
        item, query = await session.planned(lambda: _plan_mutation(session, statement, prepared.parameters))
        return item, await with_arguments(session, query, arguments)

    async def compute(item: Item, found: pa.Table) -> Computed:
        width = len(item.relation.columns)
        schema = state_schema(item.relation)
        changes = deleted(pa.table(found.columns[:width], schema=schema))
        if isinstance(statement, Update):
            new = pa.table(found.columns[width:], schema=schema)
            check_not_null(item.relation, new, item.name)
            changes = pa.concat_tables([changes, inserted(new)])
        return Computed(changes, Result(lambda _: f"{tag} {found.num_rows}"))

    return await write_computed(session, plan, compute)
