"""Which type a name in a query means, and how errors call a type.

Not here: reading the name (parse/type_name.py), the names there are (sql/type_names.py).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from headwater.core.errors import UserError, not_supported
from headwater.core.limits import TYPE_DEPTH_MAX
from headwater.core.types import NUMERIC_DIGITS_MAX, SqlType, array_of, format_type, list_of, map_of
from headwater.sql.select.parse.syntax import TypeName
from headwater.sql.select.parse.words import word_set
from headwater.sql.type_names import FRACTION_DIGITS_MAX, TYPE_SCHEMAS, named_type

_UNKNOWN_TO_US: Final = word_set(
    """bit varbit box cidr circle inet line lseg macaddr macaddr8 money path
    pg_lsn point polygon time_with_time_zone timetz tsquery tsvector txid_snapshot xml
    int4multirange"""
)


def resolve_type(name: TypeName) -> SqlType:
    """The type behind a name; 42704 when there is none, 0A000 when it is one we do not have."""
    if name.lists > TYPE_DEPTH_MAX:
        raise UserError("type is nested too deeply", "54001", position=name.at + 1)
    base = map_of(resolve_type(name.element)) if name.element is not None else _base(name)
    holding = name if name.element is None else name.element
    if (name.lists or name.dimensions or name.element) and interval_limits(holding) is not None:
        raise not_supported(
            "an interval with fields or a precision inside another type", position=name.at + 1
        )
    for _ in range(name.lists):
        base = list_of(base)
    if name.dimensions:
        base = array_of(base)
    return base


def _base(name: TypeName) -> SqlType:
    position = name.at + 1
    schemas, word = name.parts[:-1], name.parts[-1]
    if word in _UNKNOWN_TO_US and all(schema in TYPE_SCHEMAS for schema in schemas[-1:]):
        raise not_supported(f"type {word}", position=position)
    modifiers = tuple((value, position) for value in name.modifiers if word != "interval")
    type_ = named_type(name.parts, bool(schemas) or name.quoted, modifiers, position)
    if type_.scale is not None and type_.scale > NUMERIC_DIGITS_MAX:  # more than the engines compute with
        message = f"scale for type numeric must be between 0 and {NUMERIC_DIGITS_MAX}"
        raise UserError(message, "22023", position=position)
    return type_


def interval_limits(name: TypeName) -> tuple[str, int] | None:
    """The fields of an interval type and the digits of its seconds; None when it has room for everything."""
    if name.parts[-1] != "interval" or (name.fields is None and not name.modifiers):
        return None
    digits = name.modifiers[0] if name.modifiers else FRACTION_DIGITS_MAX
    if not 0 <= digits <= FRACTION_DIGITS_MAX or len(name.modifiers) > 1:
        message = f"precision for type interval must be between 0 and {FRACTION_DIGITS_MAX}"
        raise UserError(message, "22023", position=name.at + 1)
    return name.fields or "second", digits


def type_name(type_: SqlType) -> str:
    """As errors name a type: without lengths, scales and precisions."""
    return format_type(_bare(type_))


def _bare(type_: SqlType) -> SqlType:
    if type_.element is not None:
        return replace(type_, element=_bare(type_.element))
    return replace(type_, scale=None, length=None, fields=())
