"""Kernels between text and the other types: one to print anything, one per type to read it.

Printing and reading themselves are `formats/text.py`; here they become kernels.
"""

from __future__ import annotations

import json
from typing import Final

import pyarrow as pa

from headwater.core.types import FACTS, RANGES, SqlType, array_of, in_zone, type_from_json
from headwater.formats.text import from_text, to_text
from headwater.formats.text_numbers import numeric_value
from headwater.sql.select.kernels.kernel import Kernel

# What a kernel that reads a kind answers; kinds that are text already need none.
READ_AS: Final[dict[str, str]] = {
    "bool": "bool",
    "int2": "int2",
    "int4": "int4",
    "int8": "int8",
    "uint2": "int4",
    "uint4": "int8",
    "uint8": "decimal(38,0)",
    "float4": "float4",
    "float8": "float8",
    "numeric": "text",
    "bytea": "bytea",
    "date": "date",
    "time": "int8",
    "timestamp": "timestamp",
    "timestamptz": "timestamptz",
    "interval": "interval",
    "uuid": "text",
    "json": "text",
    "jsonb": "text",
    "oid": "int8",
    "mz_timestamp": "int8",
    **dict.fromkeys(RANGES, "text"),
}
_TEXTS: Final = ("text", "varchar", "char", "name")


def _print(values: pa.Array, types: pa.Array) -> pa.Array:
    """The text of values of any type; the type comes as JSON, the same in every row."""
    if len(values) == 0:
        return pa.array([], pa.string())
    type_ = type_from_json(json.loads(types[0].as_py()))
    return to_text(values, type_)


def _reader(kind: str) -> Kernel:
    returns = READ_AS[kind]

    def run(texts: pa.Array) -> pa.Array:
        values = from_text(texts, SqlType(kind))
        return values.cast(pa.decimal128(38, 0)) if kind == "uint8" else values

    return Kernel(f"hw_text_to_{kind}", ("text",), returns, run)


def _read_numeric(texts: pa.Array) -> pa.Array:
    """An unconstrained numeric with the zeros it is written with."""
    read = from_text(texts, SqlType("numeric"))
    written = [
        canonical
        if canonical is None or canonical == text or canonical.endswith(("N", "y"))
        else _written(text)
        for text, canonical in zip(texts.to_pylist(), read.to_pylist(), strict=True)
    ]
    return pa.array(written, pa.string())


def _written(text: str) -> str:
    return format(numeric_value(text.strip()), "f")


def _array_reader(kind: str) -> Kernel:
    name = READ_AS.get(kind, "text")
    return Kernel(
        f"hw_text_to_{kind}_array",
        ("text",),
        f"array({name})",
        lambda texts: from_text(texts, array_of(SqlType(kind))),
    )


def _zone_reader(name: str, type_: SqlType, returns: str) -> Kernel:
    """As one of the above, with the zone whose clocks are meant, which is the same in every row."""

    def run(texts: pa.Array, zones: pa.Array) -> pa.Array:
        return from_text(texts, in_zone(type_, zones[0].as_py() if len(zones) else ""))

    return Kernel(f"hw_text_to_{name}_in_zone", ("text", "text"), returns, run)


_MOMENT_READERS: Final = tuple(
    reader
    for kind in ("timestamptz", "tstzrange")
    for reader in (
        _zone_reader(kind, SqlType(kind), READ_AS[kind]),
        _zone_reader(f"{kind}_array", array_of(SqlType(kind)), f"array({READ_AS[kind]})"),
    )
)

ARRAYS_READ: Final = tuple(
    kind
    for kind in (*READ_AS, *_TEXTS)
    if kind in FACTS and kind not in ("uint2", "uint4", "uint8", "interval")
)

KERNELS: Final[tuple[Kernel, ...]] = (
    Kernel("hw_to_text", ("any", "text"), "text", _print, raises=False),
    *(_reader(kind) for kind in READ_AS if kind != "numeric"),
    Kernel("hw_text_to_numeric", ("text",), "text", _read_numeric),
    *(_array_reader(kind) for kind in ARRAYS_READ),
    *_MOMENT_READERS,
)
