"""Aggregates.

An engine's own aggregate stands in a form as `<<name|arguments>>`; the generators put
DISTINCT, ORDER BY, FILTER and OVER there.  `list` means all values with NULLs, in order, and
NULL when there are none.  What needs every value exactly (unconstrained numerics, variances)
collects a list and hands it to a kernel.

Not here: window functions proper (windows.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from headwater.core.types import (
    BOOL,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    INTERVAL,
    JSONB,
    MZ_TIMESTAMP,
    NUMERIC,
    OID,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UINT2,
    UINT4,
    UINT8,
    SqlType,
    array_of,
    list_of,
    numeric,
)
from headwater.sql.select.functions.array_forms import of_list, stacked
from headwater.sql.select.functions.comparisons import sort_key
from headwater.sql.select.functions.entry import Form, Function, TypeRule, Wanted
from headwater.sql.select.functions.forms import (
    SPARK,
    Texts,
    Types,
    both,
    bound,
    call,
    cast_to,
    failure,
    first,
    numeric_call,
    numeric_nan,
    numeric_text,
    type_text,
)
from headwater.sql.select.functions.json import object_key

Make = Callable[[str, Texts, Types], str]


def _aggregate(
    name: str, arguments: tuple[Wanted, ...], returns: TypeRule, duckdb: Form | None, spark: Form | None = ""
) -> Function:
    return Function(name, arguments, returns, duckdb, duckdb if spark == "" else spark, "aggregate")


# min and max


def _extreme(name: str) -> tuple[Form, Form]:
    def make(engine: str, texts: Texts, types: Types) -> str:
        key = sort_key(engine, texts[0], types[0])
        if key == texts[0]:
            return f"<<{name}|{texts[0]}>>"
        by = f"{name}_by" if engine == SPARK else f"arg_{name}"
        return f"<<{by}|{texts[0]}, {key}>>"

    return both(make)


_ORDERED: Final[tuple[Wanted, ...]] = (
    BOOL, INT2, INT4, INT8, UINT2, UINT4, UINT8, FLOAT4, FLOAT8, "numeric", TEXT, SqlType("char"), DATE, TIME,
    TIMESTAMP, TIMESTAMPTZ, INTERVAL, OID, MZ_TIMESTAMP, "anyarray",
)  # fmt: skip


# Sums and averages


def _numeric_sum(engine: str, texts: Texts, types: Types) -> str:
    if types[0].scale is None:
        return numeric_call(engine, "hw_numeric_sum", f"<<list|{texts[0]}>>")
    return _decimal_sum(engine, texts[0], types[0], types[0].scale)


def _decimal_sum(engine: str, text: str, type_: SqlType, scale: int) -> str:
    """NaN, which is the greatest decimal, if there is one among them."""
    nan = numeric_nan(scale)
    total = cast_to(engine, f"<<sum|nullif({text}, {nan})>>", type_)
    return f"(CASE WHEN <<max|{text}>> = {nan} THEN {nan} ELSE {total} END)"


def _numeric_average(engine: str, texts: Texts, types: Types) -> str:
    if types[0].scale is None:
        total = call(engine, "hw_numeric_sum", f"<<list|{texts[0]}>>")
    else:
        total = numeric_text(engine, _decimal_sum(engine, texts[0], types[0], types[0].scale), types[0])
    return _divided(engine, total, texts[0])


def _divided(engine: str, total: str, text: str) -> str:
    string = "STRING" if engine == SPARK else "VARCHAR"
    count = f"CAST(<<count|{text}>> AS {string})"
    # No rows give a NULL total, and NULL is what the kernel then answers.
    return numeric_call(engine, "hw_numeric_div", total, f"coalesce(nullif({count}, '0'), '1')")


def _integer_average(engine: str, texts: Texts, types: Types) -> str:
    if engine == SPARK:
        total = f"CAST(<<sum|CAST({texts[0]} AS DECIMAL(38,0))>> AS STRING)"
    else:
        total = f"CAST(<<sum|{texts[0]}>> AS VARCHAR)"
    return _divided(engine, total, texts[0])


def _float_total(engine: str, texts: Texts, types: Types) -> str:
    """Infinity from finite values is an overflow."""
    infinity = "CAST('Infinity' AS DOUBLE)"
    value = texts[0] if types[0] == FLOAT8 else cast_to(engine, texts[0], FLOAT8)
    overflow = failure(engine, "value out of range: overflow", "22003")
    return (
        f"(CASE WHEN abs(<<sum|{value}>>) = {infinity} AND NOT <<bool_or|abs({value}) = {infinity}>>"
        f" THEN {overflow} ELSE <<sum|{value}>> END)"
    )


def _float_sum(engine: str, texts: Texts, types: Types) -> str:
    """The engines begin with zero, PostgreSQL with the first value, which shows where all are -0."""
    value = texts[0]
    negative = f"({value} = 0 AND signbit({value}))"
    if engine == SPARK:
        negative = f"CAST({value} AS STRING) = '-0.0'"
    total = _float_total(engine, texts, types)
    return f"(CASE WHEN <<bool_and|{negative}>> THEN CAST('-0' AS DOUBLE) ELSE {total} END)"


def _float_average(engine: str, texts: Texts, types: Types) -> str:
    return f"({_float_total(engine, texts, types)} / nullif(<<count|{texts[0]}>>, 0))"


def _sums() -> list[Function]:
    wide = "CAST(<<sum|CAST({0} AS DECIMAL(38,0))>> AS DECIMAL(38,0))"
    entries = [
        _aggregate("sum", ("numeric",), lambda types: numeric(types[0].scale), *both(_numeric_sum)),
        _aggregate("avg", ("numeric",), NUMERIC, *both(_numeric_average)),
        _aggregate("sum", (FLOAT4,), FLOAT4, *_listed("hw_float4_sum")),
        _aggregate("sum", (FLOAT8,), FLOAT8, *both(_float_sum)),
        _aggregate("avg", (FLOAT4,), FLOAT8, *both(_float_average)),
        _aggregate("avg", (FLOAT8,), FLOAT8, *both(_float_average)),
        _aggregate("sum", (INTERVAL,), INTERVAL, *_listed("hw_interval_sum")),
        _aggregate("avg", (INTERVAL,), INTERVAL, *_listed("hw_interval_avg")),
    ]
    for type_ in (INT2, INT4):
        entries.append(_aggregate("sum", (type_,), INT8, "CAST(<<sum|{0}>> AS BIGINT)"))
    for type_ in (INT8, UINT2, UINT4, UINT8):
        small = type_ in (UINT2, UINT4)
        returns = UINT8 if small else numeric(0)
        duckdb = f"CAST(<<sum|{{0}}>> AS {'UBIGINT' if small else 'DECIMAL(38,0)'})"
        spark = "CAST(<<sum|CAST({0} AS DECIMAL(38,0))>> AS DECIMAL(20,0))" if small else wide
        entries.append(_aggregate("sum", (type_,), returns, duckdb, spark))
    for type_ in (INT2, INT4, INT8, UINT2, UINT4, UINT8):
        entries.append(_aggregate("avg", (type_,), NUMERIC, *both(_integer_average)))
    return entries


def _listed(kernel: str, cast: str = "", *more: str) -> tuple[Form, Form]:
    """A kernel over the list of all values."""

    def make(engine: str, texts: Texts, types: Types) -> str:
        value = cast_to(engine, texts[0], SqlType(cast)) if cast else texts[0]
        return call(engine, kernel, f"<<list|{value}>>", *more)

    return both(make)


# Variances


def _variances() -> list[Function]:
    names = {
        "var_samp": "var_samp",
        "variance": "var_samp",
        "var_pop": "var_pop",
        "stddev_samp": "stddev_samp",
        "stddev": "stddev_samp",
        "stddev_pop": "stddev_pop",
    }
    entries = []
    for name, word in names.items():
        entries += [
            _aggregate(name, ("numeric",), NUMERIC, *both(_numeric_variance(word))),
            _aggregate(name, (FLOAT8,), FLOAT8, *_listed(f"hw_float8_{word}")),
            _aggregate(name, (FLOAT4,), FLOAT8, *_listed(f"hw_float8_{word}", "float8")),
        ]
        entries += [
            _aggregate(name, (type_,), NUMERIC, *both(_numeric_variance(word)))
            for type_ in (INT2, INT4, INT8)
        ]
    for name in ("corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept", "regr_r2", "regr_sxx",
                 "regr_syy", "regr_sxy", "regr_avgx", "regr_avgy"):  # fmt: skip
        entries.append(_aggregate(name, (FLOAT8, FLOAT8), FLOAT8, *both(_pairs(name))))
    entries.append(_aggregate("regr_count", (FLOAT8, FLOAT8), INT8, *both(_pair_count)))
    return entries


def _numeric_variance(word: str) -> Make:
    def make(engine: str, texts: Texts, types: Types) -> str:
        value = f"CAST({texts[0]} AS {'STRING' if engine == SPARK else 'VARCHAR'})"
        if types[0].kind == "numeric" and types[0].scale is not None:
            value = numeric_text(engine, texts[0], types[0])
        return numeric_call(engine, f"hw_numeric_{word}", f"<<list|{value}>>")

    return make


def _pairs(name: str) -> Make:
    def make(engine: str, texts: Texts, types: Types) -> str:
        return call(engine, "hw_float8_regression", f"<<list|{_pair(engine, *texts)}>>", f"'{name}'")

    return make


def _pair_count(engine: str, texts: Texts, types: Types) -> str:
    present = f"{texts[0]} IS NOT NULL AND {texts[1]} IS NOT NULL"
    return f"<<count|CASE WHEN {present} THEN {_pair(engine, *texts)} END>>"


def _pair(engine: str, first_text: str, second_text: str) -> str:
    inside = f"{first_text}, {second_text}"
    return f"array({inside})" if engine == SPARK else f"[{inside}]"


# Lists, texts, documents


def _array_type(types: Types) -> SqlType:
    return types[0] if types[0].kind == "array" else array_of(types[0])


def _array_agg(engine: str, texts: Texts, types: Types) -> str:
    """Of arrays one that has a dimension more."""
    gathered = f"<<list|{texts[0]}>>"
    if types[0].kind == "array":
        return stacked(engine, gathered, types[0], accumulated=True)
    return of_list(engine, gathered)


def _documents(kernel: str) -> tuple[Form, Form]:
    """A kernel over a list of values of any type, or of records of key and value."""

    def make(engine: str, texts: Texts, types: Types) -> str:
        value, type_ = texts[0], types[0]
        if len(texts) == 2:
            key = object_key(engine, texts[0], types[0])
            value = f"{{'k': {key}, 'v': {texts[1]}}}"
            if engine == SPARK:
                value = f"named_struct('k', {key}, 'v', {texts[1]})"
            type_ = SqlType("record", fields=(("k", TEXT), ("v", types[1])))
        return call(engine, kernel, f"<<list|{value}>>", type_text(list_of(type_), engine))

    return both(make)


def _collections() -> list[Function]:
    entries = [
        _aggregate("array_agg", ("anyelement",), _array_type, *both(_array_agg)),
        _aggregate("list_agg", ("anyelement",), lambda types: list_of(types[0]), "<<list|{0}>>"),
        _aggregate("string_agg", (TEXT, TEXT), TEXT, *both(_string_agg("hw_string_agg"))),
        _aggregate("string_agg", (BYTEA, BYTEA), BYTEA, *both(_string_agg("hw_bytea_agg"))),
    ]
    documents = (
        _aggregate("jsonb_agg", ("any",), JSONB, *_documents("hw_jsonb_agg")),
        _aggregate("jsonb_object_agg", ("any", "any"), JSONB, *_documents("hw_jsonb_object_agg")),
    )
    entries += [replace(entry, zoned=True) for entry in documents]
    return entries


def _string_agg(kernel: str) -> Make:
    def make(engine: str, texts: Texts, types: Types) -> str:
        return call(engine, kernel, f"<<list|{_pair(engine, *texts)}>>")

    return make


# Ordered sets


def _percentile_disc(engine: str, texts: Texts, types: Types) -> str:
    values = f"<<list|{texts[1]}>>"
    fraction = call(engine, "hw_fraction", texts[0])
    if engine == SPARK:
        place = "greatest(1, CAST(ceil(r.p * size(r.l)) AS INT))"
        body = f"CASE WHEN size(r.l) > 0 THEN element_at(r.l, {place}) END"
        kept = f"filter({values}, v -> v IS NOT NULL)"
        return bound(engine, f"named_struct('l', {kept}, 'p', {fraction})", body)
    kept = f"list_filter({values}, lambda v: v IS NOT NULL)"
    body = "r.l[greatest(1, CAST(ceil(r.p * len(r.l)) AS BIGINT))]"
    return bound(engine, f"{{'l': {kept}, 'p': {fraction}}}", body)


def _second(types: Types) -> SqlType:
    return types[1]


def _percentile_cont(engine: str, texts: Texts, types: Types) -> str:
    return call(engine, "hw_percentile_cont", texts[0], f"<<list|{texts[1]}>>")


FUNCTIONS: Final[tuple[Function, ...]] = (
    _aggregate("count", (), INT8, "<<count|>>"),
    _aggregate("count", ("any",), INT8, "<<count|{0}>>"),
    *(_aggregate(name, (want,), first, *_extreme(name)) for name in ("min", "max") for want in _ORDERED),
    *_sums(),
    *_variances(),
    _aggregate("bool_and", (BOOL,), BOOL, "<<bool_and|{0}>>"),
    _aggregate("bool_or", (BOOL,), BOOL, "<<bool_or|{0}>>"),
    _aggregate("every", (BOOL,), BOOL, "<<bool_and|{0}>>"),
    *(
        _aggregate(name, (type_,), type_, f"<<{name}|{{0}}>>")
        for name in ("bit_and", "bit_or", "bit_xor")
        for type_ in (INT2, INT4, INT8)
    ),
    *_collections(),
    _aggregate("percentile_cont", (FLOAT8, FLOAT8), FLOAT8, *both(_percentile_cont)),
    _aggregate("percentile_disc", (FLOAT8, "anyelement"), _second, *both(_percentile_disc)),
)
