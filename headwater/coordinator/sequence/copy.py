"""COPY: rows out as text, CSV or binary; rows in from the client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from headwater.catalog.state import Item
from headwater.coordinator.api import CopyIn, CopyOut, ParsedStatement, Prepared, Result
from headwater.coordinator.rows import complete_rows, target_columns, writable, write_rows
from headwater.coordinator.tables import check_written_size, inserted, written_size
from headwater.core.errors import UserError
from headwater.core.relation import Column, shown_in
from headwater.core.types import SqlType
from headwater.formats.copy import CopyOptions as TextOptions
from headwater.formats.copy import CopyReader
from headwater.formats.text import from_text
from headwater.sql.copy_options import CopyOptions
from headwater.sql.cursor import Name, SqlText, quote_identifier
from headwater.sql.statements.copy_from import CopyFrom
from headwater.sql.statements.copy_to import CopyTo
from headwater.sql.statements.select import Select

if TYPE_CHECKING:
    from headwater.coordinator.session import SqlSession


def _inner(session: SqlSession, statement: CopyTo) -> object:
    """The statement whose rows are copied."""
    if not isinstance(statement.source, Name):
        return statement.source
    columns = ", ".join(quote_identifier(name) for name in statement.columns) or "*"
    return Select(SqlText(f"SELECT {columns} FROM {statement.source}"))


def describe_to(
    session: SqlSession, parsed: ParsedStatement, parameter_types: tuple[SqlType | None, ...]
) -> Prepared:
    """The columns of what is copied; the client sees none."""
    if not isinstance(parsed.statement, CopyTo):
        raise UserError("COPY needs a table or query", "42601")
    inner = session.describe(
        ParsedStatement(_inner(session, parsed.statement), parsed.text, parsed.offset),
        parameter_types,
    )
    return Prepared(parsed, inner.parameters, None, inner)


async def run_to(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    """Run the inner statement and mark its rows for COPY."""
    statement, inner = prepared.parsed.statement, prepared.plan
    if not isinstance(statement, CopyTo) or not isinstance(inner, Prepared):
        raise UserError("COPY needs a table or query", "42601")
    result = await session.run(inner, arguments)
    options = statement.options
    csv = options.format == "csv"
    result.copy_out = CopyOut(
        options.format,  # type: ignore[arg-type]
        options.delimiter or ("," if csv else "\t"),
        options.null if options.null is not None else ("" if csv else "\\N"),
        bool(options.header),
    )
    result.tag = lambda rows: f"COPY {rows}"
    return result


async def run_from(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    """Ask the client for data and write it as one INSERT."""
    statement = prepared.parsed.statement
    if not isinstance(statement, CopyFrom):
        raise UserError("COPY needs a table", "42601")
    session.enter("write")
    item = writable(session, statement.table)
    columns = target_columns(item, statement.columns)
    sink = _Sink(session, item, columns, statement.options)
    result = Result(lambda rows: f"COPY {rows}")
    result.copy_in = CopyIn(statement.options.format, columns, sink)  # type: ignore[arg-type]
    return result


class _Sink:
    """Turns what the client sends into rows as it comes, and writes them as one INSERT."""

    def __init__(
        self, session: SqlSession, item: Item, columns: tuple[Column, ...], options: CopyOptions
    ) -> None:
        self._session = session
        self._item = item
        self._columns = columns
        self._types = [column.type for column in shown_in(columns, session.zone)]
        csv = options.format == "csv"
        self._reader = CopyReader(
            options.format,  # type: ignore[arg-type]
            TextOptions(
                delimiter=options.delimiter or ("," if csv else "\t"),
                null=options.null if options.null is not None else ("" if csv else "\\N"),
                header=bool(options.header),
                quote=options.quote or '"',
                escape=options.escape or options.quote or '"',
            ),
            columns,
            item.name,
        )
        self._tables: list[pa.Table] = []
        self._size = 0
        self._csv = csv
        self._line_count = 1 if options.header else 0

    async def write(self, data: bytes) -> None:
        self._add(self._reader.write(data))

    def _add(self, texts: pa.RecordBatch | None) -> None:
        if texts is not None and texts.num_rows:
            try:
                arrays = [from_text(texts.column(i), type_) for i, type_ in enumerate(self._types)]
            except UserError:
                raise self._first_error(texts) from None
            self._tables.append(pa.table(arrays, names=[column.name for column in self._columns]))
            size = written_size(self._tables[-1])
            self._size += size
            self._session.collected.add(size)
            check_written_size(self._size, self._item.name)
            self._line_count += self._lines(texts)

    def _lines(self, texts: pa.RecordBatch) -> int:
        """Lines that rows take; those inside of quotes count, as they do in PostgreSQL."""
        count = int(texts.num_rows)
        for column in texts.columns if self._csv else ():
            count += int(pc.sum(pc.count_substring(column, "\n")).as_py() or 0)
        return count

    def _first_error(self, texts: pa.RecordBatch) -> UserError:
        """The error of the first row that has one, and where that row is."""
        first, error = texts.num_rows, UserError("a value could not be converted", "22P02")
        for i, column in enumerate(self._columns):
            low, high = 0, first
            while low < high:  # rows before `low` are good; the first bad one is before `high`, if any
                middle = (low + high) // 2
                try:
                    from_text(texts.column(i).slice(low, middle - low + 1), self._types[i])
                    low = middle + 1
                except UserError as found:
                    high, error = middle, found
                    error.context = f'column {column.name}: "{texts.column(i)[middle].as_py()}"'
            first = high
        line = self._line_count + self._lines(texts.slice(0, first + 1))
        error.context = f"COPY {self._item.name}, line {line}, {error.context}"
        return error

    async def finish(self) -> str:
        self._add(self._reader.finish())
        if not self._tables:
            return "COPY 0"
        given = pa.concat_tables(self._tables)
        rows = await complete_rows(self._session, self._item, self._columns, given)
        await write_rows(self._session, self._item, inserted(rows))
        return f"COPY {rows.num_rows}"

    async def abort(self, reason: str) -> None:
        self._tables.clear()
