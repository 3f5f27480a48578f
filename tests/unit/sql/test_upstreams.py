"""Upstreams: what is written after KAFKA and MYSQL is in the fields, and is read back from what they render.

Method: clauses beside the values they are; every one of them is rendered and read again, and
so are values with awkward names; refusals with their place, where a caret stands.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import UserError
from headwater.core.interval import Interval
from headwater.sql.cursor import Cursor, Name
from headwater.sql.lexer import tokenize
from headwater.sql.options import Duration
from headwater.sql.upstream import Upstream, parse_upstream
from tests.unit.sql.written import kafka, mysql

C = Name(("c",))

names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=20)
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)


def paths(parts_max: int) -> st.SearchStrategy[Name]:
    return st.lists(names, min_size=1, max_size=parts_max).map(lambda parts: Name(tuple(parts)))


def parse(text: str) -> Upstream:
    cursor = Cursor(text, tokenize(text))
    upstream = parse_upstream(cursor)
    cursor.expect_end()
    return upstream


VALUES: list[tuple[str, Upstream]] = [
    ("KAFKA CONNECTION c", kafka(C)),
    ("kafka connection d.S.c (topic orders)", kafka(Name(("d", "s", "c")), topic="orders")),
    ("KAFKA CONNECTION c (TOPIC = 'it''s')", kafka(C, topic="it's")),
    (
        "KAFKA CONNECTION c (GROUP ID PREFIX 'x', START OFFSET (0, 10, 9223372036854775807), TOPIC 't')",
        kafka(C, topic="t", group_id_prefix="x", start_offset=(0, 10, 2**63 - 1)),
    ),
    ("KAFKA CONNECTION c (TOPIC 't', START OFFSET = [7])", kafka(C, topic="t", start_offset=(7,))),
    ("KAFKA CONNECTION c (TOPIC 't', START OFFSET = ())", kafka(C, topic="t")),
    ("KAFKA CONNECTION c (TOPIC 't', START TIMESTAMP 0)", kafka(C, topic="t", start_timestamp=0)),
    ("KAFKA CONNECTION c (TOPIC 't', START TIMESTAMP=-1000)", kafka(C, topic="t", start_timestamp=-1000)),
    (
        "KAFKA CONNECTION c (TOPIC METADATA REFRESH INTERVAL INTERVAL '30s', TOPIC = metadata)",
        kafka(
            C, topic="metadata", topic_metadata_refresh_interval=Duration("30s", Interval(0, 0, 30_000_000))
        ),
    ),
    ("MYSQL CONNECTION c", mysql(C)),
    ('mysql connection d.s."C"', mysql(Name(("d", "s", "C")))),
    (
        "MYSQL CONNECTION c (TEXT COLUMNS (s.t.a, t.b), EXCLUDE COLUMNS = [s.t.d])",
        mysql(
            C,
            text_columns=(Name(("s", "t", "a")), Name(("t", "b"))),
            exclude_columns=(Name(("s", "t", "d")),),
        ),
    ),
    ("MYSQL CONNECTION c (IGNORE COLUMNS (t.a))", mysql(C, exclude_columns=(Name(("t", "a")),))),
    ("MYSQL CONNECTION c (TEXT COLUMNS (), IGNORE COLUMNS ())", mysql(C)),
]


def assert_round_trip(upstream: Upstream) -> None:
    sql = upstream.render()
    again = parse(sql)
    assert again == upstream
    assert again.render() == sql


@pytest.mark.parametrize(("text", "upstream"), VALUES)
def test_an_upstream_is_this_value_and_is_read_back_as_it(text: str, upstream: Upstream) -> None:
    assert parse(text) == upstream
    assert_round_trip(upstream)


def test_the_rendered_text_is_canonical() -> None:
    text = (
        "kafka connection c (start timestamp -5, topic metadata refresh interval '1 min',"
        " start offset [1,2], topic t, group id prefix g)"
    )
    assert parse(text).render() == (
        "KAFKA CONNECTION c (TOPIC = 't', GROUP ID PREFIX = 'g', START OFFSET = (1, 2),"
        " START TIMESTAMP = -5, TOPIC METADATA REFRESH INTERVAL = '1 min')"
    )
    text = 'mysql connection c (ignore columns [t."A"], text columns (s.t.b))'
    assert parse(text).render() == 'MYSQL CONNECTION c (TEXT COLUMNS = (s.t.b), EXCLUDE COLUMNS = (t."A"))'


@given(
    connection=paths(3),
    topic=st.none() | texts,
    prefix=st.none() | texts,
    offsets=st.lists(st.integers(0, 2**63 - 1), max_size=3),
    timestamp=st.none() | st.integers(-(2**63) + 1, 2**63 - 1),
)
def test_topics_survive(
    connection: Name, topic: str | None, prefix: str | None, offsets: list[int], timestamp: int | None
) -> None:
    assert_round_trip(
        kafka(
            connection,
            topic=topic,
            group_id_prefix=prefix,
            start_offset=tuple(offsets),
            start_timestamp=timestamp,
        )
    )


@given(
    connection=paths(3),
    text_columns=st.lists(paths(4), max_size=3),
    exclude_columns=st.lists(paths(4), max_size=3),
)
def test_columns_survive(connection: Name, text_columns: list[Name], exclude_columns: list[Name]) -> None:
    assert_round_trip(
        mysql(connection, text_columns=tuple(text_columns), exclude_columns=tuple(exclude_columns))
    )


def test_a_connection_knows_where_it_stands() -> None:
    connection = parse("KAFKA CONNECTION d.c (TOPIC 't')").connection
    assert connection is not None
    assert connection.position == len("KAFKA CONNECTION ") + 1


REFUSED = [
    ("KAFKA ^BROKER", "42601", "Expected CONNECTION, found BROKER"),
    (
        "KAFKA CONNECTION c (^)",
        "42601",
        "Expected one of TOPIC or TOPICS or GROUP or START, found right parenthesis",
    ),
    (
        "KAFKA CONNECTION c (START ^DATE 1)",
        "42601",
        'Expected one of OFFSET or TIMESTAMP, found identifier "date"',
    ),
    ("KAFKA CONNECTION c (TOPIC METADATA ^'t')", "42601", 'Expected REFRESH, found string literal "t"'),
    ("KAFKA CONNECTION c (TOPIC ^1)", "42601", 'Expected string, found number "1"'),
    ("KAFKA CONNECTION c (TOPIC 'a', ^TOPIC 'b')", "42601", "TOPIC specified more than once"),
    ("KAFKA CONNECTION c (START OFFSET ^1)", "42601", 'Expected left parenthesis, found number "1"'),
    ("KAFKA CONNECTION c (START OFFSET (1, ^a))", "42601", 'Expected literal integer, found identifier "a"'),
    ("KAFKA CONNECTION c (START OFFSET ^(0, -1))", "22023", "START OFFSET must be a nonnegative integer"),
    ("KAFKA CONNECTION c (START TIMESTAMP -^a)", "42601", 'Expected literal integer, found identifier "a"'),
    (
        "KAFKA CONNECTION c (TOPIC METADATA REFRESH INTERVAL ^'-1s')",
        "22023",
        "cannot convert negative interval to duration",
    ),
    ("KAFKA CONNECTION c (TOPIC 't'^", "42601", "Expected right parenthesis, found EOF"),
    ("MYSQL ^c", "42601", 'Expected CONNECTION, found identifier "c"'),
    (
        "MYSQL CONNECTION c (^PUBLICATION 'p')",
        "42601",
        'Expected one of TEXT or EXCLUDE or IGNORE or DETAILS, found identifier "publication"',
    ),
    ("MYSQL CONNECTION c (DETAILS = ^'aa')", "22023", "CREATE SOURCE specifies DETAILS option"),
    (
        "MYSQL CONNECTION c ^(EXCLUDE COLUMNS (t.a), IGNORE COLUMNS (t.b))",
        "42601",
        "EXCLUDE COLUMNS specified more than once",
    ),
    (
        "MYSQL CONNECTION c (IGNORE COLUMNS (t.a), ^IGNORE COLUMNS (t.b))",
        "42601",
        "IGNORE COLUMNS specified more than once",
    ),
]


@pytest.mark.parametrize(("text", "sqlstate", "message"), REFUSED)
def test_a_refusal_says_this_at_this_place(text: str, sqlstate: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        parse(text.replace("^", ""))
    error = caught.value
    assert (error.message, error.sqlstate, error.position) == (message, sqlstate, text.index("^") + 1)
