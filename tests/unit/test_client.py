"""The small client: events as the server sent them, errors as they were, scripts cut where psql would.

Method: a canned server on a real socket; the splitter against scripts whose
semicolons hide in every kind of quote.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from headwater import client_output
from headwater.client import Client, Columns, Copied, Done, Notice, Row, split_statements
from headwater.core.errors import TransientError, UserError
from headwater.options import Address
from tests.unit import canned_server


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    listener, _ = canned_server.listen("127.0.0.1", 0)
    yield Address("127.0.0.1", listener.getsockname()[1])
    listener.close()


@pytest.fixture
def client(address: Address) -> Iterator[Client]:
    with Client(address) as connected:
        yield connected


def test_a_query_yields_columns_rows_and_its_tag(client: Client) -> None:
    assert list(client.run("SELECT")) == [
        Columns(("n", "t")),
        Row(("1", "ä\tb")),
        Row((None, "")),
        Done("SELECT 2"),
    ]


def test_an_error_is_raised_as_it_was_and_the_connection_goes_on(client: Client) -> None:
    with pytest.raises(UserError) as raised:
        client.rows("SELECT * FROM nope")
    error = raised.value
    assert (error.message, error.sqlstate) == ('unknown catalog item "nope"', "42P01")
    assert (error.hint, error.position) == ("Did you mean hope?", 15)
    assert client.rows("SELECT") == [("1", "ä\tb"), (None, "")]


def test_notices_and_copied_data_come_in_their_place(client: Client) -> None:
    notice = Notice("NOTICE", "it exists already", "Drop it.")
    assert list(client.run("CREATE notice")) == [notice, Done("CREATE SOURCE")]
    assert list(client.run("COPY t TO STDOUT")) == [Copied(b"1\ta\n"), Done("COPY 1")]


def test_a_server_that_hangs_up_is_a_transient_error(client: Client) -> None:
    with pytest.raises(TransientError, match="closed the connection"):
        client.rows("hang up")


def test_nobody_listening_is_a_transient_error_that_says_what_to_type() -> None:
    with pytest.raises(TransientError, match="could not connect") as raised:
        Client(Address("127.0.0.1", 1))
    assert "headwater server" in (raised.value.hint or "")


@pytest.mark.parametrize(
    ("script", "statements"),
    [
        ("", []),
        (" ;; -- nothing;\n /* ; */ ", []),
        ("SELECT 1; SELECT 2", ["SELECT 1", "SELECT 2"]),
        ("SELECT ';', 'it''s;'; x", ["SELECT ';', 'it''s;'", "x"]),
        (r"SELECT E'\';'; x", [r"SELECT E'\';'", "x"]),
        (r"SELECT '\'; x", [r"SELECT '\'", "x"]),
        ('SELECT ";"""; x', ['SELECT ";"""', "x"]),
        ("SELECT $a$ ; $$ ; $a$, $$;$$; x", ["SELECT $a$ ; $$ ; $a$, $$;$$", "x"]),
        ("a /* ; /* ; */ ; */ b; c", ["a /* ; /* ; */ ; */ b", "c"]),
        ("a - b -- ;\n; c", ["a - b -- ;", "c"]),
        ("SELECT 'open; end", ["SELECT 'open; end"]),
        ("x /* open ; end", ["x /* open ; end"]),
    ],
)
def test_a_script_is_cut_at_semicolons_that_end_statements(script: str, statements: list[str]) -> None:
    assert split_statements(script) == statements


@given(st.text(alphabet="a;'\"$-/*\\ \nE"))
def test_cutting_any_text_ends_and_invents_nothing(script: str) -> None:
    offset = 0
    for statement in split_statements(script):
        assert statement
        offset = script.index(statement, offset) + len(statement)


def test_rows_for_programs_are_tabbed_and_escaped() -> None:
    assert client_output.line_of(("a\tb", None, "", "c\\d\ne")) == "a\\tb\t\\N\t\tc\\\\d\\ne"


def test_a_script_prints_rows_only_and_stops_at_the_first_error(
    address: Address, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UserError, match="nope"):
        client_output.run_script("CREATE notice; SELECT 1; FROM nope; SELECT 1", address, "u", "d")
    out, err = capsys.readouterr()
    assert out == "1\tä\\tb\n\\N\t\n"
    assert err == "NOTICE:  it exists already\nHINT:   Drop it.\n"


def test_a_table_for_people_shows_names_nulls_and_a_count(
    client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = io.StringIO()
    client_output._draw(client.run("SELECT 1"), Console(file=drawn, width=60))
    client_output._draw(client.run("CREATE"), Console(file=drawn))
    assert "null" in drawn.getvalue()
    assert " n " in drawn.getvalue()
    assert capsys.readouterr().out == "(2 rows)\nCREATE TABLE\n"
