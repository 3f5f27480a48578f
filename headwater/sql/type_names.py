"""Type names: text to `SqlType` and back.

Accepted are PostgreSQL's and Materialize's spellings: `int`, `double precision`,
`timestamp(3) with time zone`, `varchar(10)`, `numeric(38,2)`, `pg_catalog.int4`,
`"char"`, `_int4`; and built from them `int[]`, `int list`, `map[text=>int]`.

Rendering gives the form of create_sql: `pg_catalog.int4`, `mz_catalog.uint8`.

Not here: what a type is (core/types.py).
"""

from __future__ import annotations

from typing import Final

from headwater.core.errors import UserError
from headwater.core.limits import TYPE_DEPTH_MAX
from headwater.core.types import FACTS, SqlType, array_of, kind_of_name, list_of, map_of
from headwater.sql.cursor import Cursor

_NOT_FOR_VALUES: Final = frozenset({"array", "list", "map", "record", "unknown", "void"})
_SCHEMAS: Final = ("pg_catalog", "mz_catalog")
_OWN_KINDS: Final = frozenset({"uint2", "uint4", "uint8", "mz_timestamp", "mz_aclitem"})
_BY_PG_NAME: Final = {facts.pg_name: kind for kind, facts in FACTS.items() if kind not in _NOT_FOR_VALUES} | {
    kind: kind for kind in _OWN_KINDS
}

NUMERIC_PRECISION_MAX: Final = 39
LENGTH_MAX: Final = 10_485_760
FRACTION_DIGITS_MAX: Final = 6


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
    schema = "mz_catalog" if type_.kind in _OWN_KINDS else "pg_catalog"
    name = f"{schema}.{FACTS[type_.kind].pg_name}"
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
    if token.kind == "word" and not cursor.at_symbol(".", 1):
        return _bare(cursor)
    name = cursor.name(parts_max=2)
    spelled = name.item
    kind = _BY_PG_NAME.get(spelled) if len(name.parts) == 1 or name.parts[0] in _SCHEMAS else None
    if kind is None and spelled.startswith("_") and spelled[1:] in _BY_PG_NAME:
        return array_of(SqlType(_BY_PG_NAME[spelled[1:]]))
    if kind is None:
        raise _unknown(".".join(name.parts), token.start + 1)
    return _modified(cursor, kind)


def _bare(cursor: Cursor) -> SqlType:
    """A type by a bare word, which may go on with further words."""
    token = cursor.peek()
    word = cursor.identifier()
    if word.startswith("_") and word[1:] in _BY_PG_NAME:
        return array_of(SqlType(_BY_PG_NAME[word[1:]]))
    if word == "double" and cursor.accept("PRECISION"):
        return SqlType("float8")
    if word == "float" and cursor.at_symbol("("):
        return _float(cursor)
    varying = word in ("char", "character") and cursor.accept("VARYING")
    kind = "varchar" if varying else kind_of_name(word)
    if kind is None or kind in _NOT_FOR_VALUES or word == '"char"':
        raise _unknown(word, token.start + 1)
    if kind not in ("time", "timestamp"):
        type_ = _modified(cursor, kind)
        # `char` alone is one character long; `bpchar` alone is as long as it is.
        if kind == "char" and type_.length is None and word != "bpchar":
            return SqlType("char", length=1)
        return type_
    type_ = _modified(cursor, kind)
    zoned = cursor.accept("WITH", "TIME", "ZONE")
    if not zoned:
        cursor.accept("WITHOUT", "TIME", "ZONE")
        return type_
    if kind == "time":
        raise _unknown("time with time zone", token.start + 1)
    return SqlType("timestamptz", scale=type_.scale)


def _modified(cursor: Cursor, kind: str) -> SqlType:
    """A kind with its modifiers in parentheses, if there are any and it takes them."""
    if kind not in ("numeric", "char", "varchar", "time", "timestamp", "timestamptz"):
        if cursor.at_symbol("("):
            raise cursor.refusal(f'type modifier is not allowed for type "{FACTS[kind].name}"', "42601")
        return SqlType(kind)
    if not cursor.at_symbol("("):
        return SqlType(kind)
    if kind == "numeric":
        return _numeric(cursor)
    cursor.expect_symbol("(")
    name = FACTS[kind].name
    if kind in ("char", "varchar"):
        length = _bounded(cursor, f"length for type {name}", 1, LENGTH_MAX)
        type_ = SqlType(kind, length=length)
    else:
        digits = _bounded(cursor, f"precision for type {name}", 0, FRACTION_DIGITS_MAX)
        type_ = SqlType(kind, scale=digits)
    cursor.expect_symbol(")")
    return type_


def _numeric(cursor: Cursor) -> SqlType:
    """`(precision[, scale])`; the precision is checked and then forgotten."""
    cursor.expect_symbol("(")
    precision = _bounded(cursor, "precision for type numeric", 1, NUMERIC_PRECISION_MAX)
    scale = 0
    if cursor.accept_symbol(","):
        scale = _bounded(cursor, "scale for type numeric", 0, precision)
    cursor.expect_symbol(")")
    return SqlType("numeric", scale=scale)


def _float(cursor: Cursor) -> SqlType:
    cursor.expect_symbol("(")
    bits = _bounded(cursor, "precision for type float", 1, 53)
    cursor.expect_symbol(")")
    return SqlType("float4" if bits <= 24 else "float8")


def _bounded(cursor: Cursor, what: str, least: int, most: int) -> int:
    token = cursor.peek()
    value = cursor.integer()
    if not least <= value <= most:
        raise UserError(f"{what} must be between {least} and {most}", "22023", position=token.start + 1)
    return value


def _unknown(name: str, position: int) -> UserError:
    return UserError(f'type "{name}" does not exist', "42704", position=position)
