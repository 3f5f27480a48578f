"""The wire, message by message, as PostgreSQL 15 speaks it.

Method: every script (*.pt) holds what a client sends and what a real PostgreSQL
answered; here our server must answer the same.  The coordinator behind it knows the
scripts' few statements by heart (`STATEMENTS`), so what is judged is the protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.core.types import INT4, TEXT
from tests.support.wire.fake_sessions import FakeSessions, relation
from tests.support.wire.running import Running
from tests.wire.replay import Conversation, exchanges

SCRIPTS = sorted(Path(__file__).parent.glob("*.pt"))
COPIED = "(SELECT 1 AS a, E'x\\ty'::text AS b) TO STDOUT"
STATEMENTS = {
    "SELECT 1": "rows one",
    "SELECT 1 WHERE false": "rows none",
    "SELECT NULL::int4 AS n, ''::text AS t": "rows blanks",
    "SELECT i FROM generate_series(1, 3) AS g(i)": "rows three",
    "SELECT $1::int4 AS a, $2::text AS b": "echo int4 as a text as b",
    "SELECT 1/0": "refuse 22012 division by zero",
    f"COPY {COPIED}": "copy out text row",
    f"COPY {COPIED} WITH (FORMAT csv, HEADER)": "copy out csv row",
    f"COPY {COPIED} WITH (FORMAT binary)": "copy out binary row",
    "COPY t FROM STDIN": "copy in text",
}


def know_the_statements(sessions: FakeSessions) -> None:
    sessions.translations.update(STATEMENTS)
    sessions.relations.update(
        one=relation({"?column?": (INT4, [1])}),
        none=relation({"?column?": (INT4, [])}),
        blanks=relation({"n": (INT4, [None]), "t": (TEXT, [""])}),
        three=relation({"i": (INT4, [1, 2, 3])}),
        row=relation({"a": (INT4, [1]), "b": (TEXT, ["x\ty"])}),
    )


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with Running() as running:
        know_the_statements(running.sessions)
        yield running


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_our_answers_are_those_of_postgresql(running: Running, script: Path) -> None:
    conversation = Conversation("127.0.0.1", running.server.port, "me", "d")
    steps = list(exchanges(script.read_text()))
    assert steps
    for exchange in steps:
        conversation.send(exchange.sent)
        assert conversation.receive(len(exchange.expected)) == list(exchange.expected), exchange.sent
    assert conversation.end() == b""
