"""Messages become changes of a table: by its formats and its envelope, a batch at a time.

    none        every message whose value is not null is a row
    upsert      the last value of a key is its row; null takes it away
    debezium    the same, of what was `after`; what else is in the message is not looked at

A message that cannot be decoded is, without an envelope, the end of its table at that place.  With a key it
is a row with a flaw, which goes when the key gets another message:

    key     value   row
    null    any     key columns NULL; one key, gone with a message whose key and value are null
    bad     any     key columns NULL; told from others by the bytes of the key
    good    bad     the key, NULL in all other columns

A key of bytes that mean null, a branch of a union of Avro, is a good key: its column is NULL.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core import flaws
from headwater.core.change import DELETE, INSERT, Received
from headwater.core.errors import DefiniteError, UserError
from headwater.decode.contract import Decoded, Decoder
from headwater.decode.formats import FORMATS
from headwater.formats.arrow import arrow_type, read_schema
from headwater.sources.contract import Answers, Export, Secrets
from headwater.sources.kafka.consume import Messages, place_of
from headwater.sources.kafka.headers import Headers
from headwater.sources.kafka.registry import Registry
from headwater.sources.kafka.schemas import PinnedFormat, avro_text
from headwater.sources.kafka.shape import DEBEZIUM, NONE
from headwater.sources.kafka.unforeseen import Careful

_SHOWN_BYTES_MAX: Final = 256
NULL_KEY: Final = (
    "Envelope error: Upsert: Null key: record with NULL key in UPSERT source; to retract this error, produce"
    " a record upstream with a NULL key and NULL value"
)
_NO_VALUE: Final = "no value"
_OTHER_HEADERS: Final = "that leaves HEADER out (HEADERS takes whatever is there)"
_OTHER_FORMAT: Final = "with another FORMAT"
_NEWEST_SCHEMA: Final = "anew, which takes the newest schema of the registry, or one with another FORMAT"
_NULL_KEY: Final = pa.scalar(b"", pa.binary())


@dataclass(frozen=True, slots=True)
class Part:
    """A message's key or value, decoded; what is missing or bad is NULL throughout."""

    raw: pa.Array
    decoded: Decoded

    def bad(self) -> list[int]:
        """Where it could not be decoded."""
        errors = self.decoded.errors
        return [] if errors is None else np.flatnonzero(_flags(errors.is_valid())).tolist()


def _flags(array: pa.Array) -> np.ndarray[Any, Any]:
    flags: np.ndarray[Any, Any] = array.to_numpy(zero_copy_only=False)
    return flags


def decoder_of(pinned: PinnedFormat, export: Export, secrets: Secrets, answers: Answers) -> Careful:
    """Of a part; schemas that a message names are asked of the registry, once."""

    def schema_of(id_: int) -> str:
        if id_ == pinned.schema_id:
            return str(pinned.details["schema"])
        registry = Registry(dict(export.options)["registries"][pinned.registry], secrets, answers)
        schema = registry.by_id(id_)
        if schema.type != "AVRO":
            raise UserError(f"it is of the type {schema.type}", "22023")
        return avro_text(registry, schema)

    return Careful(FORMATS[pinned.format].decoder(pinned.details, schema_of), pinned)


class Rows:
    """Makes the changes of one table; `answers` are those of its source."""

    def __init__(self, export: Export, secrets: Secrets, answers: Answers) -> None:
        kept: Mapping[str, Any] = export.pinned.reference
        self.export = export
        self._envelope: str = kept["envelope"]
        self._inline: bool = kept["inline"]
        self._origins: list[list[Any]] = [list(origin) for origin in export.pinned.columns]
        key, value = (
            None if kept[part] is None else PinnedFormat.from_json(kept[part]) for part in ("key", "value")
        )
        wants_key = self._envelope != NONE or any(origin[0] in ("key", "whole") for origin in self._origins)
        self._key = decoder_of(key, export, secrets, answers) if key is not None and wants_key else None
        self._value = decoder_of(value, export, secrets, answers) if value is not None else None
        self._value_columns = () if value is None else value.columns
        self._key_columns = () if key is None else key.columns
        self._registered = any(part is not None and part.registry is not None for part in (key, value))
        self._schema = read_schema(export.kept, flawed=True)

    def made_of(
        self, found: Messages, sequence: pa.Array
    ) -> tuple[pa.RecordBatch | None, DefiniteError | None, Received]:
        """The changes, the error that ends the table, and what they were made of."""
        batch, error = self._made_of(found, sequence)
        defects: tuple[str, ...] = ()
        for decoder in (self._key, self._value):
            if decoder is not None:
                defects += tuple(decoder.defects)
                decoder.defects.clear()
        return batch, error, Received(len(found), found.bytes, defects)

    def _made_of(
        self, found: Messages, sequence: pa.Array
    ) -> tuple[pa.RecordBatch | None, DefiniteError | None]:
        values, keys = found.values, found.keys
        if self._envelope == NONE and self._value is not None:
            kept = _flags(values.is_valid())
            if not kept.all():
                places = np.flatnonzero(kept).tolist()
                found = found.take(places)
                taken = pa.array(places, pa.int64())
                values, keys, sequence = values.take(taken), keys.take(taken), sequence.take(taken)
        if not len(found):
            return None, None
        key = None if self._key is None else Part(keys, _apply(self._key, keys, self._key_columns))
        value = (
            None if self._value is None else Part(values, _apply(self._value, values, self._value_columns))
        )
        headers = Headers(found)
        columns = [
            self._column(origin, place, found, key, value, keys, values, headers)
            for place, origin in enumerate(self._origins)
        ]
        if self._envelope == NONE:
            error = self._ends(found, [part for part in (key, value) if part is not None], headers)
            if error is not None:
                return None, error
            ops = pa.repeat(pa.scalar(INSERT), len(found))
            flawed = pa.nulls(len(found), pa.string())
        else:
            ops, flawed = self._changes(found, keys, values, key, value, headers)
        hidden = self._hidden(found, keys, key)
        batch = pa.RecordBatch.from_arrays([*columns, *hidden, flawed, ops, sequence], schema=self._schema)
        return batch, None

    # Columns

    def _column(
        self,
        origin: list[Any],
        place: int,
        found: Messages,
        key: Part | None,
        value: Part | None,
        keys: pa.Array,
        values: pa.Array,
        headers: Headers,
    ) -> pa.Array:
        wanted = arrow_type(self.export.relation.columns[place].type)
        match origin:
            case ["key", number] if key is not None:
                return key.decoded.columns[number]
            case ["whole", "key"] if key is not None:
                names = [column.name for column in self._key_columns]
                return pa.StructArray.from_arrays(list(key.decoded.columns), names).cast(wanted)
            case ["value", number] if value is not None:
                return self._of_value(number, value)
            case ["bytes", part]:
                return keys if part == "key" else values
            case ["error"] if value is not None:
                return _described(value, wanted)
            case ["partition"]:
                return found.partitions
            case ["offset"]:
                return found.offsets.cast(wanted)
            case ["timestamp"]:
                return found.times.cast(wanted)
            case ["headers"]:
                return headers.all().cast(wanted)
            case ["header", name, binary]:
                return headers.column(name, binary)
        raise ValueError(f"a column that comes from {origin}")

    def _of_value(self, number: int, value: Part) -> pa.Array:
        if self._envelope != DEBEZIUM:
            return value.decoded.columns[number]
        place = next(i for i, column in enumerate(self._value_columns) if column.name == "after")
        after = value.decoded.columns[place]
        return pc.struct_field(after, [number])

    def _hidden(self, found: Messages, keys: pa.Array, key: Part | None) -> list[pa.Array]:
        """What tells keys apart that have no columns: those that could not be decoded, and null."""
        if len(self.export.kept.columns) == len(self.export.relation.columns):
            return []
        if key is None:
            return [pa.nulls(len(found), pa.binary())]
        bad = key.bad()
        odd = pc.if_else(keys.is_null(), _NULL_KEY, pa.scalar(None, pa.binary()))
        if not bad:
            return [odd]
        told = np.full(len(found), None, object)
        told[bad] = [_odd_key(raw) for raw in keys.take(pa.array(bad)).to_pylist()]
        return [pc.coalesce(pa.array(told, pa.binary()), odd)]

    # What goes wrong

    def _ends(self, found: Messages, parts: list[Part], headers: Headers) -> DefiniteError | None:
        """The first message that cannot be a row, without an envelope."""
        places: dict[int, str] = {}
        for part in parts:
            for place in part.bad():
                places.setdefault(place, _decode_error(part, place))
        for place, why in headers.missing.items():
            places.setdefault(place, why)
        if not places:
            return None
        first = min(places, key=lambda place: _where(found, place))
        other = _NEWEST_SCHEMA if self._registered else _OTHER_FORMAT
        other = _OTHER_HEADERS if places[first] == headers.missing.get(first) else other
        partition, offset = _where(found, first)
        return DefiniteError(
            ".".join(self.export.reference),
            f"{partition}:{offset}",
            f"{places[first]} (partition {partition}, offset {offset})",
            hint=f"Create a table {other}, or with ENVELOPE UPSERT, where a later message of the key heals"
            " it.",
        )

    def _changes(
        self,
        found: Messages,
        keys: pa.Array,
        values: pa.Array,
        key: Part | None,
        value: Part | None,
        headers: Headers,
    ) -> tuple[pa.Array, pa.Array]:
        """What each message does to its key, and what is wrong with the row."""
        gone = _flags(values.is_null())
        if self._envelope == DEBEZIUM and value is not None:
            place = next(i for i, column in enumerate(self._value_columns) if column.name == "after")
            errors = value.decoded.errors
            bad = np.zeros(len(found), bool) if errors is None else _flags(errors.is_valid())
            after = _flags(value.decoded.columns[place].is_null()) & ~bad
            # Without a key it is of no row: that a whole table was emptied, for instance.
            gone = gone | (after if keys is None else after & _flags(keys.is_valid()))
        ops = pc.if_else(pa.array(gone), pa.scalar(DELETE), pa.scalar(INSERT))
        told: dict[int, str] = {}
        for place, why in headers.missing.items():
            told[place] = why
        if value is not None and not self._inline:
            for place in value.bad():
                why = f"Envelope error: Upsert: Value error: {_decode_error(value, place)}"
                told[place] = f"{why}, decoded key: {_shown_key(key, place)}"
        if key is not None:
            for place in key.bad():
                told[place] = f"Envelope error: Upsert: Key decode: {_decode_error(key, place)}"
            for place in np.flatnonzero(_flags(keys.is_null())).tolist():
                told[place] = NULL_KEY
        flawed: list[str | None] = [None] * len(found) if told else []
        for place, why in told.items():
            if not gone[place]:
                partition, offset = _where(found, place)
                raw = values[place].as_py()
                flaw = flaws.Flaw(_shown(raw) if raw is not None else _NO_VALUE, why)
                flawed[place] = flaws.to_text(flaws.Flaws({"": flaw}, f"{partition}:{offset}"))
        return ops, pa.array(flawed, pa.string()) if told else pa.nulls(len(found), pa.string())


def _apply(decoder: Decoder, raw: pa.Array, columns: tuple[Any, ...]) -> Decoded:
    """Of all that is not NULL; where it is, all columns are."""
    if raw.null_count == 0:
        return decoder(raw)
    there = _flags(raw.is_valid())
    made = decoder(raw.filter(pa.array(there)))
    places = pa.array(np.cumsum(there) - 1, mask=~there)
    return Decoded(
        tuple(column.take(places) for column in made.columns),
        None if made.errors is None else made.errors.take(places),
    )


def _odd_key(raw: bytes) -> bytes:
    """A key that could not be decoded: its bytes, and never none, which stands for the key that is null."""
    return raw if raw.strip(b"\0") else raw + b"\0"


def _where(found: Messages, place: int) -> tuple[int, int]:
    return place_of(found.found[place])


def _decode_error(part: Part, place: int) -> str:
    raw = part.raw[place].as_py()
    reason = "" if part.decoded.errors is None else part.decoded.errors[place].as_py()
    return f"Decode error: {reason} ({_shown(raw)})"


def _shown(raw: bytes) -> str:
    cut = raw[:_SHOWN_BYTES_MAX]
    more = "..." if len(raw) > len(cut) else ""
    return f"original text: {cut.decode(errors='replace')}{more}, original bytes: {cut.hex()}{more}".replace(
        "\x00", "\ufffd"
    )


def _shown_key(key: Part | None, place: int) -> str:
    if key is None:
        return "none"
    values = [column[place].as_py() for column in key.decoded.columns]
    return json.dumps(values[0] if len(values) == 1 else values, default=str, ensure_ascii=False)


def _described(value: Part, wanted: pa.DataType) -> pa.Array:
    """The record of INLINE: NULL where the value could be decoded."""
    texts: list[Any] = [None] * len(value.raw)
    for place in value.bad():
        texts[place] = {"description": _decode_error(value, place)}
    return pa.array(texts, wanted)
