"""Which type a written name means, with its modifiers checked.

Not here: reading the name (parse_type.py).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from headwater.core.errors import UserError, not_supported
from headwater.core.types import (
    FACTS,
    NUMERIC_DIGITS_MAX,
    SqlType,
    array_of,
    format_type,
    kind_of_name,
    list_of,
    map_of,
)
from headwater.sql.select.syntax import TypeName
from headwater.sql.select.words import word_set

_SCHEMAS: Final = ("pg_catalog", "mz_catalog")
_UNKNOWN_TO_US: Final = word_set(
    """bit varbit box cidr circle inet int4range int8range line lseg macaddr macaddr8 money numrange path
    pg_lsn point polygon time_with_time_zone timetz tsquery tsrange tstzrange tsvector txid_snapshot xml
    daterange int4multirange"""
)
_LENGTH_MAX: Final = 10_485_760
_NO_MODIFIERS: Final = frozenset(FACTS) - {"numeric", "char", "varchar", "time", "timestamp", "timestamptz"}


def resolve_type(name: TypeName) -> SqlType:
    """The type behind a name; 42704 when there is none, 0A000 when it is one we do not have."""
    base = map_of(resolve_type(name.element)) if name.element is not None else _base(name)
    for _ in range(name.lists):
        base = list_of(base)
    if name.dimensions:
        base = array_of(base)
    return base


def _base(name: TypeName) -> SqlType:
    position = name.at + 1
    if len(name.parts) > 1 and name.parts[-2] not in _SCHEMAS:
        raise UserError(f'type "{".".join(name.parts)}" does not exist', "42704", position=position)
    word = name.parts[-1]
    # In quotes or with a schema the names are those of pg_type, where "char" is the one-byte type.
    as_written = len(name.parts) > 1 or name.quoted
    if as_written and word == "char":
        return SqlType('"char"')
    if word.startswith("_") and (kind := kind_of_name(word[1:])) is not None:
        return array_of(SqlType(kind))
    if word in _UNKNOWN_TO_US:
        raise not_supported(f"type {word}", position=position)
    kind = kind_of_name(word)
    if kind is None or kind in ("array", "list", "map", "record", "void"):
        raise UserError(f'type "{".".join(name.parts)}" does not exist', "42704", position=position)
    return _modified(kind, name, bare_char=kind == "char" and word in ("char", "character"))


def _modified(kind: str, name: TypeName, bare_char: bool) -> SqlType:
    modifiers, position = name.modifiers, name.at + 1
    if kind in ("char", "varchar"):
        if len(modifiers) > 1:
            raise UserError("invalid type modifier", "22023", position=position)
        length = modifiers[0] if modifiers else (1 if bare_char else None)
        if length is not None and not 1 <= length <= _LENGTH_MAX:
            low = length < 1
            bound = "at least 1" if low else f"no more than {_LENGTH_MAX}"
            raise UserError(f"length for type {name.parts[-1]} must be {bound}", "22023", position=position)
        return SqlType(kind, length=length)
    if kind == "numeric":
        return _numeric(modifiers, position)
    if kind in ("time", "timestamp", "timestamptz"):
        precision = modifiers[0] if modifiers else None
        if precision is not None and not 0 <= precision <= 6:
            raise UserError(f"precision for type {kind} must be between 0 and 6", "22023", position=position)
        return SqlType(kind, scale=precision)
    if kind == "float8" and name.parts[-1] == "float" and modifiers:
        if not 1 <= modifiers[0] <= 53:
            raise UserError(
                "precision for type float must be between 1 and 53 bits", "22023", position=position
            )
        return SqlType("float4" if modifiers[0] <= 24 else "float8")
    if modifiers and kind in _NO_MODIFIERS:
        raise UserError(
            f'type modifier is not allowed for type "{name.parts[-1]}"', "42601", position=position
        )
    return SqlType(kind)


def _numeric(modifiers: tuple[int, ...], position: int) -> SqlType:
    """The precision is checked and then forgotten; the scale is the type."""
    if not modifiers:
        return SqlType("numeric")
    precision, scale = modifiers[0], modifiers[1] if len(modifiers) > 1 else 0
    digits_max = NUMERIC_DIGITS_MAX + 1
    if len(modifiers) > 2 or not 1 <= precision <= digits_max:
        raise UserError(
            f"precision for type numeric must be between 1 and {digits_max}", "22023", position=position
        )
    if not 0 <= scale <= min(precision, NUMERIC_DIGITS_MAX):
        raise UserError(
            f"scale for type numeric must be between 0 and precision {precision}", "22023", position=position
        )
    return SqlType("numeric", scale=scale)


def type_name(type_: SqlType) -> str:
    """As errors name a type: without lengths, scales and precisions."""
    return format_type(_bare(type_))


def _bare(type_: SqlType) -> SqlType:
    if type_.element is not None:
        return replace(type_, element=_bare(type_.element))
    return replace(type_, scale=None, length=None, fields=())
