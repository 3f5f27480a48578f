"""Parsing queries: PostgreSQL's precedence, its lexical rules, and errors that point.

Method: the same expression with and without the parentheses that the precedence table implies must
give the same syntax when places are left out; values of a few arithmetic chains are run; texts
that are no queries must fail with 42601 at the right place; any text at all must parse or fail
with a UserError; what is nested too deeply must fail as such.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.core.errors import UserError
from headwater.core.limits import EXPRESSION_DEPTH_MAX
from headwater.sql.lexer import tokenize
from headwater.sql.select.parse.query import parse_query, parse_scalar
from tests.unit.sql.select.lab import failure, one, plan, run


def shape(text: str) -> str:
    """The syntax of an expression without places."""
    return re.sub(r",? ?(?:at|end)=\d+", "", repr(parse_scalar(text)))


@pytest.mark.parametrize(
    ("loose", "explicit"),
    [
        ("a OR b AND c", "a OR (b AND c)"),
        ("NOT a = b", "NOT (a = b)"),
        ("NOT a AND b", "(NOT a) AND b"),
        ("a = b IS NULL", "(a = b) IS NULL"),
        ("a IS NULL = b", "(a IS NULL) = b"),
        ("a || b = c", "(a || b) = c"),
        ("a -> 'k' || b", "(a -> 'k') || b"),
        ("j -> 1 + 1", "j -> (1 + 1)"),
        ("a + b * c", "a + (b * c)"),
        ("a - b - c", "(a - b) - c"),
        ("a ^ b ^ c", "(a ^ b) ^ c"),
        ("- a ^ b", "(- a) ^ b"),
        ("- a::int", "- (a::int)"),
        ("a + b AT TIME ZONE c", "a + (b AT TIME ZONE c)"),
        ("a BETWEEN b AND c AND d", "(a BETWEEN b AND c) AND d"),
        ("a NOT IN (1, 2) OR b", "(a NOT IN (1, 2)) OR b"),
        ("a LIKE b || c", "a LIKE (b || c)"),
        ("a < b + 1", "a < (b + 1)"),
        ("@ a + b", "@ (a + b)"),
        ("~ a & b", "(~ a) & b"),
        ("a[1]::int", "(a[1])::int"),
        ("a << b + c", "a << (b + c)"),
        ('a COLLATE "C" || b', '(a COLLATE "C") || b'),
    ],
)
def test_operators_bind_as_in_postgresql(loose: str, explicit: str) -> None:
    assert shape(loose) == shape(explicit)


@pytest.mark.parametrize("text", ["a = b = c", "a < b < c", "a LIKE b LIKE c"])
def test_comparisons_do_not_chain(text: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_scalar(text)
    assert caught.value.sqlstate == "42601"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a<-1", ["a", "<", "-", "1"]),
        ("a@-1", ["a", "@-", "1"]),
        ("a->>'k'", ["a", "->>", "k"]),
        ("1--2\n+3", ["1", "+", "3"]),
        ("a/*x/*y*/*/+b", ["a", "+", "b"]),
        ("'a'\n'b'", ["ab"]),
        ("E'\\x41\\n\\''", ["A\n'"]),
        ("$q$it's$q$", ["it's"]),
        ("U&'\\0041'", ["A"]),
        ("1.5e3 .5 1.", ["1.5e3", ".5", "1."]),
        ('Ab "Ab" Äb', ["ab", "Ab", "Äb"]),
        ("a!=b", ["a", "<>", "b"]),
        ("x::int[1:2]", ["x", "::", "int", "[", "1", ":", "2", "]"]),
    ],
)
def test_tokens_fall_apart_as_in_postgresql(text: str, values: list[str]) -> None:
    assert [token.value for token in tokenize(text)][:-1] == values


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("SELECT 1 +", "Expected an expression, found EOF", 11),
        ("SELECT 1 FROM", "Expected a table name, a function or a subquery, found EOF", 14),
        ("SELECT (1", "Expected right parenthesis, found EOF", 10),
        ("SELECT 1 2", 'Expected end of statement, found number "2"', 10),
        ("SELECT a FROM t WHERE ORDER BY 1", "Expected an expression, found ORDER", 23),
        ("SELECT 'abc", "unterminated quoted string", 8),
        ('SELECT ""', "zero-length quoted identifier", 8),
        ("SELECT 1 /* x", "unterminated multi-line comment", 10),
        ("SELECT 12ab", 'trailing junk after numeric literal at or near "12a"', 8),
        ("VALUES (1), (2, 3)", "VALUES lists must all be the same length", 1),
        ("SELECT * FROM a JOIN b", "Expected ON, or USING after JOIN, found EOF", 23),
        (
            "DELETE FROM t",
            'Expected SELECT, VALUES, or a subquery in the query body, found identifier "delete"',
            1,
        ),
        ("SELECT 1 FROM t t2 x", 'Expected end of statement, found identifier "x"', 20),
    ],
)
def test_a_text_that_is_no_query_is_refused_where_it_goes_wrong(
    text: str, message: str, position: int
) -> None:
    with pytest.raises(UserError) as caught:
        parse_query(text)
    assert (caught.value.message, caught.value.sqlstate, caught.value.position) == (
        message,
        "42601",
        position,
    )


@pytest.mark.parametrize(
    "text",
    [
        "WITH MUTUALLY RECURSIVE r (a int) AS (SELECT 1) SELECT * FROM r",
        "WITH RECURSIVE r AS (SELECT 1) SEARCH DEPTH FIRST BY a SET b SELECT * FROM r",
        "WITH RECURSIVE r AS (SELECT 1) CYCLE a SET b USING c SELECT * FROM r",
        "SELECT * FROM s TABLESAMPLE system (1)",
        "SELECT * FROM s FOR UPDATE",
        "SELECT * FROM s FETCH FIRST 1 ROW WITH TIES",
        "SELECT a FROM s ORDER BY a USING <",
        "SELECT * FROM ROWS FROM (generate_series(1, 2))",
        "SELECT sum(a) OVER (ORDER BY a ROWS 1 PRECEDING EXCLUDE TIES) FROM s",
        "SELECT B'101'",
        "SELECT f(a => 1)",
        "SELECT 1 INTO x",
        "SELECT s FROM s",
        "SELECT 'x'::point",
    ],
)
def test_what_we_do_not_do_is_said_so(text: str) -> None:
    assert failure(text).sqlstate == "0A000"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("(", ")"),
        ("NOT ", ""),
        ("- ", ""),
        ("abs(", ")"),
        ("CASE WHEN true THEN ", " END"),
        ("(SELECT ", ")"),
    ],
)
def test_deep_nesting_is_an_error_and_never_a_crash(before: str, after: str) -> None:
    shallow, deep = EXPRESSION_DEPTH_MAX // 4, EXPRESSION_DEPTH_MAX * 50
    body = "true" if before == "NOT " else "1"
    assert plan("SELECT " + before * shallow + body + after * shallow).output
    assert failure("SELECT " + before * deep + body + after * deep).sqlstate == "54001"


@pytest.mark.parametrize("joint", [" + ", " || ", " -> ", " UNION SELECT "])
def test_a_chain_too_long_to_walk_is_an_error(joint: str) -> None:
    assert failure("SELECT " + joint.join(["1"] * (EXPRESSION_DEPTH_MAX + 2))).sqlstate == "54001"


def test_long_conjunctions_and_lists_are_not_deep() -> None:
    many = EXPRESSION_DEPTH_MAX * 10
    assert run("SELECT count(*) FROM s WHERE " + " OR ".join(["a = 1"] * many)) == (("2",),)
    assert run(f"SELECT count(*) FROM s WHERE a IN ({', '.join(['4'] * many)})") == (("1",),)
    assert run("SELECT count(*) FROM (VALUES " + ", ".join(["(1)"] * many) + ") v") == ((str(many),),)


WORDS = """
    SELECT FROM WHERE GROUP BY ORDER LIMIT UNION ( ) , * . [ ] :: = < || -> AND OR NOT IS NULL IN BETWEEN
    LIKE CASE WHEN THEN ELSE END CAST AS a t s.a 1 1.5 'x' $1 count sum OVER PARTITION ROWS JOIN ON USING
    LATERAL VALUES WITH EXISTS ANY ARRAY INTERVAL date int text EXTRACT HAVING DISTINCT ; -- /* E' " $$
"""


def complaint(text: str) -> UserError | None:
    try:
        plan(text)
    except UserError as error:
        return error
    return None


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS.split()), max_size=25).map(" ".join) | st.text(max_size=40))
def test_any_text_is_planned_or_refused_with_an_error_of_ours(text: str) -> None:
    error = complaint("SELECT " + text)
    if error is not None:
        assert error.message
        assert 0 <= error.position <= len(text) + 9


def test_chains_compute_from_the_left() -> None:
    assert one("SELECT 2 ^ 3 ^ 2") == "64"
    assert one("SELECT - 2 ^ 2") == "4"
    assert one("SELECT 100 / 10 / 5") == "2"
    assert one("SELECT 7 - 3 - 2") == "2"


@pytest.mark.parametrize("number", ["0", "65536", "999999999999", "9" * 5_000])
def test_parameters_have_numbers_that_the_protocol_can_count(number: str) -> None:
    found = failure(f"SELECT ${number}::int")
    assert (found.sqlstate, found.position) == ("42P02", 8)
