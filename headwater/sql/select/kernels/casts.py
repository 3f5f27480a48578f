"""Kernels between text and the other types: one to print anything, one per type to read it.

Printing and reading themselves are `formats/text.py`; here they become kernels.
"""

from __future__ import annotations

import json
from typing import Final

import pyarrow as pa

from headwater.core.names import cut_name
from headwater.core.types import FACTS, TEXTS, UINT8, SqlType, array_of, in_zone, stored, type_from_json
from headwater.formats.columns import map_distinct
from headwater.formats.engine_types import duckdb_stored, duckdb_working
from headwater.formats.text import from_text, to_text
from headwater.formats.text_numbers import numeric_value
from headwater.sql.select.kernels.kernel import DECIMAL, VOCABULARY, Kernel, arrow_of, type_of

# What the vocabulary calls a stored form; it has none for uint8, whose digits a decimal holds.
_READ_FORMS: Final = {stored(type_of(name)): name for name in VOCABULARY} | {stored(UINT8): DECIMAL}

READ_AS: Final[dict[str, str]] = {
    kind: _READ_FORMS[facts.stored] for kind, facts in FACTS.items() if facts.readable and kind not in TEXTS
}
"""What a kernel that reads a kind answers; kinds that are text already need none."""


def _print(values: pa.Array, types: pa.Array) -> pa.Array:
    """The text of values of any type; the type comes as JSON, the same in every row."""
    if len(values) == 0:
        return pa.array([], pa.string())
    type_ = type_from_json(json.loads(types[0].as_py()))
    return to_text(values, type_)


def _cut_names(texts: pa.Array) -> pa.Array:
    return map_distinct(texts, cut_name, pa.string())


def _reader(kind: str) -> Kernel:
    returns = READ_AS[kind]
    form = arrow_of(returns)

    def run(texts: pa.Array) -> pa.Array:
        values = from_text(texts, SqlType(kind))
        return values.cast(form) if pa.types.is_decimal(form) else values

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
    for kind in READ_AS
    if FACTS[kind].moments
    for reader in (
        _zone_reader(kind, SqlType(kind), READ_AS[kind]),
        _zone_reader(f"{kind}_array", array_of(SqlType(kind)), f"array({READ_AS[kind]})"),
    )
)

ARRAYS_READ: Final = tuple(
    kind for kind in (*READ_AS, *TEXTS) if duckdb_working(SqlType(kind)) == duckdb_stored(SqlType(kind))
)

KERNELS: Final[tuple[Kernel, ...]] = (
    Kernel("hw_to_text", ("any", "text"), "text", _print, raises=False),
    *(_reader(kind) for kind in READ_AS if kind != "numeric"),
    Kernel("hw_text_to_name", ("text",), "text", _cut_names, raises=False),
    Kernel("hw_text_to_numeric", ("text",), "text", _read_numeric),
    *(_array_reader(kind) for kind in ARRAYS_READ),
    *_MOMENT_READERS,
)
