"""The lexer: tokens with exact places.

Method: a table of texts and the tokens they are; a property that tokens lie in order,
do not overlap, and leave only space and comments between them; a table of texts that end too early.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import UserError
from headwater.sql.lexer import tokenize


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Select foo", [("word", "select"), ("word", "foo")]),
        ("a$1 _b Größe", [("word", "a$1"), ("word", "_b"), ("word", "größe")]),
        ('"A ""b"" c"', [("quoted", 'A "b" c')]),
        ("'it''s'", [("string", "it's")]),
        ("''", [("string", "")]),
        (r"'a\n'", [("string", r"a\n")]),
        (r"E'a\n\t\\\'\x41\101\u00e9\U0001F600'", [("string", "a\n\t\\'AAé\U0001f600")]),
        (r"e'\xc3\xa9\uD83D\uDE00'", [("string", "é\U0001f600")]),
        ("'a'\n  'b' -- c\n 'd'", [("string", "abd")]),
        ("'a' 'b'", [("string", "a"), ("string", "b")]),
        ("$$it's$$", [("string", "it's")]),
        ("$tag$ $$ $x$ $tag$", [("string", " $$ $x$ ")]),
        ("$1 $23", [("parameter", "$1"), ("parameter", "$23")]),
        ("X'1F' b'01'", [("hex", "1F"), ("hex", "01")]),
        ("1 1.5 .5 1. 1e5 1.5E-3", [("number", n) for n in ("1", "1.5", ".5", "1.", "1e5", "1.5E-3")]),
        ("1..2", [("number", "1"), ("symbol", ".."), ("number", "2")]),
        ("N'a' n", [("string", "a"), ("word", "n")]),
        (r"U&'\0041\\\+01F600\D83D\DE00'", [("string", "A\\\U0001f600\U0001f600")]),
        (r'u&"\0041b"', [("quoted", "Ab")]),
        ("u & 'a'", [("word", "u"), ("symbol", "&"), ("string", "a")]),
        ("E'a\\n'\n'b\\'c'", [("string", "a\nb'c")]),
        ("X'1F'\n'2E'", [("hex", "1F2E")]),
        ("a != b", [("word", "a"), ("symbol", "<>"), ("word", "b")]),
        ("ÄB Straße", [("word", "Äb"), ("word", "straße")]),
        ("a::int[]", [("word", "a"), ("symbol", "::"), ("word", "int"), ("symbol", "["), ("symbol", "]")]),
        ("a->>'b'", [("word", "a"), ("symbol", "->>"), ("string", "b")]),
        ("1=-1", [("number", "1"), ("symbol", "="), ("symbol", "-"), ("number", "1")]),
        ("a @- b", [("word", "a"), ("symbol", "@-"), ("word", "b")]),
        ("a <>-- b\n c", [("word", "a"), ("symbol", "<>"), ("word", "c")]),
        ("a */* b */ c", [("word", "a"), ("symbol", "*"), ("word", "c")]),
        ("a /* b /* c */ d */ e", [("word", "a"), ("word", "e")]),
        ("a -- b", [("word", "a")]),
        ("k => v", [("word", "k"), ("symbol", "=>"), ("word", "v")]),
        ("a\u00a0b", [("word", "a"), ("word", "b")]),
        ("", []),
    ],
)
def test_a_text_is_these_tokens(text: str, tokens: list[tuple[str, str]]) -> None:
    *found, end = tokenize(text)
    assert [(token.kind, token.value) for token in found] == tokens
    assert (end.kind, end.start) == ("end", len(text))


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("SELECT 'abc", "unterminated quoted string", 8),
        ("SELECT 'abc''", "unterminated quoted string", 8),
        (r"SELECT E'abc\'", "unterminated quoted string", 8),
        ("SELECT 'a'\n'b", "unterminated quoted string", 12),
        ('SELECT "abc', "unterminated quoted identifier", 8),
        ('SELECT ""', "zero-length quoted identifier", 8),
        ("SELECT $a$ b $$", "unterminated dollar-quoted string", 8),
        ("SELECT X'12", "unterminated bit string literal", 8),
        ("é /* /* */", "unterminated multi-line comment", 3),
        ("SELECT \x01", 'character "\x01" cannot begin a word', 8),
        ("SELECT 'a\0'", "a statement cannot contain a zero character", 10),
        (r"SELECT E'a\u12'", r"a Unicode escape is \uXXXX or \UXXXXXXXX", 11),
        (r"SELECT E'\x00'", r"escape \x00 is not a character", 10),
        (r"SELECT E'\400'", r"escape \400 is not a character", 10),
        (r"SELECT E'\U00110000'", r"escape \U00110000 is not a character", 10),
        (r"SELECT E'\xff'", "escapes of a string do not make characters of UTF-8", 8),
        (r"SELECT E'\uD83D'", "escapes of a string do not make characters of UTF-8", 8),
        (r"SELECT U&'\004'", r"a Unicode escape is \XXXX or \+XXXXXX", 8),
        (r"SELECT U&'\0000'", r"escape \0000 is not a character", 8),
        (r"SELECT U&'\+110000'", r"escape \+110000 is not a character", 8),
        (r"SELECT U&'\D83D'", "escapes of a string do not make characters of UTF-8", 8),
        ("SELECT U&'a", "unterminated quoted string", 8),
        ("SELECT 1e x", 'trailing junk after numeric literal at or near "1e"', 8),
        ("SELECT 12ab", 'trailing junk after numeric literal at or near "12a"', 8),
    ],
)
def test_what_is_not_a_token_is_refused_where_it_begins(text: str, message: str, position: int) -> None:
    with pytest.raises(UserError) as refused:
        tokenize(text)
    assert (refused.value.message, refused.value.sqlstate) == (message, "42601")
    assert refused.value.position == position


def test_an_identifier_of_255_bytes_is_allowed() -> None:
    assert tokenize("x" * 255)[0].value == "x" * 255
    assert tokenize("é" * 127)[0].value == "é" * 127


@pytest.mark.parametrize("name", ["é" * 128, '"' + "x" * 256 + '"'])
def test_a_longer_identifier_is_refused_and_not_cut(name: str) -> None:
    with pytest.raises(UserError, match="identifier length exceeds 255 bytes") as refused:
        tokenize(f"SELECT {name}")
    assert (refused.value.sqlstate, refused.value.position) == ("42622", 8)


@given(st.text("aA1_ .,;:()[]'\"$+-*/<>=@\n\\exé", max_size=60))
def test_tokens_are_in_order_and_only_space_and_comments_are_between_them(text: str) -> None:
    try:
        tokens = tokenize(text)
    except UserError as error:
        assert 1 <= error.position <= len(text)  # noqa: PT017
        return
    place = 0
    for token in tokens:
        assert token.start >= place
        between = text[place : token.start].strip()
        assert not between or between.startswith(("--", "/*")), between
        assert token.end > token.start or token.kind == "end"
        place = token.end


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("select", "SELECT"),
        ("frob", 'identifier "frob"'),
        ("croß", 'identifier "croß"'),
        ('"select"', 'identifier "select"'),
        ("'x'", 'string literal "x"'),
        ("X'1f'", 'hex string literal "1f"'),
        ("1.5", 'number "1.5"'),
        ("$1", 'parameter "$1"'),
        ("(", "left parenthesis"),
        (",", "comma"),
        ("=", "equals sign"),
        ("<=", 'operator "<="'),
        ("", "EOF"),
        ("'" + "x" * 500 + "'", f'string literal "{"x" * 80}..."'),
    ],
)
def test_errors_name_a_token_like_this(text: str, shown: str) -> None:
    assert str(tokenize(text)[0]) == shown
