"""PostgreSQL's types in ours.

Method: the oids and packed modifiers of PostgreSQL's own catalog, written down here by
hand, against what the table of types makes of them.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.types import NUMERIC_DIGITS_MAX, SqlType, array_of, format_type, numeric, stored
from headwater.sources.postgres.types import object_type_name, sql_type

PLAIN = {
    16: "boolean",
    17: "bytea",
    18: '"char"',
    19: "name",
    20: "bigint",
    21: "smallint",
    22: "int2vector",
    23: "integer",
    25: "text",
    26: "oid",
    114: "jsonb",
    700: "real",
    701: "double precision",
    1042: "character",
    1043: "character varying",
    1082: "date",
    1083: "time without time zone",
    1114: "timestamp without time zone",
    1184: "timestamp with time zone",
    1186: "interval",
    1700: "numeric",
    2950: "uuid",
    3802: "jsonb",
    3904: "int4range",
    3906: "numrange",
    3908: "tsrange",
    3910: "tstzrange",
    3912: "daterange",
    3926: "int8range",
}
ARRAYS = {
    **{1000: 16, 1001: 17, 1002: 18, 1003: 19, 1016: 20, 1005: 21, 1007: 23, 1009: 25, 1028: 26, 199: 114},
    **{1021: 700, 1022: 701, 1014: 1042, 1015: 1043, 1182: 1082, 1183: 1083, 1115: 1114, 1185: 1184},
    **{1187: 1186, 1231: 1700, 2951: 2950, 3807: 3802},
    **{3905: 3904, 3907: 3906, 3909: 3908, 3911: 3910, 3913: 3912, 3927: 3926},
}
UNSUPPORTED = {
    "money": 790,
    "point": 600,
    "lseg": 601,
    "path": 602,
    "box": 603,
    "polygon": 604,
    "line": 628,
    "circle": 718,
    "inet": 869,
    "cidr": 650,
    "macaddr": 829,
    "macaddr8": 774,
    "timetz": 1266,
    "bit": 1560,
    "varbit": 1562,
    "tsvector": 3614,
    "tsquery": 3615,
    "xml": 142,
    "pg_lsn": 3220,
    "int4multirange": 4451,
    "oidvector": 30,
    "int2vector[]": 1006,
    "money[]": 791,
    "a type of somebody's own": 16_384,
    "nothing": 0,
}


def packed(precision: int, scale: int) -> int:
    return (precision << 16 | (scale & 0x7FF)) + 4


@pytest.mark.parametrize(("oid", "name"), PLAIN.items())
def test_a_supported_type_has_its_counterpart(oid: int, name: str) -> None:
    type_ = sql_type(oid)
    assert type_ is not None
    assert format_type(type_) == name


@pytest.mark.parametrize(("oid", "element"), ARRAYS.items())
def test_an_array_is_one_of_its_element_type(oid: int, element: int) -> None:
    inner = sql_type(element)
    assert inner is not None
    assert sql_type(oid) == array_of(inner)


@pytest.mark.parametrize("oid", UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_everything_else_is_unsupported(oid: int) -> None:
    assert sql_type(oid) is None
    assert object_type_name(oid) is None


@pytest.mark.parametrize(
    ("oid", "name"),
    [(24, "regproc"), (2205, "regclass"), (2206, "regtype"), (4089, "regnamespace"), (2210, "regclass[]")],
)
def test_names_of_objects_are_unsupported_and_known_by_name(oid: int, name: str) -> None:
    assert sql_type(oid) is None
    assert object_type_name(oid) == name


@pytest.mark.parametrize(
    ("oid", "typmod", "expected"),
    [
        (1042, 3 + 4, SqlType("char", length=3)),
        (1043, 10 + 4, SqlType("varchar", length=10)),
        (1015, 10 + 4, array_of(SqlType("varchar", length=10))),
        (1083, 0, SqlType("time", scale=0)),
        (1114, 3, SqlType("timestamp", scale=3)),
        (1184, 6, SqlType("timestamptz", scale=6)),
        (1186, 0x7FFF << 16 | 3, SqlType("interval")),
        (1700, packed(10, 2), numeric(2)),
        (1700, packed(38, 38), numeric(38)),
        (1700, packed(2, -3), numeric(0)),
        (1700, packed(39, 2), SqlType("numeric")),
        (1700, packed(38, -1), SqlType("numeric")),
        (1700, packed(40, 2), SqlType("numeric")),
        (1700, packed(1000, 1000), SqlType("numeric")),
        (1231, packed(10, 2), array_of(numeric(2))),
        (1231, packed(40, 2), array_of(SqlType("numeric"))),
    ],
)
def test_length_and_precision_are_taken_along(oid: int, typmod: int, expected: SqlType | None) -> None:
    assert sql_type(oid, typmod) == expected


@given(precision=st.integers(1, 1000), scale=st.integers(-1000, 1000))
def test_a_numeric_with_a_scale_always_fits_its_stored_form(precision: int, scale: int) -> None:
    type_ = sql_type(1700, packed(precision, scale))
    before, after = max(precision - scale, 0), max(scale, 0)
    assert type_ is not None
    if type_.scale is None:
        assert max(before + after, precision) > NUMERIC_DIGITS_MAX
    else:
        assert stored(type_) == f"decimal({NUMERIC_DIGITS_MAX},{after})"
        assert before + after <= NUMERIC_DIGITS_MAX
