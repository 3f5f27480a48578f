"""Functions that give rows.

A form is an expression that gives a list: one element a row, a struct where there are several
columns.  The generators take the list apart and number it for WITH ORDINALITY.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from headwater.core.types import (
    BOOL,
    INT4,
    INT8,
    INTERVAL,
    JSONB,
    NUMERIC,
    OID,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    SqlType,
    array_of,
    list_of,
)
from headwater.sql.select.functions.array_forms import elements, mapped, named, packed
from headwater.sql.select.functions.arrays import element, length_of, lower_of
from headwater.sql.select.functions.entry import Form, Function, TypeRule, Wanted
from headwater.sql.select.functions.exact import parts
from headwater.sql.select.functions.forms import (
    DUCKDB,
    SPARK,
    Texts,
    Types,
    both,
    by_kernel,
    call,
    cast_to,
    failure,
    in_zones,
    numeric_bare,
)

_TEXTS: Final = array_of(TEXT)


def _rows(
    name: str,
    arguments: tuple[Wanted, ...],
    returns: TypeRule,
    forms: tuple[Form, Form],
    columns: tuple[tuple[str, TypeRule], ...] = (),
) -> Function:
    return Function(name, arguments, returns, *forms, "table", columns=columns or (("", returns),))


# Series

_LISTED_MAX: Final = 16_000_000


def _too_long() -> str:
    hint = "Make it of several shorter ones; a series of integers between constants may be of any length."
    made = failure(DUCKDB, f"a series of more than {_LISTED_MAX} rows not yet supported", "0A000", hint)
    return made.replace("{", "{{").replace("}", "}}")


def _integers(type_: SqlType) -> list[Function]:
    whole = list_of(type_)
    listed = cast_to(DUCKDB, "generate_series(CAST({0} AS BIGINT), CAST({1} AS BIGINT))", whole)
    # A list is made at once, and nobody can interrupt that.  Between constants there is none:
    # generate/duckdb/query.py sees to that.
    long = f"CAST({{1}} AS HUGEINT) - CAST({{0}} AS HUGEINT) >= {_LISTED_MAX}"
    plain = f"(CASE WHEN {long} THEN {_too_long()} ELSE {listed} END)"
    spark = "(CASE WHEN {0} <= {1} THEN sequence({0}, {1}) WHEN {0} > {1} THEN slice(array({0}), 1, 0) END)"
    wide = [f"CAST({{{i}}} AS BIGINT)" for i in range(3)]
    stepped = [cast_to(engine, call(engine, "hw_series_int8", *wide), whole) for engine in (DUCKDB, SPARK)]
    return [
        _rows("generate_series", (type_, type_), type_, (plain, spark)),
        _rows("generate_series", (type_,) * 3, type_, (stepped[0], stepped[1])),
    ]


def _numerics(engine: str, texts: Texts, types: Types) -> str:
    values = [numeric_bare(engine, text, type_) for text, type_ in zip(texts, types, strict=True)]
    return call(engine, "hw_series_numeric", *values, *(["'1'"] if len(values) == 2 else []))


def _moments(type_: SqlType) -> tuple[Form, Form]:
    return in_zones(
        by_kernel(f"hw_series_{type_.kind}"),
        lambda engine, texts, zone: call(
            engine, "hw_series_in_zone", *texts[:2], *parts(engine, texts[2]), zone
        ),
    )


def _subscripts(engine: str, texts: Texts, types: Types) -> str:
    def make(given: Texts) -> str:
        low, length = lower_of(engine, types, *given), length_of(engine, types, *given)
        if engine == SPARK:
            numbers = f"sequence({low}, {low} - 1 + {length})"
        else:
            numbers = cast_to(engine, f"range({low}, {low} + CAST({length} AS BIGINT))", list_of(INT4))
        return f"(CASE WHEN {length} IS NOT NULL THEN {numbers} END)"

    return named(engine, texts, make)


def _elements(engine: str, texts: Texts, types: Types) -> str:
    return elements(engine, texts[0], types[0])


def _matches(engine: str, texts: Texts, types: Types) -> str:
    flags = texts[2] if len(texts) == 3 else "''"
    rows = call(engine, "hw_regexp_all", *texts[:2], flags)
    return mapped(engine, rows, "x", packed(engine, "x"))


# Documents


def _pairs(values: str) -> tuple[Form, Form]:
    """Keys and values side by side."""

    def make(engine: str, texts: Texts, types: Types) -> str:
        keys = call(engine, "hw_jsonb_keys", texts[0])
        listed = call(engine, values, texts[0])
        if engine == SPARK:
            return (
                f"transform(arrays_zip({keys}, {listed}), x -> named_struct('key', x['0'], 'value', x['1']))"
            )
        return f"list_transform(list_zip({keys}, {listed}), lambda x: {{'key': x[1], 'value': x[2]}})"

    return both(make)


def _documents() -> list[Function]:
    return [
        _rows("jsonb_array_elements", (JSONB,), JSONB, by_kernel("hw_jsonb_elements"), (("value", JSONB),)),
        _rows(
            "jsonb_array_elements_text",
            (JSONB,),
            TEXT,
            by_kernel("hw_jsonb_elements_text"),
            (("value", TEXT),),
        ),
        _rows("jsonb_object_keys", (JSONB,), TEXT, by_kernel("hw_jsonb_keys")),
        _rows("jsonb_each", (JSONB,), JSONB, _pairs("hw_jsonb_values"), (("key", TEXT), ("value", JSONB))),
        _rows(
            "jsonb_each_text",
            (JSONB,),
            TEXT,
            _pairs("hw_jsonb_values_text"),
            (("key", TEXT), ("value", TEXT)),
        ),
    ]


def _no_rows(name: str, wanted: SqlType, columns: tuple[tuple[str, SqlType], ...]) -> Function:
    """Of what this would list there is nothing here; psql asks all the same."""

    def make(engine: str, texts: Texts, types: Types) -> str:
        if engine == SPARK:
            fields = ", ".join(f"'{c}', CAST(NULL AS {_SPARK[t.kind]})" for c, t in columns)
            return f"slice(array(named_struct({fields})), 1, 0)"
        fields = ", ".join(f"'{c}': CAST(NULL AS {_DUCKDB[t.kind]})" for c, t in columns)
        return f"list_slice([{{{fields}}}], 1, 0)"

    return _rows(name, (wanted,), columns[0][1], both(make), columns)


_DUCKDB: Final = {"text": "VARCHAR", "regclass": "BIGINT", "bool": "BOOLEAN", "int4": "INTEGER"}
_SPARK: Final = {"text": "STRING", "regclass": "BIGINT", "bool": "BOOLEAN", "int4": "INT"}
_REGCLASS: Final = SqlType("regclass")

FUNCTIONS: Final[tuple[Function, ...]] = (
    _no_rows("pg_options_to_table", _TEXTS, (("option_name", TEXT), ("option_value", TEXT))),
    _no_rows(
        "pg_partition_tree",
        OID,
        (("relid", _REGCLASS), ("parentrelid", _REGCLASS), ("isleaf", BOOL), ("level", INT4)),
    ),
    *_integers(INT4),
    *_integers(INT8),
    _rows("generate_series", ("numeric", "numeric"), NUMERIC, both(_numerics)),
    _rows("generate_series", ("numeric",) * 3, NUMERIC, both(_numerics)),
    *(
        replace(_rows("generate_series", (type_, type_, INTERVAL), type_, _moments(type_)), zoned=True)
        for type_ in (TIMESTAMP, TIMESTAMPTZ)
    ),
    _rows("generate_subscripts", ("anyarray", INT4), INT4, both(_subscripts)),
    _rows("unnest", ("anyarray",), element, both(_elements)),
    _rows("unnest", ("anylist",), element, ("{0}", "{0}")),
    *_documents(),
    _rows("regexp_split_to_table", (TEXT, TEXT), TEXT, by_kernel("hw_regexp_split", "{0}", "{1}", "''")),
    _rows("regexp_split_to_table", (TEXT,) * 3, TEXT, by_kernel("hw_regexp_split")),
    _rows("regexp_matches", (TEXT, TEXT), _TEXTS, both(_matches)),
    _rows("regexp_matches", (TEXT,) * 3, _TEXTS, both(_matches)),
    _rows("string_to_table", (TEXT, TEXT), TEXT, by_kernel("hw_string_to_array", "{0}", "{1}", "NULL")),
    _rows("string_to_table", (TEXT,) * 3, TEXT, by_kernel("hw_string_to_array")),
)
