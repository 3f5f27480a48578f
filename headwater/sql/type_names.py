"""Type names: text to `SqlType` and back.

Accepted are PostgreSQL's and Materialize's spellings: `int`, `double precision`,
`timestamp(3) with time zone`, `varchar(10)`, `numeric(38,2)`, `pg_catalog.int4`,
`"char"`, `_int4`; and built from them `int[]`, `int list`, `map[text=>int]`.

Rendering gives the form of create_sql: `pg_catalog.int4`, `mz_catalog.uint8`.

`named_type` is also what the names in queries mean; they are read by the grammar of
queries (select/parse/type_name.py), whose names stand among expressions.

Not here: what a type is (core/types.py).
"""

from __future__ import annotations

from typing import Final

from headwater.core.errors import UserError, not_supported
from headwater.core.limits import TYPE_DEPTH_MAX
from headwater.core.types import (
    FACTS,
    INTERVAL,
    NUMERIC_DIGITS_MAX,
    SqlType,
    array_of,
    kind_of_name,
    list_of,
    map_of,
)
from headwater.sql.cursor import Cursor

TYPE_SCHEMAS: Final = ("pg_catalog", "mz_catalog")
Modifier = tuple[int, int]
"""A number in the parentheses after a name, and its position."""

_WITHOUT_NAME: Final = frozenset({"array", "list", "map", "record", "void"})
_BY_PG_NAME: Final = {
    facts.pg_name: kind for kind, facts in FACTS.items() if kind not in _WITHOUT_NAME
} | dict.fromkeys(FACTS["regproc"].aliases, "regproc")

NUMERIC_PRECISION_MAX: Final = NUMERIC_DIGITS_MAX + 1
LENGTH_MAX: Final = 10_485_760
FRACTION_DIGITS_MAX: Final = 6
_INTERVAL_FIELDS: Final = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")


def parse_type(cursor: Cursor, depth: int = 0) -> SqlType:
    """Take a type name."""
    if depth > TYPE_DEPTH_MAX:
        raise cursor.refusal("type is nested too deeply", "54001")
    mapped = cursor.at("MAP") and cursor.at_symbol("[", 1)
    type_ = _map(cursor, depth) if mapped else _scalar(cursor)
    while True:
        if cursor.accept_symbol("["):
            if not cursor.at_symbol("]"):
                cursor.integer()
            cursor.expect_symbol("]")
            # The dimensions of an array are not part of its type.
            type_ = type_ if type_.kind == "array" else array_of(type_)
        elif cursor.at("LIST"):
            depth += 1
            if depth > TYPE_DEPTH_MAX:
                raise cursor.refusal("type is nested too deeply", "54001")
            cursor.take()
            type_ = list_of(type_)
        else:
            return type_


def named_type(
    parts: tuple[str, ...], catalog_name: bool, modifiers: tuple[Modifier, ...], position: int
) -> SqlType:
    """The type of a name with its modifiers.

    With quotes or a schema a name is a `catalog_name`, one of pg_type: `"char"` is the
    one-byte type there, and `integer` is none.  42704 when there is no such type.
    """
    word = parts[-1]
    known = len(parts) == 1 or parts[-2] in TYPE_SCHEMAS
    kind = _BY_PG_NAME.get(word) if catalog_name else kind_of_name(word)
    element = _BY_PG_NAME.get(word[1:]) if word.startswith("_") else None
    if known and kind is not None and kind not in _WITHOUT_NAME:
        # `char` alone is one character long; `bpchar` alone is as long as it is.
        if not modifiers:
            return SqlType(kind, length=1 if word in ("char", "character") and kind == "char" else None)
        return _float(modifiers) if word == "float" else _modified(kind, modifiers, position)
    if known and element is not None and not modifiers:
        return array_of(SqlType(element))
    raise _unknown(".".join(parts), position)


def render_type(type_: SqlType) -> str:
    """The type as create_sql has it; `parse_type` reads it back."""
    if type_.element is not None:
        inner = render_type(type_.element)
        match type_.kind:
            case "array":
                return f"{inner}[]"
            case "list":
                return f"{inner} list"
            case "map":
                return f"map[pg_catalog.text=>{inner}]"
    if type_.kind == '"char"':
        return 'pg_catalog."char"'
    facts = FACTS[type_.kind]
    name = f"{facts.schema_name}.{facts.pg_name}"
    if type_.kind == "numeric" and type_.scale is not None:
        return f"{name}({NUMERIC_PRECISION_MAX}, {type_.scale})"
    modifier = type_.length if type_.length is not None else type_.scale
    return name if modifier is None else f"{name}({modifier})"


def _map(cursor: Cursor, depth: int) -> SqlType:
    cursor.expect("MAP")
    cursor.expect_symbol("[")
    position = cursor.error_position()
    key = parse_type(cursor, depth + 1)
    if key.kind != "text":
        raise UserError(f"map keys must be of type text, not {key}", "42704", position=position)
    cursor.expect_symbol("=>")
    element = parse_type(cursor, depth + 1)
    cursor.expect_symbol("]")
    return map_of(element)


def _scalar(cursor: Cursor) -> SqlType:
    token = cursor.peek()
    position = token.start + 1
    if token.kind == "word" and not cursor.at_symbol(".", 1):
        return _bare(cursor)
    name = cursor.name(parts_max=2)
    return _for_values(named_type(name.parts, True, _modifiers(cursor), position), position)


def _bare(cursor: Cursor) -> SqlType:
    """A type by a bare word, which may go on with further words."""
    position = cursor.peek().start + 1
    word = cursor.identifier()
    if word == "double" and cursor.accept("PRECISION"):
        word = "double precision"
    if word in ("char", "character") and cursor.accept("VARYING"):
        word = "varchar"
    if word == "interval" and any(map(cursor.at, _INTERVAL_FIELDS)):
        raise not_supported("an interval of some fields only as a type of columns", position=position)
    modifiers = _modifiers(cursor)
    if word in ("time", "timestamp"):
        if not cursor.accept("WITH", "TIME", "ZONE"):
            cursor.accept("WITHOUT", "TIME", "ZONE")
        elif word == "time":
            raise _unknown("time with time zone", position)
        else:
            word = "timestamptz"
    return _for_values(named_type((word,), False, modifiers, position), position)


def _for_values(type_: SqlType, position: int) -> SqlType:
    """Columns and parameters are of a type that is known."""
    if type_.kind == "unknown":
        raise _unknown("unknown", position)
    return type_


def _modifiers(cursor: Cursor) -> tuple[Modifier, ...]:
    """`(precision[, scale])` and the like."""

    def modifier() -> Modifier:
        position = cursor.error_position()
        return cursor.integer(), position

    return cursor.parenthesized(modifier) if cursor.at_symbol("(") else ()


def _modified(kind: str, modifiers: tuple[Modifier, ...], position: int) -> SqlType:
    """A kind with its modifiers, if it takes them."""
    name, meaning = FACTS[kind].name, FACTS[kind].modifier
    match meaning, modifiers:
        case "scale", ((precision, at),):
            _check(precision, f"precision for type {name}", 1, NUMERIC_PRECISION_MAX, at)
            return SqlType(kind, scale=0)
        case "scale", ((precision, at), (scale, scale_at)):
            # The precision is checked and then forgotten; the scale is the type.
            _check(precision, f"precision for type {name}", 1, NUMERIC_PRECISION_MAX, at)
            _check(scale, f"scale for type {name}", 0, precision, scale_at)
            return SqlType(kind, scale=scale)
        case "length", ((length, at),):
            _check(length, f"length for type {name}", 1, LENGTH_MAX, at)
            return SqlType(kind, length=length)
        case "precision", ((digits, at),):
            _check(digits, f"precision for type {name}", 0, FRACTION_DIGITS_MAX, at)
            return SqlType(kind, scale=digits)
        case "", ((digits, at),) if kind == INTERVAL.kind:
            _check(digits, f"precision for type {name}", 0, FRACTION_DIGITS_MAX, at)
            raise not_supported("a precision of interval columns", position=position)
    if meaning:
        raise UserError("invalid type modifier", "22023", position=position)
    shown = FACTS[kind].pg_name
    raise UserError(f'type modifier is not allowed for type "{shown}"', "42601", position=position)


def _float(modifiers: tuple[Modifier, ...]) -> SqlType:
    bits, position = modifiers[0]
    _check(bits, "precision for type float", 1, 53, position)
    return SqlType("float4" if bits <= 24 else "float8")


def _check(value: int, what: str, least: int, most: int, position: int) -> None:
    if not least <= value <= most:
        raise UserError(f"{what} must be between {least} and {most}", "22023", position=position)


def _unknown(name: str, position: int) -> UserError:
    return UserError(f'type "{name}" does not exist', "42704", position=position)
