"""Functions and operators over text and bytes.

Length, concatenation and most of LIKE are the engines' own, which agree with PostgreSQL; whatever
cuts, pads or matches goes through kernels, because there they do not.

Not here: text to and from other types (casts.py, time.py for patterns of dates).
"""

from __future__ import annotations

from typing import Final

from headwater.core.types import BOOL, BYTEA, INT4, INT8, TEXT, UUID, SqlType, array_of
from headwater.sql.select.functions.casts import find_cast
from headwater.sql.select.functions.entry import Form, Function, Wanted
from headwater.sql.select.functions.forms import (
    SPARK,
    Texts,
    Types,
    both,
    call,
    kernel_function,
    native,
    operator,
    quoted,
    undefined,
)
from headwater.sql.select.functions.written import Literal

_CHAR: Final = SqlType("char")
"""Cast to text it loses the blanks that fill it; what takes it as it is sees them."""
_T1: Final = (TEXT,)
_T2: Final = (TEXT, TEXT)
_T3: Final = (TEXT, TEXT, TEXT)


# Concatenation


def printed(engine: str, text: str, type_: SqlType) -> str:
    """A value of any type as its text."""
    if type_.kind == "bool":  # concat() shows a boolean as output does, not as a cast does
        return f"(CASE WHEN {text} THEN 't' WHEN NOT {text} THEN 'f' END)"
    entry = find_cast(type_, TEXT)
    form = None if entry is None else (entry.spark if engine == SPARK else entry.duckdb)
    if form is None or isinstance(form, str):
        raise undefined("concat", (type_,))
    return form((text,), (type_, TEXT))


def _all_printed(engine: str, texts: Texts, types: Types) -> str:
    values = [
        text if type_.kind == "char" else printed(engine, text, type_)
        for text, type_ in zip(texts, types, strict=True)
    ]
    if engine == SPARK:
        return f"array({', '.join(values)})"
    return f"[{', '.join(values)}]"


def _concat(engine: str, texts: Texts, types: Types) -> str:
    return call(engine, "hw_concat", _all_printed(engine, texts, types))


def _concat_ws(engine: str, texts: Texts, types: Types) -> str:
    return call(engine, "hw_concat_ws", texts[0], _all_printed(engine, texts[1:], types[1:]))


def _format(engine: str, texts: Texts, types: Types) -> str:
    values = "CAST([] AS VARCHAR[])" if engine != SPARK else "CAST(array() AS ARRAY<STRING>)"
    if len(texts) > 1:
        values = _all_printed(engine, texts[1:], types[1:])
    return call(engine, "hw_format", texts[0], values)


def _joined(engine: str, texts: Texts, types: Types) -> str:
    """text || anything, anything || text."""
    values = [
        text if type_.kind == "text" else _cast_text(engine, text, type_)
        for text, type_ in zip(texts, types, strict=True)
    ]
    return f"({values[0]} || {values[1]})"


def _cast_text(engine: str, text: str, type_: SqlType) -> str:
    if type_.kind == "bool":
        return f"CAST({text} AS {'STRING' if engine == SPARK else 'VARCHAR'})"
    return printed(engine, text, type_)


def _variadic(name: str, arguments: tuple[Wanted, ...], forms: tuple[Form, Form]) -> Function:
    return Function(name, arguments, TEXT, *forms, variadic=True, zoned=True)


# LIKE and regular expressions


def _like(symbol: str, word: str, kernel: str, negated: bool = False) -> list[Function]:
    """By the engine where the pattern is a constant without escapes, else by a kernel.

    Spark's ILIKE takes other letters for the same than PostgreSQL's beyond ASCII.
    """

    def make(engine: str, texts: Texts, types: Types) -> str:
        pattern = texts[1].value if isinstance(texts[1], Literal) else None
        plain = pattern is not None and "\\" not in pattern
        if plain and not (engine == SPARK and kernel == "hw_ilike"):
            escape = "\\\\" if engine == SPARK else "\\"
            return f"({texts[0]} {'NOT ' if negated else ''}{word} {texts[1]} ESCAPE '{escape}')"
        found = call(engine, kernel, *texts)
        return f"(NOT {found})" if negated else found

    return [Function(symbol, (type_, TEXT), BOOL, *both(make), "operator") for type_ in (TEXT, _CHAR)]


def _regex(symbol: str, flags: str, negated: bool) -> list[Function]:
    def make(engine: str, texts: Texts, types: Types) -> str:
        found = call(engine, "hw_regexp_matches", *texts, f"'{flags}'")
        return f"(NOT {found})" if negated else found

    return [Function(symbol, (type_, TEXT), BOOL, *both(make), "operator") for type_ in (TEXT, _CHAR)]


def _similar(engine: str, texts: Texts, types: Types) -> str:
    return call(engine, "hw_similar_to_escape", texts[0], quoted("\\", engine))


def _digest_text(engine: str, texts: Texts, types: Types) -> str:
    data = texts[0]
    if types[0].kind == "text":
        data = f"CAST({data} AS BINARY)" if engine == SPARK else f"encode({data})"
    digest = call(engine, "hw_digest", data, "'md5'")
    return call(engine, "hw_encode", digest, "'hex'")


def _as_bytes(engine: str, text: str) -> str:
    return f"CAST({text} AS BINARY)" if engine == SPARK else f"encode({text})"


def _digest_of_text(engine: str, texts: Texts, types: Types) -> str:
    return call(engine, "hw_digest", _as_bytes(engine, texts[0]), texts[1])


def _hmac_of_text(engine: str, texts: Texts, types: Types) -> str:
    return call(engine, "hw_hmac", _as_bytes(engine, texts[0]), _as_bytes(engine, texts[1]), texts[2])


def _compared(engine: str, texts: Texts, types: Types) -> str:
    return call(engine, "hw_constant_time_eq", _as_bytes(engine, texts[0]), _as_bytes(engine, texts[1]))


def _crc32_of_text(engine: str, texts: Texts, types: Types) -> str:
    return call(engine, "hw_crc32", _as_bytes(engine, texts[0]))


def _lengths() -> list[Function]:
    entries = [
        native(name, _T1, INT4, "CAST(length({0}) AS INTEGER)", "char_length({0})")
        for name in ("length", "char_length", "character_length")
    ]
    entries += [
        native("octet_length", _T1, INT4, "CAST(strlen({0}) AS INTEGER)", "octet_length({0})"),
        native("octet_length", (_CHAR,), INT4, "CAST(strlen({0}) AS INTEGER)", "octet_length({0})"),
        native("bit_length", _T1, INT4, "CAST(strlen({0}) * 8 AS INTEGER)", "bit_length({0})"),
        native("length", (BYTEA,), INT4, "CAST(octet_length({0}) AS INTEGER)", "octet_length({0})"),
        native("octet_length", (BYTEA,), INT4, "CAST(octet_length({0}) AS INTEGER)", "octet_length({0})"),
        native("bit_length", (BYTEA,), INT4, "CAST(octet_length({0}) * 8 AS INTEGER)", "bit_length({0})"),
        # position(a IN b) arrives as position(b, a), as in PostgreSQL.
        native("position", _T2, INT4, "CAST(strpos({0}, {1}) AS INTEGER)", "instr({0}, {1})"),
        native("strpos", _T2, INT4, "CAST(strpos({0}, {1}) AS INTEGER)", "instr({0}, {1})"),
        native("ascii", _T1, INT4, "CAST(ascii({0}) AS INTEGER)", "ascii({0})"),
    ]
    return entries


def _parts() -> list[Function]:
    entries = []
    for name in ("substring", "substr"):
        entries += [
            kernel_function(name, (TEXT, INT4), TEXT, "hw_substring_from"),
            kernel_function(name, (TEXT, INT4, INT4), TEXT, "hw_substring"),
            kernel_function(name, (BYTEA, INT4), BYTEA, "hw_bytea_substring_from"),
            kernel_function(name, (BYTEA, INT4, INT4), BYTEA, "hw_bytea_substring"),
        ]
    entries += [
        kernel_function("substring", _T2, TEXT, "hw_regexp_substring"),
        kernel_function("left", (TEXT, INT4), TEXT, "hw_left"),
        kernel_function("right", (TEXT, INT4), TEXT, "hw_right"),
        kernel_function("split_part", (TEXT, TEXT, INT4), TEXT, "hw_split_part"),
        kernel_function("overlay", (TEXT, TEXT, INT4, INT4), TEXT, "hw_overlay"),
        kernel_function(
            "overlay",
            (TEXT, TEXT, INT4),
            TEXT,
            "hw_overlay",
            "{0}",
            "{1}",
            "{2}",
            "CAST(length({1}) AS INTEGER)",
        ),
        kernel_function("lpad", (TEXT, INT4, TEXT), TEXT, "hw_lpad"),
        kernel_function("lpad", (TEXT, INT4), TEXT, "hw_lpad", "{0}", "{1}", "' '"),
        kernel_function("rpad", (TEXT, INT4, TEXT), TEXT, "hw_rpad"),
        kernel_function("rpad", (TEXT, INT4), TEXT, "hw_rpad", "{0}", "{1}", "' '"),
        kernel_function("repeat", (TEXT, INT4), TEXT, "hw_repeat"),
    ]
    for name in ("btrim", "ltrim", "rtrim"):
        entries += [
            kernel_function(name, _T2, TEXT, f"hw_{name}"),
            kernel_function(name, _T1, TEXT, f"hw_{name}", "{0}", "' '"),
        ]
    return entries


def _expressions() -> list[Function]:
    texts = array_of(TEXT)
    entries = [
        *_regex("~", "", False),
        *_regex("~*", "i", False),
        *_regex("!~", "", True),
        *_regex("!~*", "i", True),
        kernel_function("regexp_replace", _T3, TEXT, "hw_regexp_replace", "{0}", "{1}", "{2}", "''"),
        kernel_function("regexp_replace", (*_T3, TEXT), TEXT, "hw_regexp_replace"),
        kernel_function("regexp_match", _T2, texts, "hw_regexp_match", "{0}", "{1}", "''"),
        kernel_function("regexp_match", _T3, texts, "hw_regexp_match"),
        kernel_function("regexp_split_to_array", _T2, texts, "hw_regexp_split", "{0}", "{1}", "''"),
        kernel_function("regexp_split_to_array", _T3, texts, "hw_regexp_split"),
        kernel_function("regexp_like", _T2, BOOL, "hw_regexp_matches", "{0}", "{1}", "''"),
        kernel_function("regexp_like", _T3, BOOL, "hw_regexp_matches"),
        kernel_function("regexp_count", _T2, INT4, "hw_regexp_count", "{0}", "{1}", "1", "''"),
        kernel_function(
            "regexp_count", (TEXT, TEXT, INT4), INT4, "hw_regexp_count", "{0}", "{1}", "{2}", "''"
        ),
        kernel_function("regexp_count", (TEXT, TEXT, INT4, TEXT), INT4, "hw_regexp_count"),
    ]
    return entries


def _bytes() -> list[Function]:
    entries = [
        kernel_function("encode", (BYTEA, TEXT), TEXT, "hw_encode"),
        kernel_function("decode", _T2, BYTEA, "hw_decode"),
        kernel_function("digest", (BYTEA, TEXT), BYTEA, "hw_digest"),
        Function("digest", _T2, BYTEA, *both(_digest_of_text)),
        kernel_function("hmac", (BYTEA, BYTEA, TEXT), BYTEA, "hw_hmac"),
        Function("hmac", _T3, BYTEA, *both(_hmac_of_text)),
        kernel_function("constant_time_eq", (BYTEA, BYTEA), BOOL, "hw_constant_time_eq"),
        Function("constant_time_eq", _T2, BOOL, *both(_compared)),
        kernel_function("crc32", (BYTEA,), INT8, "hw_crc32"),
        Function("crc32", _T1, INT8, *both(_crc32_of_text)),
        Function("md5", _T1, TEXT, *both(_digest_text)),
        Function("md5", (BYTEA,), TEXT, *both(_digest_text)),
        kernel_function("convert_from", (BYTEA, TEXT), TEXT, "hw_convert_from"),
        kernel_function("convert_to", _T2, BYTEA, "hw_convert_to"),
        kernel_function("get_byte", (BYTEA, INT4), INT4, "hw_get_byte"),
        operator("||", (BYTEA, BYTEA), BYTEA, "({0} || {1})", "concat({0}, {1})"),
    ]
    for name in ("sha224", "sha256", "sha384", "sha512"):
        entries.append(kernel_function(name, (BYTEA,), BYTEA, "hw_digest", "{0}", f"'{name}'"))
    return entries


FUNCTIONS: Final[tuple[Function, ...]] = (
    operator("||", _T2, TEXT, "({0} || {1})"),
    Function("||", (TEXT, "anynonarray"), TEXT, *both(_joined), "operator", zoned=True),
    Function("||", ("anynonarray", TEXT), TEXT, *both(_joined), "operator", zoned=True),
    _variadic("concat", ("any",), both(_concat)),
    _variadic("concat_ws", (TEXT, "any"), both(_concat_ws)),
    Function("format", _T1, TEXT, *both(_format)),
    _variadic("format", (TEXT, "any"), both(_format)),
    *_lengths(),
    *_parts(),
    native("lower", _T1, TEXT, "lower({0})", "hw_lower({0})"),
    kernel_function("upper", _T1, TEXT, "hw_upper"),
    kernel_function("reverse", _T1, TEXT, "hw_reverse"),
    native("starts_with", _T2, BOOL, "starts_with({0}, {1})", "startswith({0}, {1})"),
    operator("^@", _T2, BOOL, "starts_with({0}, {1})", "startswith({0}, {1})"),
    kernel_function("initcap", _T1, TEXT, "hw_initcap"),
    kernel_function("replace", _T3, TEXT, "hw_replace"),
    kernel_function("translate", _T3, TEXT, "hw_translate"),
    native("gen_random_uuid", (), UUID, "CAST(uuid() AS VARCHAR)", "uuid()"),
    kernel_function("chr", (INT4,), TEXT, "hw_chr"),
    kernel_function("quote_ident", _T1, TEXT, "hw_quote_ident"),
    kernel_function("quote_literal", _T1, TEXT, "hw_quote_literal"),
    kernel_function("quote_nullable", _T1, TEXT, "hw_quote_nullable"),
    kernel_function("like_escape", _T2, TEXT, "hw_like_escape"),
    kernel_function("similar_to_escape", _T2, TEXT, "hw_similar_to_escape"),
    Function("similar_to_escape", _T1, TEXT, *both(_similar)),
    *_like("~~", "LIKE", "hw_like"),
    *_like("~~*", "ILIKE", "hw_ilike"),
    *_like("!~~", "LIKE", "hw_like", negated=True),
    *_like("!~~*", "ILIKE", "hw_ilike", negated=True),
    *_expressions(),
    *_bytes(),
)
