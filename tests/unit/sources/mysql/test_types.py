"""Which column of an upstream is what here, and what information_schema's words say of it."""

from __future__ import annotations

import pytest

from headwater.core.types import format_type
from headwater.sources.mysql.facts import ColumnFacts
from headwater.sources.mysql.types import sql_type, text_allowed


def column(
    column_type: str,
    length: int | None = None,
    precision: int | None = None,
    scale: int | None = None,
    fraction: int | None = None,
) -> ColumnFacts:
    data_type = column_type.split("(")[0].split()[0]
    return ColumnFacts("c", data_type, column_type, True, length, precision, scale, fraction)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (column("tinyint(1)"), "smallint"),
        (column("tinyint unsigned"), "uint2"),
        (column("smallint(5) unsigned zerofill"), "uint2"),
        (column("mediumint"), "integer"),
        (column("int unsigned"), "uint4"),
        (column("bigint"), "bigint"),
        (column("bigint unsigned"), "uint8"),
        (column("bit(3)", precision=3), "uint8"),
        (column("float(7,3)"), "real"),
        (column("double unsigned"), "double precision"),
        (column("decimal(10,2)", precision=10, scale=2), "numeric(39,2)"),
        (column("decimal(38,38)", precision=38, scale=38), "numeric(39,38)"),
        (column("decimal(65,30)", precision=65, scale=30), "numeric"),
        (column("char(3)", length=3), "character(3)"),
        (column("char(0)", length=0), "text"),
        (column("varchar(255)", length=255), "character varying(255)"),
        (column("longtext"), "text"),
        (column("binary(4)", length=4), "bytea"),
        (column("mediumblob"), "bytea"),
        (column("date"), "date"),
        (column("time(6)", fraction=6), "time without time zone"),
        (column("datetime", fraction=0), "timestamp(0) without time zone"),
        (column("timestamp(3)", fraction=3), "timestamp(3) without time zone"),
        (column("json"), "jsonb"),
        (column("uuid"), "uuid"),
        (column("inet6"), "text"),
    ],
)
def test_a_column_has_a_type_here(given: ColumnFacts, expected: str) -> None:
    made = sql_type(given)
    assert made is not None
    assert format_type(made) == expected


@pytest.mark.parametrize("written", ["year", "enum('a')", "set('a','b')", "geometry", "point", "vector(3)"])
def test_what_has_no_type_here_is_known(written: str) -> None:
    assert sql_type(column(written)) is None


def test_texts_that_cannot_be_read_from_the_log_have_no_type_here() -> None:
    assert sql_type(ColumnFacts("c", "text", "text", charset="utf8mb4")) is not None
    assert sql_type(ColumnFacts("c", "text", "text", charset="sjis")) is not None
    assert sql_type(ColumnFacts("c", "text", "text", charset="eucjpms")) is None


def test_text_columns_may_name_what_is_printed_exactly() -> None:
    allowed = {
        word
        for word in ("date", "datetime", "timestamp", "year", "json", "enum('a')")
        if text_allowed(column(word))
    }
    assert len(allowed) == 6
    assert not any(
        text_allowed(column(word)) for word in ("time", "int", "text", "blob", "set('a')", "geometry")
    )


def test_labels_are_told_from_their_quotes() -> None:
    written = r"enum('a','b,c','it''s','back\\slash','line\nbreak','','unsigned')"
    made = ColumnFacts("c", "enum", written)
    assert made.labels == ("a", "b,c", "it's", "back\\slash", "line\nbreak", "", "unsigned")
    assert not made.unsigned


def test_a_column_is_the_same_after_it_was_kept() -> None:
    made = column("decimal(65,30) unsigned", precision=65, scale=30)
    assert ColumnFacts.from_json({**made.to_json(), "text": False}) == made
    assert made.unsigned
