"""Secrets inside statements: what is shown of a statement or of its error has no value in it.

Method: statements that hold a secret in every place where one may stand, and errors that quote them.
"""

from __future__ import annotations

import pytest

from headwater.core.errors import UserError
from headwater.sql.cursor import SqlText
from headwater.sql.parse import parse_statement
from headwater.sql.secret_values import concealed
from headwater.sql.statement import shown_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("create secret a.s  as 'hunter2'", "CREATE SECRET a.s AS '********';"),
        ("CREATE SECRET IF NOT EXISTS s AS x'68'", "CREATE SECRET IF NOT EXISTS s AS '********';"),
        ("alter secret s as decode('aHVudGVyMg==', 'base64')", "ALTER SECRET s AS '********'"),
        (
            "create connection c to postgres (host h, password 'hunter2', ssl key 'hunter2')",
            "CREATE CONNECTION c\nTO POSTGRES (HOST = 'h', PASSWORD = '********', SSL KEY = '********');",
        ),
        (
            "create connection c for postgres password hunter2",
            "CREATE CONNECTION c\nTO POSTGRES (PASSWORD = '********');",
        ),
        (
            "alter connection c set (sasl password = 'hunter2'), drop (port)",
            "ALTER CONNECTION c SET (SASL PASSWORD = '********'), DROP (PORT)",
        ),
    ],
)
def test_a_value_is_not_shown(text: str, shown: str) -> None:
    assert shown_text(parse_statement(text), text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "create  connection c to postgres (host 'h', password secret s)",
        "alter  connection c set (host 'h')",
        "select  'hunter2'",
    ],
)
def test_what_has_no_value_is_shown_as_it_was_written(text: str) -> None:
    assert shown_text(parse_statement(text), text) == text


def test_no_statement_is_shown_as_it_was_written() -> None:
    assert shown_text(None, "-- nothing") == "-- nothing"


@pytest.mark.parametrize(
    "text", ["CREATE SECRET s 'hunter2'", "ALTER SECRET s AS", "CREATE SECRET 'hunter2'"]
)
def test_an_error_of_the_grammar_has_its_place(text: str) -> None:
    with pytest.raises(UserError) as refused:
        parse_statement(text)
    assert (refused.value.sqlstate, refused.value.position > 0) == ("42601", True)
    if " s " in text:
        assert "hunter2" not in refused.value.message


def test_literals_are_taken_out_of_an_error_wherever_they_stand() -> None:
    long = "x" * 300
    value = SqlText(f"'hunter2'::int || '{long}' || ''")
    error = UserError(
        f'invalid input syntax for type integer: "hunter2" near "{long[:80]}..."',
        "22P02",
        detail="hunter2 is not a number",
        hint='use "decode"',
        position=7,
    )
    told = concealed(error, value)
    assert told.message == 'invalid input syntax for type integer: "********" near "********"'
    assert (told.detail, told.hint) == ("******** is not a number", 'use "decode"')
    assert (told.sqlstate, told.position) == ("22P02", 7)
