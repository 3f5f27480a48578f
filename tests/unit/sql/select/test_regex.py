"""Regular expressions end, whatever they are, and ask of letters what PostgreSQL asks.

Method: patterns that keep an engine that goes back and tries again busy for years, under a thread that
counts how often it gets its turn; every character of Unicode against the rule that it is translated from.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from headwater.core.errors import UserError
from headwater.core.limits import REGEX_S_MAX
from headwater.sql.select.kernels import regex
from headwater.sql.select.kernels.letters import of_word

SLOW = [
    ("(a|aa)+$", "a" * 80 + "b"),
    ("([a-z]+)*[0-9]", "a" * 5_000),
    ("(a|b|ab)*$", "ab" * 60 + "!"),
    ("([[:alnum:]]+_?)*$", "a1" * 2_000 + "!"),
]
SLOW_S_MAX = 10 * REGEX_S_MAX


def turns_during(work: Callable[[], object]) -> int:
    """How often another thread got its turn while `work` ran."""
    ended = threading.Event()
    turns = 0

    def count() -> None:
        nonlocal turns
        while not ended.wait(0.01):
            turns += 1

    thread = threading.Thread(target=count)
    thread.start()
    try:
        work()
    finally:
        ended.set()
        thread.join()
    return turns


@pytest.mark.parametrize(("pattern", "text"), SLOW)
def test_a_pattern_that_would_take_years_is_an_error_and_others_go_on_meanwhile(
    pattern: str, text: str
) -> None:
    def match() -> None:
        with pytest.raises(UserError, match="takes too long with a text of") as raised:
            regex.matches(pattern, text)
        assert raised.value.sqlstate == "54001"
        assert raised.value.hint is not None

    began_s = time.monotonic()
    turns = turns_during(match)
    assert time.monotonic() - began_s < SLOW_S_MAX
    assert turns > 10


def test_all_matches_of_a_text_share_its_time() -> None:
    """Of each place every end is tried, and no try takes long by itself."""
    pattern = regex.compiled("[a-y]+[0-9]*[a-y]+[0-9]*")
    began_s = time.monotonic()
    with pytest.raises(UserError, match="takes too long"):
        list(regex.find_all(pattern, ("a" * 2_000 + "z") * 200))
    assert time.monotonic() - began_s < SLOW_S_MAX


@pytest.mark.parametrize(
    ("pattern", "quick"),
    [
        ("a+b", True),
        ("^.*x$", True),
        ("a|b|c", True),
        ("a+b+", False),
        ("(a+)+", False),
        ("(a|b)*", False),
        ("(?:ab){3}", False),
        (r"(a)\1*", False),
        ("[[:alpha:][:digit:]]+", False),
    ],
)
def test_only_patterns_of_one_plain_repetition_go_unwatched(pattern: str, quick: bool) -> None:
    assert regex.compiled(pattern).quick is quick


def test_what_belongs_to_a_word_is_so_for_every_character_or_refused() -> None:
    wrong, refused = [], 0
    for code in range(0x80, 0x30000):
        if 0xD800 <= code < 0xE000:
            continue
        letter = chr(code)
        try:
            if regex.matches(r"^\w$", letter) is not of_word(letter):
                wrong.append(letter)
        except UserError as error:
            refused += error.sqlstate == "0A000"
    assert not wrong
    assert refused < 12_000  # marks whose class is not known, and what Unicode has not assigned long ago


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"\mfoo\M", "a foo b", True),
        (r"\mfoo\M", "a food b", False),
        (r"\yoo", "foo", False),
        (r"\Yoo", "foo", True),
        (r"é\y", "né", True),
        (r"^[[:alpha:]_]+$", "abc_é", True),
        (r"^[[:alpha:]]+$", "a1", False),
        (r"^[^[:alpha:]]+$", "12!", True),
        (r"^[\w-]+$", "a-b1", True),
        (r"\W", "a½b", True),
        (r"(?<=a|bcd)x", "bcdx", True),
    ],
)
def test_words_are_made_of_letters_digits_and_underscores(pattern: str, text: str, found: bool) -> None:
    assert regex.matches(pattern, text) is found
