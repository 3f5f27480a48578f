"""INSERT, UPDATE, DELETE: rows of plain tables.

INSERT evaluates its query and appends.  UPDATE and DELETE take the turn of the
writer, read the table as of its last write, and append the rows that go and the rows
that come at one timestamp; so two of them never see each other half done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from headwater.catalog.state import Item
from headwater.coordinator.api import ParsedStatement, Prepared, Result
from headwater.coordinator.sequence.select import run_read
from headwater.coordinator.tables import check_not_null, deleted, inserted
from headwater.core.errors import UserError, not_supported
from headwater.core.relation import Column, Relation
from headwater.core.types import SqlType
from headwater.formats.arrow import state_schema
from headwater.sql.cursor import Name, quote_identifier
from headwater.sql.select import bind_parameters, plan_query
from headwater.sql.select.plan import Query
from headwater.sql.statements.delete import Delete
from headwater.sql.statements.insert import Insert
from headwater.sql.statements.update import Update

if TYPE_CHECKING:
    from headwater.coordinator.session import SqlSession


def writable(session: SqlSession, name: Name, verb: str = "insert into") -> Item:
    """A plain table; everything else is refused by its kind."""
    names = session.names()
    found = names.find_relation(name.parts)
    if found.kind.startswith("system"):
        raise UserError(f"cannot {verb} system table '{found.schema}.{found.name}'", "42809")
    item = names.resolve_item(name.parts)
    full = names.full_name(item)
    if item.kind != "table":
        raise UserError(f"cannot {verb} {item.kind} '{full}'", "42809")
    if item.source_id is not None:
        raise UserError(
            f"cannot {verb} non-writeable table '{full}'",
            "42809",
            detail="Its rows come from its source alone.",
        )
    return item


async def collect(session: SqlSession, query: Query) -> pa.Table:
    """A query's whole result at the session's timestamp."""
    read = await session.world.reads.prepare(query, session.isolation, facts=session.system_facts)
    batches = [batch async for batch in run_read(session, read)]
    return pa.Table.from_batches(batches, state_schema(Relation(query.columns())))


# INSERT


def target_columns(item: Item, columns: tuple[str, ...]) -> tuple[Column, ...]:
    by_name = {column.name: column for column in item.relation.columns}
    for name in columns:
        if name not in by_name:
            raise UserError(
                f'column "{name}" of relation "{item.name}" does not exist',
                "42703",
                hint=f"It has {', '.join(by_name)}.",
            )
        if columns.count(name) > 1:
            raise UserError(f'column "{name}" specified more than once', "42701")
    return tuple(by_name[name] for name in columns) if columns else item.relation.columns


def _plan_insert(
    session: SqlSession, statement: Insert, parameter_types: tuple[SqlType | None, ...]
) -> tuple[Item, tuple[Column, ...], Query | None]:
    item = writable(session, statement.table)
    if statement.returning is not None:
        raise not_supported("INSERT ... RETURNING", position=statement.returning.offset + 1)
    targets = target_columns(item, statement.columns)
    if statement.query is None:
        return item, (), None
    text, offset = statement.query.text, statement.query.offset
    names, facts = session.names(), session.facts()
    if not statement.columns and len(targets) > 1:
        # Without a list of columns fewer values than columns may be given: the first ones are meant.
        given = len(plan_query(text, names, facts, parameter_types, offset).output)
        targets = targets[: max(1, given)] if given <= len(targets) else targets
    return item, targets, plan_query(text, names, facts, parameter_types, offset, targets)


def describe_insert(
    session: SqlSession, parsed: ParsedStatement, parameter_types: tuple[SqlType | None, ...]
) -> Prepared:
    statement = parsed.statement
    if not isinstance(statement, Insert):
        raise UserError("INSERT needs a table", "42601")
    _, _, query = _plan_insert(session, statement, parameter_types)
    return Prepared(parsed, () if query is None else query.parameters, None)


async def run_insert(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    statement = prepared.parsed.statement
    if not isinstance(statement, Insert):
        raise UserError("INSERT needs a table", "42601")
    item, targets, query = _plan_insert(session, statement, prepared.parameters)
    reading = query is not None and bool(query.relation_ids)
    session.enter("single" if reading else "write")
    if query is None:
        given = pa.table({"_": pa.array([None])})
    else:
        given = await collect(session, bind_parameters(query, arguments))
    rows = await complete_rows(session, item, targets, given)
    await write_rows(session, item, inserted(rows))
    count = rows.num_rows
    return Result(lambda _: f"INSERT 0 {count}")


async def complete_rows(
    session: SqlSession, item: Item, targets: tuple[Column, ...], given: pa.Table
) -> pa.Table:
    """Rows with every column of the table: given values, defaults, NULLs; NOT NULL is checked."""
    schema = state_schema(item.relation)
    place = {column.name: i for i, column in enumerate(targets)}
    columns = []
    for column, field in zip(item.relation.columns, schema, strict=True):
        if column.name in place:
            columns.append(given.column(place[column.name]))
        elif column.default is None:
            columns.append(pa.nulls(given.num_rows, field.type))
        else:
            columns.append(await _defaults(session, column, given.num_rows))
    rows = pa.table(columns, schema=schema)
    check_not_null(item.relation, rows, item.name)
    return rows


async def _defaults(session: SqlSession, column: Column, count: int) -> pa.ChunkedArray:
    text = f"SELECT {column.default} FROM generate_series(1, {count})"
    query = plan_query(text, session.names(), session.facts(), targets=(column,))
    return (await collect(session, query)).column(0)


async def write_rows(session: SqlSession, item: Item, changes: pa.Table) -> None:
    """Now, or at the COMMIT of the block."""
    if not changes.num_rows:
        return
    if session.transaction is not None:
        session.transaction.add_write(item.id, item.relation, changes)
    else:
        await session.world.commit_writes({item.id: (item.relation, [changes])})


# UPDATE and DELETE


def _update_text(item: Item, statement: Update, full: str) -> str:
    """A query for the old rows followed by the new values of all columns."""
    alias = quote_identifier(statement.alias or item.name)
    names = [column.name for column in item.relation.columns]
    new = {name: f"{alias}.{quote_identifier(name)}" for name in names}
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
        new[assignment.column] = assignment.expression.text if assignment.expression else default or "NULL"
    old = ", ".join(f"{alias}.{quote_identifier(name)} AS o{i}" for i, name in enumerate(names))
    values = ", ".join(f"{new[name]} AS n{i}" for i, name in enumerate(names))
    where = "" if statement.where is None else f" WHERE {statement.where.text}"
    return f"SELECT {old}, {values} FROM {full} AS {alias}{where}"


def _delete_text(item: Item, statement: Delete, full: str) -> str:
    alias = quote_identifier(statement.alias or item.name)
    columns = ", ".join(f"{alias}.{quote_identifier(c.name)}" for c in item.relation.columns)
    where = "" if statement.where is None else statement.where.text
    if statement.using is None:
        return f"SELECT {columns} FROM {full} AS {alias}" + (f" WHERE {where}" if where else "")
    exists = f"EXISTS (SELECT 1 FROM {statement.using.text}" + (f" WHERE {where})" if where else ")")
    return f"SELECT {columns} FROM {full} AS {alias} WHERE {exists}"


def _plan_mutation(
    session: SqlSession, statement: Update | Delete, parameter_types: tuple[SqlType | None, ...]
) -> tuple[Item, Query]:
    item = writable(session, statement.table, "mutate")
    names = session.names()
    full = names.full_name(item)
    columns = item.relation.columns
    if isinstance(statement, Update):
        text, targets = _update_text(item, statement, full), (*columns, *columns)
    else:
        text, targets = _delete_text(item, statement, full), columns
    query = plan_query(text, names, session.facts(), parameter_types, 0, targets)
    return item, query


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
    return await _mutate(session, prepared, arguments, "UPDATE")


async def run_delete(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    return await _mutate(session, prepared, arguments, "DELETE")


async def _mutate(
    session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...], tag: str
) -> Result:
    statement = prepared.parsed.statement
    if not isinstance(statement, Update | Delete):
        raise UserError(f"{tag} needs a table", "42601")
    session.enter("single")
    world = session.world
    async with world.tables.turn:
        item, query = _plan_mutation(session, statement, prepared.parameters)
        found = await collect(session, bind_parameters(query, arguments))
        width = len(item.relation.columns)
        schema = state_schema(item.relation)
        old = pa.table(found.columns[:width], schema=schema)
        changes = deleted(old)
        if isinstance(statement, Update):
            new = pa.table(found.columns[width:], schema=schema)
            check_not_null(item.relation, new, item.name)
            changes = pa.concat_tables([changes, inserted(new)])
        if changes.num_rows:
            await world.append_writes({item.id: (item.relation, changes)})
    return Result(lambda _: f"{tag} {old.num_rows}")


