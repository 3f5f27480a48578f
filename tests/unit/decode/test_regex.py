"""REGEX: a batch has the groups that one search finds in each message.

Method: random texts over few letters, among them those that the engines see differently, with expressions
that RE2 takes and others, against the `regex` package.
"""

from __future__ import annotations

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.core.errors import UserError
from headwater.decode.regex import REGEX
from tests.unit.decode.batches import decode

_PATTERNS = (
    r"(a+)(b)?",
    r"(?P<first>a|b*) (?P<rest>.*)",
    r"^(\w+)\s(\d+)$",
    r"([ab(\]]+)\\?(c)",
    r"(a)(?=b)",
    r"(.)\1(b*)",
    r"(?i)(A)(b|c)|(é)",
    r"\((a)\)",
    r"(a(b)?)*(c{0,2})",
    r"(?:a|(b))(?<last>c)?",
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(_PATTERNS), st.lists(st.text("abcA1 é\v\n()", max_size=8), max_size=6))
def test_a_batch_has_the_groups_of_its_messages(pattern: str, texts: list[str]) -> None:
    columns, errors = decode(REGEX, {"pattern": pattern}, [text.encode() for text in texts])
    for row, text in enumerate(texts):
        found = regex.search(pattern.replace("$", r"\Z"), text)
        assert errors[row] == (None if found else "REGEX: the expression does not match")
        assert [column[row] for column in columns] == list(
            found.groups() if found else [None] * len(columns)
        ), (text, pattern)


def test_columns_are_named_as_the_groups_are() -> None:
    columns = REGEX.columns({"pattern": r"(?P<host>\S+) (\d+) (?<path>/\S*) [(] \("})
    assert [column.name for column in columns] == ["host", "column2", "path"]


def test_messages_that_are_no_text_are_errors() -> None:
    columns, errors = decode(REGEX, {"pattern": "(a)"}, [b"a", b"\xff", b"b"])
    assert columns == [["a", None, None]]
    assert errors[1] == 'REGEX: invalid byte sequence for encoding "UTF8"'


@pytest.mark.parametrize("pattern", ["(", "a+", "(?:a)"])
def test_an_expression_that_finds_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(UserError):
        REGEX.columns({"pattern": pattern})
