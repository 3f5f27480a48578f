"""Tables that get more columns: the newest schemas in place of those that they were made with.

    table as it was pinned + reference as its clauses come to now --> reference as the table goes on with it

What the table has must still be there, of the same type; and messages of the former schema must be readable
by the new one.  That the values are the same, too, is seen when the topic has been read again
(cluster/widening.py).  Keys are read as before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from headwater.core.errors import UserError
from headwater.core.relation import Column
from headwater.decode.avro_resolve import message_reader
from headwater.decode.avro_schema import parse_schema
from headwater.decode.protobuf_shape import message_of
from headwater.sources.contract import Export, Reference
from headwater.sources.kafka.schemas import PinnedFormat

_WITH_FIELDS: Final = ("avro", "protobuf")
_OF_KEYS: Final = ("key", "whole")
_ANOTHER: Final = "Create a second table from the source, and ALTER TABLE .. SWAP WITH it."


def grown(export: Export, reference: Reference, added: tuple[str, ...]) -> Reference:
    """The reference with these columns, and with all that the table has; UserError why not."""
    there = reference.relation.column_names()
    for name in added:
        if name not in there:
            raise _absent(export, reference, name)
        if name in export.columns:
            own = export.relation.columns[export.columns.index(name)].name
            raise UserError(f'the table has "{name}" already, as "{own}"', "42701")
    origins = [list(origin) for origin in reference.pinned.columns]
    for place, name in enumerate(export.columns):
        if name not in there:
            raise _changed(export, f'"{name}"', "The newest schema does not have it.")
        now = there.index(name)
        was = list(export.pinned.of_column(place))
        _check_same(export, place, reference.relation.columns[now], was, origins[now])
        origins[now] = was if was[0] in _OF_KEYS else origins[now]
    _check_keys(export, reference, added, origins)
    _check_readable(export, reference)
    kept = {**reference.pinned.reference, "key": export.pinned.reference["key"]}
    return replace(reference, pinned=replace(reference.pinned, columns=tuple(origins), reference=kept))


def _check_same(export: Export, place: int, column: Column, was: list[Any], now: list[Any]) -> None:
    own = export.relation.columns[place]
    # A place in the value may be another one; what is decided by its clauses is as it was.
    same = was[0] == now[0] and (was[0] in ("value", *_OF_KEYS) or was == now)
    if not same or own.type != column.type or (column.nullable and not own.nullable):
        raise _changed(export, f'"{column.name}"', "Its type, or whether it may be NULL, is another one.")


def _check_keys(
    export: Export, reference: Reference, added: tuple[str, ...], origins: list[list[Any]]
) -> None:
    names = reference.relation.column_names()
    of_key = [name for name, origin in zip(names, origins, strict=True) if origin[0] in _OF_KEYS]
    had = [name for place, name in enumerate(export.columns) if export.pinned.of_column(place)[0] in _OF_KEYS]
    if set(of_key) != set(had):
        wrong = next((name for name in added if name in of_key), None)
        what = "the key" if wrong is None else f'the key, with "{wrong}",'
        raise _changed(export, what, "Of the key no columns can be added.")


def _check_readable(export: Export, reference: Reference) -> None:
    """What was written by the former schema can be read by the new one."""
    was, now = export.pinned.reference["value"], reference.pinned.reference["value"]
    if was == now or was is None or now is None:
        return
    before, after = PinnedFormat.from_json(was), PinnedFormat.from_json(now)
    if before.format == "avro":
        _check_avro(export, before, after)
    elif before.format == "protobuf":
        _check_protobuf(export, before, after)


def _check_avro(export: Export, before: PinnedFormat, after: PinnedFormat) -> None:
    try:
        message_reader(parse_schema(before.details["schema"]), parse_schema(after.details["schema"]).top)
    except UserError as error:
        why = f"Messages of the former schema cannot be read by the newest one: {error.message}."
        raise _changed(export, "the schema", why) from None


def _check_protobuf(export: Export, before: PinnedFormat, after: PinnedFormat) -> None:
    first, second = message_of(before.details), message_of(after.details)
    if first.full_name != second.full_name:
        raise _changed(export, "the message", f"It was {first.full_name}, and is {second.full_name}.")
    numbers = {field.name: field.number for field in second.fields}
    for field in first.fields:
        if field.name in numbers and numbers[field.name] != field.number:
            raise _changed(export, f'"{field.name}"', "The field has another number.")


def _absent(export: Export, reference: Reference, name: str) -> UserError:
    value, topic = reference.pinned.reference["value"], export.reference[-1]
    format_ = "bytes" if value is None else value["format"]
    if format_ not in _WITH_FIELDS:
        return UserError(
            f'column "{name}" cannot be added: messages in {format_.upper()} have the columns that the'
            " statement says",
            "0A000",
            hint="partition, offset, timestamp and headers can be added; for other formats:"
            f" {_ANOTHER[0].lower()}{_ANOTHER[1:]}",
        )
    if value["registry"] is None:
        return UserError(
            f'column "{name}" does not exist in the schema of topic "{topic}", which the statement has',
            "42703",
            hint=_ANOTHER,
        )
    there = ", ".join(reference.relation.column_names())
    return UserError(
        f'column "{name}" does not exist in the newest schema of topic "{topic}"',
        "42703",
        hint=f"There are {there}; and partition, offset, timestamp and headers of each message.",
    )


def _changed(export: Export, what: str, why: str) -> UserError:
    return UserError(
        f"incompatible schema change: {what} of {'.'.join(export.reference)} is not what it was",
        "55000",
        detail=why,
        hint=_ANOTHER,
    )
