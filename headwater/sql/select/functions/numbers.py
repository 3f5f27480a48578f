"""Arithmetic and mathematical functions.

Integers and decimals are the engines' own, which check for overflow, in forms whose sums no optimizer
takes apart: `i + 1 > 0` is not `i > -1` where i + 1 is an error.  Floats go through
kernels in DuckDB, because PostgreSQL raises where IEEE answers infinity; unconstrained
numerics are text and always go through kernels.

    numeric(a) + numeric(b)    numeric(max(a, b))
    numeric(a) * numeric(b)    numeric(a + b), unconstrained beyond 38
    numeric / numeric          unconstrained

Not here: aggregates, casts, bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from headwater.core.types import (
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    NUMERIC,
    NUMERIC_DIGITS_MAX,
    TEXT,
    UINT2,
    UINT4,
    UINT8,
    SqlType,
    bounds_of,
    numeric,
)
from headwater.sql.select.functions.entry import Form, Function, Wanted
from headwater.sql.select.functions.forms import (
    DUCKDB,
    SPARK,
    Texts,
    Types,
    both,
    bound,
    call,
    cast_to,
    decimal_of_text,
    failure,
    first,
    kernel_function,
    native,
    numeric_bare,
    numeric_call,
    numeric_nan,
    numeric_text,
    operator,
    unless_nan,
)

_SIGNED: Final = (INT2, INT4, INT8)
_UNSIGNED: Final = (UINT2, UINT4, UINT8)
_WORDS: Final = {"+": "add", "-": "sub", "*": "mul", "/": "div", "%": "mod"}
_DUCKDB_WORDS: Final = {"+": "add({0}, {1})", "-": "subtract({0}, {1})", "*": "multiply({0}, {1})"}
"""By these names DuckDB's optimizer does not know what it could move to the other side or out of a sum."""
_WIDER: Final = {"int2": INT4, "int4": INT8}


# Integers


def _signed_spark(form: str, type_: SqlType) -> str:
    """Computed in the wider type, if there is one: Spark's cast names the type in its error, its sum not."""
    wider = _WIDER.get(type_.kind)
    if wider is None:
        return f"({form})"
    return cast_to(SPARK, f"({form.replace('{0}', cast_to(SPARK, '{0}', wider))})", type_)


def _unsigned_spark(symbol: str, type_: SqlType) -> str:
    """Computed in a wider type, then checked against the range."""
    wide = "CAST({0} AS DECIMAL(38,0)) " + symbol + " CAST({1} AS DECIMAL(38,0))"
    low, high = bounds_of(type_.kind)
    check = (
        f"CASE WHEN r IS NULL OR r BETWEEN {low} AND {high} THEN r"
        f" ELSE {failure(SPARK, f'{type_.kind} out of range', '22003')} END"
    )
    return cast_to(SPARK, bound(SPARK, wide, check), type_)


def _integer_entries() -> list[Function]:
    entries = []
    for type_ in _SIGNED:
        pair = (type_, type_)
        entries += [
            operator(symbol, pair, type_, word, _signed_spark(f"{{0}} {symbol} {{1}}", type_))
            for symbol, word in _DUCKDB_WORDS.items()
        ]
        entries.append(operator("/", pair, type_, "({0} // {1})", cast_to(SPARK, "({0} div {1})", type_)))
        # The least integer modulo -1 is 0 in PostgreSQL and an overflow in DuckDB.
        zero = cast_to(DUCKDB, "0", type_)
        remainder = f"CASE WHEN {{1}} = -1 AND {{0}} IS NOT NULL THEN {zero} ELSE {{0}} % {{1}} END"
        entries += [
            operator("%", pair, type_, f"({remainder})", "({0} % {1})"),
            native("mod", pair, type_, f"({remainder})", "({0} % {1})"),
            operator("-", (type_,), type_, f"subtract({zero}, {{0}})", _signed_spark("-{0}", type_)),
            operator("+", (type_,), type_, "{0}"),
            native("abs", (type_,), type_, "abs({0})", _signed_spark("abs({0})", type_)),
            operator("@", (type_,), type_, "abs({0})", _signed_spark("abs({0})", type_)),
            operator("&", pair, type_, "({0} & {1})"),
            operator("|", pair, type_, "({0} | {1})"),
            operator("#", pair, type_, "xor({0}, {1})", "({0} ^ {1})"),
            operator("~", (type_,), type_, "(~{0})"),
            kernel_function("<<", (type_, INT4), type_, f"hw_{type_.kind}_shift_left", shape="operator"),
            kernel_function(">>", (type_, INT4), type_, f"hw_{type_.kind}_shift_right", shape="operator"),
        ]
    for type_ in (INT4, INT8):
        entries += [
            kernel_function("gcd", (type_, type_), type_, f"hw_{type_.kind}_gcd"),
            kernel_function("lcm", (type_, type_), type_, f"hw_{type_.kind}_lcm"),
        ]
    for type_ in _UNSIGNED:
        pair = (type_, type_)
        for symbol, word in _DUCKDB_WORDS.items():
            entries.append(operator(symbol, pair, type_, word, _unsigned_spark(symbol, type_)))
        whole = cast_to(SPARK, "({0} div {1})", type_)
        entries += [
            operator("/", pair, type_, "({0} // {1})", whole),
            operator("%", pair, type_, "({0} % {1})", cast_to(SPARK, "({0} % {1})", type_)),
            native("mod", pair, type_, "({0} % {1})", cast_to(SPARK, "({0} % {1})", type_)),
        ]
    return entries


# Floats


def _float_spark(symbol: str, type_: SqlType) -> str:
    """Infinity from finite numbers is an overflow, zero from others an underflow."""
    limit = f"CAST('Infinity' AS {'FLOAT' if type_ == FLOAT4 else 'DOUBLE'})"
    result = f"r.a {symbol} r.b"
    if symbol == "/":  # never evaluated for a divisor of zero, but Spark's own check would raise
        result = "r.a / nullif(r.b, 0)"
    if type_ == FLOAT4:  # Spark divides floats as doubles
        result = f"CAST({result} AS FLOAT)"
    checks = []
    if symbol == "/":
        checks.append(f"WHEN r.b = 0 AND r.a = r.a THEN {failure(SPARK, 'division by zero', '22012')}")
    overflow = failure(SPARK, "value out of range: overflow", "22003")
    checks.append(
        f"WHEN abs({result}) = {limit} AND abs(r.a) < {limit} AND abs(r.b) < {limit} THEN {overflow}"
    )
    if symbol in "*/":
        nonzero = "r.a <> 0 AND r.b <> 0" if symbol == "*" else f"r.a <> 0 AND abs(r.b) < {limit}"
        checks.append(
            f"WHEN {result} = 0 AND {nonzero} THEN {failure(SPARK, 'value out of range: underflow', '22003')}"
        )
    pair = "named_struct('a', {0}, 'b', {1})"
    return cast_to(SPARK, bound(SPARK, pair, f"CASE {' '.join(checks)} ELSE {result} END"), type_)


def _float_entries() -> list[Function]:
    entries = []
    for type_ in (FLOAT4, FLOAT8):
        for symbol in "+-*/":
            kernel = f"hw_{type_.kind}_{_WORDS[symbol]}"
            entries.append(
                operator(
                    symbol,
                    (type_, type_),
                    type_,
                    call(DUCKDB, kernel, "{0}", "{1}"),
                    _float_spark(symbol, type_),
                )
            )
        entries += [
            # DuckDB takes `-x < c` for `x > -c`, which is not so where one of them is NaN.
            operator("-", (type_,), type_, "({0} * -1)", "(-{0})"),
            operator("+", (type_,), type_, "{0}"),
            native("abs", (type_,), type_, "abs({0})"),
            operator("@", (type_,), type_, "abs({0})"),
        ]
    one = ("ceil", "ceiling", "floor", "trunc", "round", "sign", "sqrt", "cbrt", "exp", "ln", "log", "log10")
    angles = ("sin", "cos", "tan", "cot", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh",
              "atanh", "degrees", "radians")  # fmt: skip
    for name in (*one, *angles):
        kernel = f"hw_float8_{ {'ceiling': 'ceil', 'log10': 'log'}.get(name, name) }"
        entries.append(kernel_function(name, (FLOAT8,), FLOAT8, kernel))
    entries += [
        kernel_function("power", (FLOAT8, FLOAT8), FLOAT8, "hw_float8_power"),
        kernel_function("pow", (FLOAT8, FLOAT8), FLOAT8, "hw_float8_power"),
        kernel_function("^", (FLOAT8, FLOAT8), FLOAT8, "hw_float8_power", shape="operator"),
        kernel_function("atan2", (FLOAT8, FLOAT8), FLOAT8, "hw_float8_atan2"),
        kernel_function("|/", (FLOAT8,), FLOAT8, "hw_float8_sqrt", shape="operator"),
        kernel_function("||/", (FLOAT8,), FLOAT8, "hw_float8_cbrt", shape="operator"),
        native("pi", (), FLOAT8, "CAST(pi() AS DOUBLE)", "CAST(pi() AS DOUBLE)"),
    ]
    return entries


# Numerics


def _sum_type(types: Types) -> SqlType:
    if any(type_.scale is None for type_ in types):
        return NUMERIC
    return numeric(max(type_.scale or 0 for type_ in types))


def _product_type(types: Types) -> SqlType:
    scales = [type_.scale for type_ in types]
    if None in scales:
        return NUMERIC
    total = sum(scale or 0 for scale in scales)
    return numeric(total) if total <= NUMERIC_DIGITS_MAX else NUMERIC


def _numeric_pair(symbol: str, rule: Callable[[Types], SqlType]) -> tuple[Form, Form]:
    def make(engine: str, texts: Texts, types: Types) -> str:
        result = rule(types)
        if result.scale is not None:

            def compute(sides: Texts) -> str:
                return f"({sides[0]} {symbol} {sides[1]})"

            return unless_nan(engine, texts, types, numeric_nan(result.scale), compute)
        values = [numeric_text(engine, text, type_) for text, type_ in zip(texts, types, strict=True)]
        return numeric_call(engine, f"hw_numeric_{_WORDS[symbol]}", *values)

    return both(make)


def _over_texts(kernel: str) -> tuple[Form, Form]:
    """A kernel over unconstrained numerics, for numerics of any scale; other arguments pass."""

    def make(engine: str, texts: Texts, types: Types) -> str:
        values = [
            numeric_text(engine, text, type_) if type_.kind == "numeric" else text
            for text, type_ in zip(texts, types, strict=True)
        ]
        return numeric_call(engine, kernel, *values)

    return both(make)


def _rounding(kernel: str) -> tuple[Form, Form]:
    """round, trunc, ceil and floor without places: a numeric(0), or text."""

    def make(engine: str, texts: Texts, types: Types) -> str:
        places = ("CAST(0 AS INTEGER)",) if kernel in ("hw_numeric_round", "hw_numeric_trunc") else ()
        done = call(engine, kernel, numeric_text(engine, texts[0], types[0]), *places)
        return done if types[0].scale is None else decimal_of_text(engine, done, 0)

    return both(make)


def _rounded_type(types: Types) -> SqlType:
    return NUMERIC if types[0].scale is None else numeric(0)


def _numeric_unary(duckdb: str, kernel: str) -> tuple[Form, Form]:
    """A native form for decimals, a kernel for text."""

    def make(engine: str, texts: Texts, types: Types) -> str:
        scale = types[0].scale
        if scale is None:
            return numeric_call(engine, kernel, numeric_text(engine, texts[0], types[0]))
        return unless_nan(engine, texts, types, numeric_nan(scale), lambda values: duckdb.format(*values))

    return both(make)


def _numeric_function(
    name: str,
    count: int,
    returns: SqlType | Callable[[Types], SqlType],
    forms: tuple[Form, Form],
    *,
    more: tuple[SqlType, ...] = (),
    symbol: bool = False,
) -> Function:
    wanted: tuple[Wanted, ...] = (*("numeric",) * count, *more)
    return Function(name, wanted, returns, *forms, "operator" if symbol else "scalar")


def _numeric_entries() -> list[Function]:
    entries = [
        _numeric_function("+", 2, _sum_type, _numeric_pair("+", _sum_type), symbol=True),
        _numeric_function("-", 2, _sum_type, _numeric_pair("-", _sum_type), symbol=True),
        _numeric_function("*", 2, _product_type, _numeric_pair("*", _product_type), symbol=True),
        _numeric_function("-", 1, first, _numeric_unary("(-{0})", "hw_numeric_neg"), symbol=True),
        _numeric_function("+", 1, first, ("{0}", "{0}"), symbol=True),
        _numeric_function("abs", 1, first, _numeric_unary("abs({0})", "hw_numeric_abs")),
        _numeric_function("@", 1, first, _numeric_unary("abs({0})", "hw_numeric_abs"), symbol=True),
    ]
    for name, kernel in (("/", "div"), ("%", "mod"), ("^", "power")):
        entries.append(_numeric_function(name, 2, NUMERIC, _over_texts(f"hw_numeric_{kernel}"), symbol=True))
    two = {
        "mod": "mod",
        "div": "idiv",
        "power": "power",
        "pow": "power",
        "log": "log",
        "gcd": "gcd",
        "lcm": "lcm",
    }
    for name, kernel in two.items():
        entries.append(_numeric_function(name, 2, NUMERIC, _over_texts(f"hw_numeric_{kernel}")))
    for name in ("sqrt", "exp", "ln", "sign"):
        entries.append(_numeric_function(name, 1, NUMERIC, _over_texts(f"hw_numeric_{name}")))
    for name in ("log", "log10"):
        entries.append(_numeric_function(name, 1, NUMERIC, both(_log10)))
    for name in ("round", "trunc", "ceil", "floor"):
        entries.append(_numeric_function(name, 1, _rounded_type, _rounding(f"hw_numeric_{name}")))
    entries.append(_numeric_function("ceiling", 1, _rounded_type, _rounding("hw_numeric_ceil")))
    for name in ("round", "trunc"):
        entries.append(_numeric_function(name, 1, NUMERIC, _over_texts(f"hw_numeric_{name}"), more=(INT4,)))
    entries.append(_numeric_function("trim_scale", 1, NUMERIC, both(_bare)))
    return entries


def _log10(engine: str, texts: Texts, types: Types) -> str:
    return numeric_call(engine, "hw_numeric_log", "'10'", numeric_text(engine, texts[0], types[0]))


def _bare(engine: str, texts: Texts, types: Types) -> str:
    # In parentheses, so that what is computed with it does not get the zeros back.
    return f"({numeric_bare(engine, texts[0], types[0])})"


FUNCTIONS: Final[tuple[Function, ...]] = (
    *_integer_entries(),
    *_float_entries(),
    *_numeric_entries(),
    kernel_function("factorial", (INT8,), NUMERIC, "hw_numeric_factorial"),
    kernel_function("to_hex", (INT4,), TEXT, "hw_int4_to_hex"),
    kernel_function("to_hex", (INT8,), TEXT, "hw_int8_to_hex"),
    kernel_function("width_bucket", (FLOAT8, FLOAT8, FLOAT8, INT4), INT4, "hw_width_bucket"),
)
