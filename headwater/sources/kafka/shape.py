"""What FORMAT, INCLUDE and ENVELOPE make of a topic: a table's columns, its key, and what is pinned.

    Encoding (as written) + schemas that a registry has now --> Reference: relation, discipline, pinned

Of every column is pinned where it comes from, of the reference as a whole how messages are read; rows.py
goes by that.  What a registry gets later changes nothing.

    ["key", 2]  ["value", 0]      a column that the format of the part makes, by its place
    ["whole", "key"]              all columns of the part as one record
    ["bytes", "value"]            the part as it is
    ["error"]                     why the value could not be decoded
    ["partition"] ["offset"] ["timestamp"] ["headers"] ["header", "k", false]

Not here: decoding (decode/), messages (consume.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from headwater.core.errors import UserError, not_supported
from headwater.core.export import ODD_KEYS, Pinned
from headwater.core.relation import Column, Relation
from headwater.core.types import BYTEA, INT4, TEXT, UINT8, SqlType, list_of
from headwater.decode.avro_schema import parse_schema
from headwater.decode.avro_types import columns_within
from headwater.decode.formats import COMPOSITE
from headwater.sources.contract import Options, Reference, Secrets
from headwater.sources.kafka.registry import Registry
from headwater.sources.kafka.schemas import PinnedFormat, pin_format, registered_key
from headwater.sql.encoding import Encoding, Envelope, Header, MessagePart

NONE, UPSERT, DEBEZIUM = "none", "upsert", "debezium"
_AFTER: Final = "after"
ERROR: Final = SqlType("record", fields=(("description", TEXT),))
HEADERS: Final = list_of(SqlType("record", fields=(("key", TEXT), ("value", BYTEA))))
_PARTS: Final[Mapping[str, Column]] = {
    "partition": Column("partition", INT4, False),
    "offset": Column("offset", UINT8, False),
    "timestamp": Column("timestamp", SqlType("timestamp"), True),
    "headers": Column("headers", HEADERS, False),
}

Registries = Mapping[str, tuple[str, Options]]
"""By the full name of a connection: its id, and its options."""


@dataclass(frozen=True, slots=True)
class _Placed:
    """A column of the table, and where it comes from."""

    column: Column
    origin: list[Any]


def encoded(secrets: Secrets, reference: Reference, encoding: Encoding, registries: Registries) -> Reference:
    """The reference as a table takes it; asks the registries that the formats name."""
    envelope = encoding.envelope or Envelope("none")
    _check(encoding, envelope)
    known = {name: (id_, Registry(options, secrets)) for name, (id_, options) in registries.items()}
    value = pin_format(encoding.value_format, reference.name, "value", known)
    key = pin_format(encoding.key_format, reference.name, "key", known)
    if encoding.key_format is None and envelope.type in (UPSERT, DEBEZIUM):
        key = registered_key(encoding.value_format, reference.name, known)
    keyed = envelope.type != NONE
    if key is None and value is not None and _includes_key(encoding):
        raise UserError(
            "INCLUDE KEY requires specifying KEY FORMAT .. VALUE FORMAT, got bare FORMAT",
            "22023",
            hint="Write KEY FORMAT .. VALUE FORMAT ..",
        )
    if keyed and key is None:
        raise _no_key(envelope.type)
    columns = _columns(encoding, envelope, key, value)
    names = [placed.column.name for placed in columns]
    unique = tuple(place for place, placed in enumerate(columns) if keyed and placed.origin[:1] == ["key"])
    whole = tuple(
        place for place, placed in enumerate(columns) if keyed and placed.origin == ["whole", "key"]
    )
    pinned = {
        **reference.pinned.reference,
        "topic": reference.name,
        "envelope": envelope.type,
        "key": None if key is None else key.to_json(),
        "value": None if value is None else value.to_json(),
        "inline": envelope.inline_errors is not None,
    }
    relation = Relation(tuple(placed.column for placed in columns), ((whole or unique),) if keyed else ())
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UserError(
            f'column "{twice}" specified more than once',
            "42701",
            hint="Give the key, or what INCLUDE adds, another name with AS: INCLUDE KEY AS ..",
        )
    return replace(
        reference,
        relation=relation,
        discipline="keyed" if keyed else "appended",
        pinned=Pinned(tuple(placed.origin for placed in columns), pinned),
        export_options=ODD_KEYS if keyed and key is not None and key.format != "bytes" else (),
    )


def _no_key(envelope: str) -> UserError:
    if envelope == DEBEZIUM:
        return UserError("Key schema is required for ENVELOPE DEBEZIUM", "22023")
    return UserError(
        "ENVELOPE [DEBEZIUM] UPSERT requires that KEY FORMAT be specified",
        "22023",
        hint="Write KEY FORMAT .. VALUE FORMAT ..",
    )


def _includes_key(encoding: Encoding) -> bool:
    return any(isinstance(part, MessagePart) and part.part == "key" for part in encoding.include)


def _check(encoding: Encoding, envelope: Envelope) -> None:
    if envelope.type == "materialize":
        raise not_supported("ENVELOPE MATERIALIZE")
    if _includes_key(encoding) and envelope.type == DEBEZIUM:
        raise UserError(
            "Cannot use INCLUDE KEY with ENVELOPE DEBEZIUM: Debezium values include all keys.", "22023"
        )
    if envelope.type == DEBEZIUM and encoding.value_format_name != "avro":
        raise UserError("ENVELOPE DEBEZIUM requires that VALUE FORMAT is set to AVRO", "22023")
    if encoding.value_format_name == "json" and getattr(encoding.value_format, "array", False):
        raise not_supported("JSON ARRAY format in sources")


def _columns(
    encoding: Encoding, envelope: Envelope, key: PinnedFormat | None, value: PinnedFormat | None
) -> list[_Placed]:
    made: list[_Placed] = []
    asked = next((p for p in encoding.include if isinstance(p, MessagePart) and p.part == "key"), None)
    if envelope.type == DEBEZIUM and key is not None and value is not None:
        made += _of_debezium(key, value)
    elif value is None:
        made += [_Placed(Column(part, BYTEA), ["bytes", part]) for part in ("key", "value")]
    else:
        if key is not None and (asked is not None or envelope.type == UPSERT):
            of_key = _of_key(key, None if asked is None else asked.alias)
            # A null key is an error where there are keys, and a value like others where there are none.
            made += of_key if envelope.type == UPSERT else map(_nullable, of_key)
        lenient = envelope.inline_errors is not None
        if envelope.inline_errors is not None:
            made.append(_Placed(Column(envelope.inline_errors.alias or "error", ERROR), ["error"]))
        made += [
            _Placed(replace(column, nullable=column.nullable or lenient), ["value", place])
            for place, column in enumerate(value.columns)
        ]
    return [*made, *_metadata(encoding)]


def _nullable(placed: _Placed) -> _Placed:
    return replace(placed, column=replace(placed.column, nullable=True))


def _of_key(key: PinnedFormat, alias: str | None) -> list[_Placed]:
    columns = key.columns
    if key.format not in COMPOSITE:
        name = alias or "key"
        return [_Placed(replace(columns[0], name=name), ["key", 0])]
    if alias is None:
        return [_Placed(column, ["key", place]) for place, column in enumerate(columns)]
    if len(columns) == 1:
        return [_Placed(replace(columns[0], name=alias), ["key", 0])]
    whole = SqlType("record", fields=tuple((column.name, column.type) for column in columns))
    return [_Placed(Column(alias, whole, False), ["whole", "key"])]


def _of_debezium(key: PinnedFormat, value: PinnedFormat) -> list[_Placed]:
    """The columns of `after`; those of the key are taken from the key, which is there for deletes too."""
    after = next((column for column in value.columns if column.name == _AFTER), None)
    if after is None or after.type.kind != "record":
        raise UserError("'after' column missing from debezium input", "22023")
    within = columns_within(parse_schema(value.details["schema"]), _AFTER)
    names = [column.name for column in within]
    keys = {column.name: place for place, column in enumerate(key.columns)}
    for name in keys:
        if name not in names:
            raise UserError(f"Value schema missing primary key column: {name}", "22023")
    return [
        _Placed(replace(key.columns[keys[name]], name=name), ["key", keys[name]])
        if (name := column.name) in keys
        else _Placed(column, ["value", place])
        for place, column in enumerate(within)
    ]


def _metadata(encoding: Encoding) -> list[_Placed]:
    made = []
    for part in encoding.include:
        if isinstance(part, Header):
            type_ = BYTEA if part.binary else TEXT
            made.append(_Placed(Column(part.alias, type_), ["header", part.key, part.binary]))
        elif part.part != "key":
            column = _PARTS[part.part]
            made.append(_Placed(replace(column, name=part.alias or column.name), [part.part]))
    return made
