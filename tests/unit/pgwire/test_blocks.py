"""Whatever a client is told of an error, the transaction has failed before.

Method: what can go wrong between messages in and out, each inside of a block, between the statements of one
query, and in a pipeline.  What a whole environment answers to errors that PostgreSQL knows too is in
tests/wire/test_failures.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs

from headwater.core.limits import STATEMENT_BYTES_MAX
from headwater.core.types import INT4
from tests.support.wire.driver import (
    COPY_DONE,
    SYNC,
    Client,
    bind,
    describe,
    error_of,
    execute,
    goodbye,
    kinds,
    message,
    parse,
    query,
    text,
)
from tests.support.wire.fake_sessions import FakeSessions, relation

STATEMENTS = {
    "a statement that fails": ("fail 22012 x", "22012"),
    "a bug of ours": ("bug", "XX000"),
    "an error after rows": ("broken three", "22000"),
    "a disk that does not answer": ("lost three", "58030"),
    "rows that cannot be encoded": ("odd three", "XX000"),
    "an error while copying out": ("copy out text nix", "42P01"),
}
MESSAGES = {
    "a value that is too short": (parse("echo int4") + bind((b"\x00",), (1,)), "22P03"),
    "a value that cannot be sent": (parse("odd three") + bind() + execute(), "XX000"),
    "a portal that is not there": (execute(0, "nix"), "34000"),
    "a statement that is not there": (describe("S", "nix"), "26000"),
    "data that is poison": (
        parse("copy in text") + bind() + execute() + message("d", b"poison") + COPY_DONE,
        "22P04",
    ),
    "data that is given up": (
        parse("copy in text") + bind() + execute() + message("f", text("no")),
        "57014",
    ),
    "a query in the middle of data": (parse("copy in text") + bind() + execute() + query("do X"), "08P01"),
}


@pytest.fixture
def sessions() -> FakeSessions:
    return FakeSessions(relations={"three": relation({"a": (INT4, [1, 2, 3])})})


@pytest.fixture
def client(sessions: FakeSessions) -> Iterator[Client]:
    client = Client(sessions)
    client.start()
    yield client
    goodbye(client)


def run(sql: str) -> bytes:
    return parse(sql) + bind() + execute()


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_query_that_fails_fails_the_block(client: Client, name: str) -> None:
    sql, sqlstate = STATEMENTS[name]
    client.send(query("begin"))
    with capture_logs():
        replies = client.send(query(sql))
    assert error_of(replies)["C"] == sqlstate
    assert replies[-1] == ("Z", b"E")
    replies = client.send(query("do X"))
    assert (error_of(replies)["C"], replies[-1]) == ("25P02", ("Z", b"E"))
    assert client.send(query("commit")) == [("C", b"ROLLBACK\x00"), ("Z", b"I")]


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_query_that_fails_fails_the_statements_around_it(
    client: Client, sessions: FakeSessions, name: str
) -> None:
    sql, sqlstate = STATEMENTS[name]
    with capture_logs():
        replies = client.send(query(f"do X; {sql}; do Y"))
    assert error_of(replies)["C"] == sqlstate
    assert replies[-1] == ("Z", b"I")
    assert sessions.calls[-2:] == ["fail", "finish failed"]
    assert "execute do Y" not in sessions.calls


@pytest.mark.parametrize("name", [*STATEMENTS, *MESSAGES])
def test_a_message_that_fails_fails_the_pipeline(client: Client, sessions: FakeSessions, name: str) -> None:
    data, sqlstate = MESSAGES.get(name) or (run(STATEMENTS[name][0]), STATEMENTS[name][1])
    with capture_logs():
        replies = client.send(run("do X") + data + run("do Y") + SYNC)
    assert error_of(replies)["C"] == sqlstate
    assert replies[-1] == ("Z", b"I")
    assert sessions.calls[-2:] == ["fail", "finish failed"]
    assert "execute do Y" not in sessions.calls


@pytest.mark.parametrize("name", [*STATEMENTS, *MESSAGES])
def test_a_message_that_fails_fails_the_block(client: Client, name: str) -> None:
    data, sqlstate = MESSAGES.get(name) or (run(STATEMENTS[name][0]), STATEMENTS[name][1])
    client.send(query("begin"))
    with capture_logs():
        replies = client.send(data + SYNC)
    assert error_of(replies)["C"] == sqlstate
    assert replies[-1] == ("Z", b"E")
    assert client.send(query("commit")) == [("C", b"ROLLBACK\x00"), ("Z", b"I")]


def test_a_block_has_failed_before_the_client_is_told(client: Client, sessions: FakeSessions) -> None:
    client.send(query("begin"))
    client.send(query("syntax"))
    assert next(iter(sessions.open.values())).block == "E"
    assert sessions.calls[-2:] == ["fail", "finish failed"]


def test_a_statement_that_is_too_long_fails_the_block(client: Client) -> None:
    client.send(query("begin"))
    replies = client.send(query("x" * STATEMENT_BYTES_MAX))
    assert (error_of(replies)["C"], replies[-1]) == ("54000", ("Z", b"E"))


def test_portals_from_before_a_savepoint_go_on_after_an_error(client: Client, sessions: FakeSessions) -> None:
    client.send(query("begin") + parse("rows three", "s") + bind((), (), (), "old", "s") + SYNC)
    assert kinds(client.send(execute(1, "old") + SYNC)) == "DsZ"
    client.send(query("savepoint") + bind((), (), (), "new", "s") + execute(1, "new") + SYNC)
    client.send(query("syntax"))
    assert sessions.closed_results == 1, "only what began after the savepoint has failed"
    assert error_of(client.send(execute(1, "new") + SYNC))["C"] == "25P02"
    client.send(query("back"))
    assert kinds(client.send(execute(1, "old") + SYNC)) == "DsZ"
    assert error_of(client.send(execute(1, "new") + SYNC))["C"] == "34000"


def test_a_portal_that_has_failed_cannot_be_run(client: Client) -> None:
    client.send(query("begin") + parse("broken three", "s") + bind((), (), (), "p", "s") + SYNC)
    client.send(execute(1, "p") + query("savepoint"))
    assert error_of(client.send(execute(9, "p") + SYNC))["C"] == "22000"
    client.send(query("back"))
    assert error_of(client.send(execute(1, "p") + SYNC))["C"] == "55000"


def test_a_portal_that_is_gone_on_with_is_a_statement_of_that_moment(
    client: Client, sessions: FakeSessions
) -> None:
    client.send(query("begin") + parse("rows three") + bind() + execute(1) + SYNC)
    assert "resume" not in sessions.calls
    client.send(execute(1) + SYNC)
    assert sessions.calls[-2:] == ["resume", "finish well"]
