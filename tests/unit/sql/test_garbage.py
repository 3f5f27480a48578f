"""Garbage: whatever the text, the answer is a statement or a UserError, soon.

Method: ten thousand texts made from good statements by deleting, doubling, exchanging and
inserting tokens and characters, from a fixed seed; what still parses must also survive
rendering.  Then texts built to hurt (deep, long, unterminated), each at two lengths: four
times the text may not take much more than four times as long.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from time import thread_time

import pytest

from headwater.core.errors import UserError
from headwater.core.limits import STATEMENT_BYTES_MAX
from headwater.sql.lexer import tokenize
from headwater.sql.parse import Parsed, parse_statement, parse_statements, render
from headwater.sql.words import KEYWORDS
from tests.unit.sql.samples import SAMPLES

TEXT_COUNT = 10_000
SEED = 20261115

# Everything a parser may say: syntax, not supported, types, numbers, intervals, planning.
SQLSTATES = {
    "42601",
    "42622",
    "0A000",
    "42704",
    "22003",
    "22007",
    "22015",
    "22023",
    "54000",
    "54001",
    "XX000",
}

_SYMBOLS = """
( ) [ ] , ; . : :: := => = <> -> - + * / % ' " $$ $1 $x$ -- /* */ 0 1 1.5 1e5 .5 99999999999999999999
"""
PIECES = (
    *sorted(KEYWORDS),
    *_SYMBOLS.split(),
    "'x'",
    "E'\\n'",
    "X'1f'",
    '"A b"',
    "'1 day'",
    "é",
    "\U0001f600",
    "\x01",
    "\t",
    "\n",
    "\u00a0",
    "\ud800",
    "'" + "1" * 5000 + "'",
    "1" * 5000,
    "x" * 300,
)


def mutated(chance: random.Random) -> str:
    """A good statement with a few accidents."""
    text = chance.choice(SAMPLES)
    tokens = [text[token.start : token.end] for token in tokenize(text)[:-1]]
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(tokens) + 1)
        match chance.randrange(7):
            case 0:
                del tokens[place : place + chance.randint(1, 3)]
            case 1:
                tokens.insert(place, chance.choice(PIECES))
            case 2:
                tokens[place : place + 1] = [chance.choice(PIECES)]
            case 3:
                tokens[place:place] = tokens[place : place + 4]
            case 4:
                tokens = tokens[:place] + tokens[place : place + 3][::-1] + tokens[place + 3 :]
            case 5:
                tokens = tokens[:place] + chance.choice(SAMPLES).split()[chance.randint(0, 4) :]
            case _:
                joined = " ".join(tokens)
                cut = chance.randrange(len(joined) + 1)
                tokens = [joined[:cut], chance.choice(["", "'", '"', "(", ")", "\\", "$"]), joined[cut + 1 :]]
    return chance.choice([" ", " ", "\n", ""]).join(tokens)


def outcome(text: str) -> tuple[Parsed, ...] | UserError:
    try:
        return parse_statements(text)
    except UserError as error:
        return error


def test_mutated_statements_parse_or_are_refused_with_a_position() -> None:
    chance = random.Random(SEED)
    refused_count = 0
    for _ in range(TEXT_COUNT):
        text = mutated(chance)
        result = outcome(text)
        if isinstance(result, UserError):
            refused_count += 1
            assert result.sqlstate in SQLSTATES, (text, result)
            assert 1 <= result.position <= len(text) + 1, (text, result)
            assert result.message, text
            continue
        for one in result:
            assert text[one.offset :].startswith(one.text)
            assert parse_statement(one.text) == one.statement, text
            assert parse_statement(render(one.statement)) == one.statement, text
    # Most accidents must be noticed, and some statements must survive them.
    assert TEXT_COUNT * 0.4 < refused_count < TEXT_COUNT * 0.95


def test_random_characters_are_refused() -> None:
    chance = random.Random(SEED)
    alphabet = [chr(code) for code in range(128)] + list("äß\u00a0\ud83d\U0001f600")
    for _ in range(3_000):
        text = "".join(chance.choices(alphabet, k=chance.randint(1, 30)))
        result = outcome(text)
        # Only spaces, comments and semicolons make no error, and then there is no statement.
        assert result == () or (isinstance(result, UserError) and result.sqlstate in SQLSTATES), text


HURTFUL: dict[str, Callable[[int], str]] = {
    "open parentheses": lambda n: "SELECT " + "(" * n,
    "parentheses all the way down": lambda n: "(" * n + "SELECT 1" + ")" * n,
    "nested maps": lambda n: "CREATE TABLE t (a " + "map[text=>" * n,
    "lists of lists": lambda n: "CREATE TABLE t (a int" + " list" * n + ")",
    "operators that could be split": lambda n: "SELECT " + "+-" * n,
    "operators that could not": lambda n: "SELECT " + "@-" * n,
    "comments": lambda n: "/*" * n,
    "quotes": lambda n: "'" * (2 * n + 1),
    "double quotes": lambda n: '"' * (2 * n + 1),
    "dollars": lambda n: "$a$" * (2 * n + 1),
    "strings over many lines": lambda n: "SELECT 'a'" + "\n'a'" * n,
    "from": lambda n: "CREATE TABLE t " + "FROM " * n,
    "as of": lambda n: "SELECT 1 " + "AS OF " * n,
    "names": lambda n: "DROP TABLE a" + ".a" * n,
    "many names": lambda n: "DROP TABLE a" + ", a" * n,
    "many statements": lambda n: "SELECT 1;" * n,
    "prepare of prepare": lambda n: "PREPARE a AS " * n,
    "explain of explain": lambda n: "EXPLAIN " * n,
    "digits": lambda n: "FETCH " + "1" * n + " c",
    "a long interval": lambda n: f"ALTER SOURCE s SET (TIMESTAMP INTERVAL '{'1 day ' * n}')",
    "not null": lambda n: "CREATE TABLE t (a int DEFAULT 1" + " NOT" * n + ")",
}


def seconds_of(text: str) -> float:
    """The best of three runs in processor time, which a busy machine does not stretch."""
    best = float("inf")
    for _ in range(3):
        start = thread_time()
        outcome(text)
        best = min(best, thread_time() - start)
    return best


@pytest.mark.parametrize("kind", HURTFUL)
def test_time_grows_with_the_text_and_not_with_its_square(kind: str) -> None:
    make = HURTFUL[kind]
    short, long = seconds_of(make(2_500)), seconds_of(make(20_000))
    # Eight times the text; a square would be sixty-four times the time.
    assert long < short * 24 + 0.05


def test_a_text_beyond_the_limit_is_refused_before_it_is_read() -> None:
    with pytest.raises(UserError, match="is longer than") as refused:
        parse_statements("é" * (STATEMENT_BYTES_MAX // 2 + 1))
    assert refused.value.sqlstate == "54000"
