"""Rows for plain tables: which tables and columns take them, what completes them, when they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from headwater.catalog.state import Item
from headwater.coordinator.queries import collect
from headwater.coordinator.tables import check_not_null
from headwater.core.errors import UserError
from headwater.core.relation import Column
from headwater.formats.arrow import state_schema
from headwater.sql.cursor import Name
from headwater.sql.select import plan_query

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


def target_columns(item: Item, columns: tuple[str, ...]) -> tuple[Column, ...]:
    """The columns a list names, all without one."""
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
            columns.append(await _defaults(session, item, column, given.num_rows))
    rows = pa.table(columns, schema=schema)
    check_not_null(item.relation, rows, item.name)
    return rows


async def _defaults(session: SqlSession, item: Item, column: Column, count: int) -> pa.ChunkedArray:
    text = f"SELECT {column.default} FROM generate_series(1, {count})"
    query = plan_query(text, session.names(), session.facts(), targets=(column,))
    return (await collect(session, query, into=item)).column(0)


async def write_rows(session: SqlSession, item: Item, changes: pa.Table) -> None:
    """Now, or at the COMMIT of the block."""
    if not changes.num_rows:
        return
    if session.transaction is not None:
        session.transaction.add_write(item, changes)
    else:
        await session.world.commit_writes({item.id: (item.relation, [changes])})
