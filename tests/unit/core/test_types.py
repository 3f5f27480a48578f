"""Types: one table of facts, consistent with itself and with every form made from it.

Method: all kinds of the table, and random types with modifiers, containers and fields, are taken
through JSON, oids, names and stored forms; each way back must give the same type.  What
PostgreSQL says of a few types (oid, typmod, format_type) is written down from its catalog.
"""

from __future__ import annotations

import json
import pickle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.types import (
    FACTS,
    INT4,
    NUMERIC_DIGITS_MAX,
    TEXT,
    SqlType,
    array_of,
    format_type,
    kind_of_name,
    list_of,
    map_of,
    modifier_of,
    numeric,
    oid_of,
    size_of,
    stored,
    type_from_json,
    type_of_oid,
    type_to_json,
)
from headwater.formats.arrow import arrow_type
from headwater.formats.engine_types import duckdb_stored, duckdb_working, spark_type

CONTAINERS = ("array", "list", "map", "record")
SCALARS = sorted(set(FACTS) - set(CONTAINERS))

scalars = st.sampled_from(SCALARS).flatmap(
    lambda kind: st.builds(
        SqlType,
        st.just(kind),
        scale=st.none() | st.integers(0, 6)
        if kind in ("numeric", "time", "timestamp", "timestamptz")
        else st.none(),
        length=st.none() | st.integers(1, 99) if kind in ("char", "varchar") else st.none(),
    )
)
any_type = st.recursive(
    scalars,
    lambda inner: st.one_of(
        inner.map(array_of),
        inner.map(list_of),
        inner.map(map_of),
        st.lists(st.tuples(st.text(min_size=1, max_size=4), inner), min_size=1, max_size=3).map(
            lambda fields: SqlType("record", fields=tuple(fields))
        ),
    ),
    max_leaves=4,
)


@given(any_type)
def test_a_type_survives_json_and_pickle(type_: SqlType) -> None:
    assert type_from_json(json.loads(json.dumps(type_to_json(type_)))) == type_
    assert pickle.loads(pickle.dumps(type_)) == type_


@pytest.mark.parametrize("value", [None, 7, ["int4"]])
def test_what_is_no_type_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="not a type"):
        type_from_json(value)


@given(any_type)
def test_every_type_has_a_name_in_every_engine(type_: SqlType) -> None:
    assert isinstance(arrow_type(type_), pa.DataType)
    assert duckdb_stored(type_)
    assert duckdb_working(type_)
    assert spark_type(type_)


@pytest.mark.parametrize("kind", SCALARS)
def test_the_stored_form_of_every_scalar_fits_into_parquet(kind: str) -> None:
    table = pa.table({"x": pa.array([None], arrow_type(SqlType(kind)))})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    assert pq.read_table(pa.BufferReader(sink.getvalue())).schema == table.schema


@pytest.mark.parametrize("kind", SCALARS)
def test_an_oid_leads_back_to_its_type(kind: str) -> None:
    type_ = SqlType(kind)
    assert type_of_oid(oid_of(type_)) == type_
    if FACTS[kind].array_oid:
        assert type_of_oid(oid_of(array_of(type_))) == array_of(type_)


def test_no_two_types_share_an_oid() -> None:
    oids = [oid for facts in FACTS.values() for oid in (facts.oid, facts.array_oid) if oid]
    assert len(oids) == len(set(oids))
    assert type_of_oid(0) is None


@pytest.mark.parametrize("kind", sorted(set(FACTS) - {'"char"'}))
def test_every_spelling_of_a_name_means_its_type(kind: str) -> None:
    facts = FACTS[kind]
    spellings = {kind, facts.name, kind.upper(), *facts.aliases}
    assert {kind_of_name(name) for name in spellings} == {kind}


def test_char_in_quotes_is_another_type_than_char() -> None:
    assert (kind_of_name("char"), kind_of_name('"char"'), kind_of_name("bpchar")) == (
        "char",
        '"char"',
        "char",
    )
    assert kind_of_name("no such type") is None


# (type, oid, typlen, typmod, text) as PostgreSQL's catalog has them; numeric is ours: 39 digits.
KNOWN = [
    (INT4, 23, 4, -1, "integer"),
    (TEXT, 25, -1, -1, "text"),
    (SqlType("varchar", length=10), 1043, -1, 14, "character varying(10)"),
    (SqlType("varchar"), 1043, -1, -1, "character varying"),
    (SqlType("char", length=1), 1042, -1, 5, "character(1)"),
    (SqlType("timestamp", scale=3), 1114, 8, 3, "timestamp(3) without time zone"),
    (SqlType("timestamptz", scale=0), 1184, 8, 0, "timestamp(0) with time zone"),
    (SqlType("timestamptz"), 1184, 8, -1, "timestamp with time zone"),
    (SqlType("time", scale=6), 1083, 8, 6, "time(6) without time zone"),
    (numeric(), 1700, -1, -1, "numeric"),
    (numeric(2), 1700, -1, (39 << 16 | 2) + 4, "numeric(39,2)"),
    (array_of(INT4), 1007, -1, -1, "integer[]"),
    (list_of(TEXT), 16384, -1, -1, "text list"),
    (map_of(INT4), 16385, -1, -1, "map[text=>integer]"),
    (
        SqlType("record", fields=(("f1", INT4), ("f2", TEXT))),
        2249,
        -1,
        -1,
        "record(f1: integer,f2: text)",
    ),
]


@pytest.mark.parametrize(("type_", "oid", "size", "modifier", "text"), KNOWN, ids=[row[4] for row in KNOWN])
def test_clients_are_told_what_postgresql_would_tell(
    type_: SqlType, oid: int, size: int, modifier: int, text: str
) -> None:
    assert (oid_of(type_), size_of(type_), modifier_of(type_), format_type(type_)) == (
        oid,
        size,
        modifier,
        text,
    )
    assert str(type_) == text


def test_a_numeric_is_stored_exactly_when_it_has_a_scale_and_as_text_otherwise() -> None:
    assert stored(numeric(0)) == "decimal(38,0)"
    assert stored(numeric(NUMERIC_DIGITS_MAX)) == "decimal(38,38)"
    assert stored(numeric()) == "string"
    assert arrow_type(numeric(4)) == pa.decimal128(38, 4)


def test_unsigned_integers_are_stored_where_all_of_them_fit() -> None:
    assert [stored(SqlType(kind)) for kind in ("uint2", "uint4", "uint8")] == [
        "int32",
        "int64",
        "decimal(20,0)",
    ]


@given(any_type)
def test_a_bare_type_has_no_modifier(type_: SqlType) -> None:
    assert modifier_of(type_.bare()) == -1
    assert type_.bare().kind == type_.kind
