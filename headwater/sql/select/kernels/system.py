"""Kernels behind the functions that clients ask about the system."""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from headwater.core import pace
from headwater.core.errors import UserError
from headwater.core.types import FACTS, format_type, oid_of_name, type_of_oid
from headwater.formats.columns import map_distinct
from headwater.sql.select.kernels.kernel import Kernel, row_wise

_ENCODINGS: Final = {0: "SQL_ASCII", 6: "UTF8", 8: "LATIN1"}


def _type_name(oid: int | None, modifier: int | None) -> str | None:
    """format_type(): the name with its modifier, `???` for an unknown oid."""
    if oid is None:
        return None
    if oid == 0:
        return "-"
    type_ = type_of_oid(oid)
    if type_ is None:
        return "???"
    suffix = ""
    element = type_
    if type_.kind == "array" and type_.element is not None:
        element, suffix = type_.element, "[]"
    name = format_type(element)
    if modifier is None or modifier < 0:
        if modifier is not None and element.kind == "char":
            name = "bpchar"
        return name + suffix
    facts = FACTS[element.kind]
    match facts.modifier:
        case "length":
            name = f"{facts.name}({modifier - 4})"
        case "scale":
            name = f"{facts.name}({(modifier - 4) >> 16},{(modifier - 4) & 0xFFFF})"
        case "precision":
            first, _, rest = facts.name.partition(" ")
            name = f"{first}({modifier}) {rest}"
    return name + suffix


def _type_oids(names: pa.Array) -> pa.Array:
    return map_distinct(names, oid_of_name, pa.int64())


def _encoding_number(name: str) -> int:
    wanted = name.upper().replace("-", "").replace("_", "")
    for number, known in _ENCODINGS.items():
        if known.replace("_", "") == wanted:
            return number
    return -1


def _size_pretty(size: int) -> str:
    """Whole units, each used until it would show 10 times the next."""
    units = ("bytes", "kB", "MB", "GB", "TB", "PB")
    for index, unit in enumerate(units):
        limit = 10 * 1024 if index == 0 else 20 * 1024 - 1
        if abs(size) < limit or unit == "PB":
            if index:
                size = (size + (1 if size > 0 else -1)) // 2 if size >= 0 else -((-size + 1) // 2)
            return f"{size} {unit}"
        # Between units one bit is kept for rounding the last time.
        shift = 9 if index == 0 else 10
        size = size >> shift if size >= 0 else -(-size >> shift)
    return str(size)


def _parse_ident(text: str) -> list[str]:
    parts: list[str] = []
    rest = text.strip()
    while True:
        pace.look()
        found = re.match(
            r'\s*(?:"((?:[^"]|"")+)"|([A-Za-z_\u0080-\U0010ffff][A-Za-z0-9_$\u0080-\U0010ffff]*))\s*', rest
        )
        if found is None:
            raise UserError(f'string is not a valid identifier: "{text}"', "22023")
        quoted, plain = found.groups()
        parts.append(quoted.replace('""', '"') if quoted is not None else plain.lower())
        rest = rest[found.end() :]
        if not rest:
            return parts
        if not rest.startswith("."):
            raise UserError(f'string is not a valid identifier: "{text}"', "22023")
        rest = rest[1:]


_UNKNOWN: Final = {
    "relation": "42P01",
    "schema": "3F000",
    "database": "3D000",
    "role": "42704",
    "type": "42704",
}
_PRIVILEGES: Final = {
    "relation": ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"),
    "schema": ("CREATE", "USAGE"),
    "database": ("CREATE", "CONNECT", "TEMPORARY", "TEMP"),
    "role": ("USAGE", "MEMBER", "SET"),
}


def _known_object(oids: pa.Array, kinds: pa.Array, names: pa.Array) -> pa.Array:
    """The oids that were found for names."""
    place = pc.index(pc.and_(oids.is_null(), names.is_valid()), True).as_py()
    if place >= 0:
        kind = kinds[place].as_py()
        raise UserError(f'{kind} "{names[place].as_py()}" does not exist', _UNKNOWN[kind])
    return oids


def _known_privilege(kinds: pa.Array, names: pa.Array) -> pa.Array:
    """Whether all of these are privileges of a kind of objects; with anything else there is no answer."""
    asked = pa.table([kinds, names], ["kind", "names"]).drop_null().group_by(["kind", "names"]).aggregate([])
    for pair in asked.to_pylist():
        for name in pair["names"].split(","):
            word = re.sub(r" WITH (GRANT|ADMIN) OPTION$", "", name.strip().upper())
            if word not in _PRIVILEGES[pair["kind"]]:
                raise UserError(f'unrecognized privilege type: "{name.strip()}"', "22023")
    return names.is_valid()


KERNELS: Final[tuple[Kernel, ...]] = (
    Kernel("hw_known_object", ("int8", "text", "text"), "int8", _known_object),
    Kernel("hw_known_privilege", ("text", "text"), "bool", _known_privilege),
    row_wise("hw_format_type", ("int8", "int4"), "text", _type_name, strict=False, raises=False),
    Kernel("hw_type_oid", ("text",), "int8", _type_oids, raises=False),
    row_wise("hw_encoding_name", ("int4",), "text", lambda number: _ENCODINGS.get(number, ""), raises=False),
    row_wise("hw_encoding_number", ("text",), "int4", _encoding_number, raises=False),
    row_wise("hw_size_pretty", ("int8",), "text", _size_pretty, raises=False),
    row_wise("hw_parse_ident", ("text",), "text[]", _parse_ident),
)
