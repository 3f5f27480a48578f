"""Avro's schema resolution: how messages of a writer's schema are read as what the reader's schema says.

It is decided once for each writer's schema, and gives a function that reads a column of all messages at a
time.  What a writer's schema has can be refused as a whole (a field without a default is missing: UserError),
or only where it occurs (a branch of a union that the reader does not have: a fault of these messages).

Of several branches of the reader's union that a value fits, the one of the very same type is taken, and
otherwise the first.  Not here: values that are no containers (avro_values.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.errors import UserError
from headwater.core.types import SqlType
from headwater.decode.avro_bytes import Cursor, Page, Places, spans
from headwater.decode.avro_defaults import encoded
from headwater.decode.avro_schema import NAMED, Document, Field, Schema
from headwater.decode.avro_skip import branch_numbers, finder, skipper
from headwater.decode.avro_types import branches, nullable, type_of
from headwater.decode.avro_values import Read, mismatch, texts, value_reader
from headwater.formats.arrow import arrow_type

Reads = Callable[[Cursor], tuple[list[pa.Array], Places]]
"""Columns of one field, or of all fields of a record, and the places behind."""

_NULL: Final = "null"


def message_reader(writer: Document, reader: Schema) -> Reads:
    """How to read messages; UserError if none of this writer's schema can be."""
    top = writer.meant(writer.top)
    if reader.kind != "record":
        return _one_column(_reader(writer, top, reader))
    if top.kind == "record":
        return _record_reads(writer, top, reader)
    read = _reader(writer, top, reader)

    def reads(cursor: Cursor) -> tuple[list[pa.Array], Places]:
        array, at = read(cursor)
        return array.flatten(), at

    return reads


def _one_column(read: Read) -> Reads:
    def reads(cursor: Cursor) -> tuple[list[pa.Array], Places]:
        array, at = read(cursor)
        return [array], at

    return reads


def _reader(document: Document, writer: Schema, reader: Schema) -> Read:
    """How to read a value as one column."""
    if "union" in (writer.kind, reader.kind):
        reads = _union_reads(document, writer, reader)

        def first(cursor: Cursor) -> tuple[pa.Array, Places]:
            (array,), at = reads(cursor)
            return array, at

        return first
    writer = document.meant(writer)
    if writer.kind != reader.kind or (reader.kind in NAMED and not _same_name(writer, reader)):
        if writer.kind in NAMED or reader.kind in NAMED:
            raise mismatch(writer, reader)
        return value_reader(writer, reader)
    match reader.kind:
        case "record":
            return _struct_reader(document, writer, reader)
        case "array":
            return _list_reader(document, writer, reader)
        case "map":
            return _map_reader(document, writer, reader)
    return value_reader(writer, reader)


def _same_name(writer: Schema, reader: Schema) -> bool:
    """Names without their namespaces, as the reader calls it now or called it once."""
    old = {alias.rpartition(".")[2] for alias in reader.aliases}
    return writer.short_name() == reader.short_name() or writer.short_name() in old


# Records


def _struct_reader(document: Document, writer: Schema, reader: Schema) -> Read:
    reads = _record_reads(document, writer, reader)
    fields = list(arrow_type(type_of(reader, reader.name)))

    def read(cursor: Cursor) -> tuple[pa.Array, Places]:
        arrays, at = reads(cursor)
        if not fields:
            return pa.StructArray.from_buffers(pa.struct([]), len(at), [None], children=[]), at
        return pa.StructArray.from_arrays(arrays, fields=fields), at

    return read


def _record_reads(document: Document, writer: Schema, reader: Schema) -> Reads:
    if not _same_name(writer, reader):
        raise mismatch(writer, reader)
    sent = {field.name for field in writer.fields}
    numbered = [(number, field) for number, field in enumerate(reader.fields) if field.name not in sent]
    by_name = {alias: number for number, field in numbered for alias in field.aliases}
    by_name |= {field.name: number for number, field in enumerate(reader.fields)}
    steps: list[tuple[str, int, Reads]] = []
    missing = set(range(len(reader.fields)))
    for field in writer.fields:
        number = by_name.get(field.name, -1)
        if number in missing:
            missing.remove(number)
            reads = _named(field.name, _field_reads, document, field.schema, reader.fields[number].schema)
        else:
            number, reads = -1, _skipping(document, field.schema)
        steps.append((field.name, number, reads))
    constants = {number: _constants(reader.fields[number]) for number in missing}

    def read(cursor: Cursor) -> tuple[list[pa.Array], Places]:
        found: dict[int, list[pa.Array]] = {}
        at = cursor.at
        for name, number, step in steps:
            found[number], at = step(cursor.moved(at, cursor.within(name)))
        for number, arrays in constants.items():
            found[number] = [array.take(pa.array(np.zeros(len(at), np.int32))) for array in arrays]
        return [array for number in range(len(reader.fields)) for array in found[number]], at

    return read


def _named(
    name: str,
    make: Callable[[Document, Schema, Schema], Reads],
    document: Document,
    writer: Schema,
    reader: Schema,
) -> Reads:
    try:
        return make(document, writer, reader)
    except UserError as error:
        raise UserError(f'field "{name}": {error}') from None


def _field_reads(document: Document, writer: Schema, reader: Schema) -> Reads:
    if "union" in (writer.kind, reader.kind):
        return _union_reads(document, writer, reader)
    return _one_column(_reader(document, writer, reader))


def _skipping(document: Document, writer: Schema) -> Reads:
    skip = skipper(document, writer)
    return lambda cursor: ([], skip(cursor))


def _constants(field: Field) -> list[pa.Array]:
    """A default as columns of one row: it is written, and read again."""
    if not field.defaulted:
        raise UserError(f'field "{field.name}" is missing, and has no default')
    document = Document(field.schema)
    reads = _field_reads(document, field.schema, field.schema)
    page, cursor = Page.of(pa.array([encoded(field.schema, field.default)], pa.binary()))
    arrays, at = reads(cursor)
    if page.faults or at[0] != cursor.end[0]:
        raise UserError(f'the default of field "{field.name}" is no value of its type')
    return arrays


# Unions


@dataclass(frozen=True, slots=True)
class _Way:
    """How a branch of the writer's union is read, and as which column; or why it cannot be."""

    read: Read | None = None
    column: int = 0
    why: str = ""


def _union_reads(document: Document, writer: Schema, reader: Schema) -> Reads:
    columns = branches(reader)
    if writer.kind != "union":
        way = _way(document, writer, reader)
        if way.why:
            raise UserError(way.why)
        ways = [way]
    else:
        ways = [_way(document, part, reader) for part in writer.parts]
        if all(way.why for way in ways):
            raise UserError(ways[0].why if ways else "a union has no types")
    types = [arrow_type(type_of(column, column.kind)) for column in columns]

    def read(cursor: Cursor) -> tuple[list[pa.Array], Places]:
        count = len(cursor.at)
        if writer.kind == "union":
            index, at = branch_numbers(cursor, len(ways))
        else:
            index, at = np.zeros(count, np.int64), cursor.at.copy()
        parts: list[list[tuple[Places, pa.Array]]] = [[] for _ in columns]
        for number, way in enumerate(ways):
            chosen = np.flatnonzero(index == number)
            if not len(chosen):
                continue
            some = cursor.moved(at) if len(chosen) == count else cursor.some(chosen, at)
            if way.why:
                some.fault(np.ones(len(chosen), np.bool_), way.why)
                at[chosen] = some.end
            elif way.read is not None:
                array, at[chosen] = way.read(some)
                parts[way.column].append((chosen, array))
        return [spread(count, part, type_) for part, type_ in zip(parts, types, strict=True)], at

    return read


def _way(document: Document, writer: Schema, reader: Schema) -> _Way:
    writer = document.meant(writer)
    if writer.kind == _NULL:
        takes_null = nullable(reader) or reader.kind == _NULL
        return _Way() if takes_null else _Way(why="null where the reader's schema has none")
    columns = branches(reader)
    first = ""
    for number in sorted(range(len(columns)), key=lambda number: _distance(writer, columns[number])):
        try:
            return _Way(_reader(document, writer, columns[number]), number)
        except UserError as error:
            first = first or str(error)
    return _Way(why=first if len(columns) == 1 else f"{writer} of the writer's schema is not in the union")


def _distance(writer: Schema, reader: Schema) -> int:
    """Branches of the same type come before others."""
    if writer.kind != reader.kind:
        return 3
    if writer.name == reader.name:
        return 0
    return 1 if writer.short_name() == reader.short_name() else 2


def spread(count: int, parts: list[tuple[Places, pa.Array]], type_: pa.DataType) -> pa.Array:
    """A column of so many rows of parts that have some of them each; NULL in all others."""
    if not parts:
        return pa.nulls(count, type_)
    if len(parts) == 1 and len(parts[0][0]) == count:
        return parts[0][1]
    index = np.full(count, -1, np.int64)
    begin = 0
    for rows, array in parts:
        index[rows] = np.arange(begin, begin + len(array))
        begin += len(array)
    values = pa.concat_arrays([array for _, array in parts]) if len(parts) > 1 else parts[0][1]
    return values.take(pa.array(index, mask=index < 0))


# Arrays and maps


def _list_reader(document: Document, writer: Schema, reader: Schema) -> Read:
    read = _reader(document, writer.parts[0], reader.parts[0])
    find = finder(document, writer)

    def read_lists(cursor: Cursor) -> tuple[pa.Array, Places]:
        owners, places, at = find(cursor)
        values, _ = read(_inside(cursor, owners, places, "[]"))
        return pa.ListArray.from_arrays(_offsets(owners, len(at)), values), at

    return read_lists


def _map_reader(document: Document, writer: Schema, reader: Schema) -> Read:
    read = _reader(document, writer.parts[0], reader.parts[0])
    find = finder(document, writer)
    type_ = arrow_type(SqlType("map", element=type_of(reader.parts[0], "map")))

    def read_maps(cursor: Cursor) -> tuple[pa.Array, Places]:
        owners, places, at = find(cursor)
        inside = _inside(cursor, owners, places, "{}")
        begin, end = spans(inside)
        keys = texts(inside, begin, end)
        values, _ = read(inside.moved(end))
        order = _key_order(owners, keys)
        if order is not None:
            owners, keys, values = owners[order], keys.take(pa.array(order)), values.take(pa.array(order))
        return pa.MapArray.from_arrays(_offsets(owners, len(at)), keys, values, type=type_), at

    return read_maps


def _inside(cursor: Cursor, owners: Places, places: Places, sign: str) -> Cursor:
    return Cursor(cursor.page, cursor.rows[owners], places, cursor.end[owners], cursor.place + sign)


def _offsets(owners: Places, count: int) -> pa.Array:
    """Where the elements of each array begin."""
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(np.bincount(owners, minlength=count), out=offsets[1:])
    return pa.array(offsets)


def _key_order(owners: Places, keys: pa.Array) -> Places | None:
    """Entries in the order of their keys, the last one of equals; None where they are.

    Equal maps have equal forms so, in whatever order a writer has put them.
    """
    if len(keys) < 2:
        return None
    same = owners[1:] == owners[:-1]
    rising = pc.less(keys.slice(0, len(keys) - 1), keys.slice(1)).to_numpy(zero_copy_only=False)
    if (rising | ~same).all():
        return None
    table = pa.table({"owner": pa.array(owners), "key": keys})
    by = [("owner", "ascending"), ("key", "ascending")]
    order: Places = pc.sort_indices(table, sort_keys=by).to_numpy().astype(np.int64)
    sorted_keys = keys.take(pa.array(order))
    repeated = pc.equal(sorted_keys.slice(0, len(keys) - 1), sorted_keys.slice(1))
    owned = owners[order]
    last = np.ones(len(order), np.bool_)
    last[:-1] = ~(repeated.to_numpy(zero_copy_only=False) & (owned[1:] == owned[:-1]))
    return order[last]
