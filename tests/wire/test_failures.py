"""An error, whatever it is and wherever it is met, fails the transaction as it does in PostgreSQL.

Method: `failures.py` has what can fail and what it can fail in; every combination is sent to a whole
environment (without a cluster), and the answers are those that a PostgreSQL 15 gave.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.environment import Environment
from tests.wire.failures import SETUP, answers, cases, recorded
from tests.wire.replay import Conversation

CASES = dict(cases())


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with Environment(tmp_path_factory.mktemp("environment")) as environment:
        yield environment


def test_what_postgresql_answers_is_known_of_every_case() -> None:
    assert list(recorded()) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_it_fails_as_in_postgresql(environment: Environment, name: str) -> None:
    with environment.connect() as connection:
        for statement in SETUP:
            connection.execute(statement.encode())
    conversation = Conversation("127.0.0.1", environment.port, "materialize", "materialize")
    assert answers(conversation, CASES[name]) == recorded()[name]
    assert conversation.end() == b""
