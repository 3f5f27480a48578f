"""Blocks with errors in them, by chance: what is committed and what is set is what a plain model says.

Method: a seed chooses messages (writes, settings, savepoints, ends of blocks, and everything of `failures.py`
that fails); after each the state of the transaction, and after each block rows and settings, are those
of `Model`.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.environment import Environment
from tests.wire.failures import failing_queries
from tests.wire.replay import Conversation

FAILING = {name: lines for name, lines in failing_queries().items() if name != "refused in a block"}
STEPS = 150
SAVEPOINTS = ("a", "b", "c")


@dataclass
class State:
    """What a transaction can undo."""

    rows: list[int] = field(default_factory=list)
    name: str = ""
    local: str | None = None

    def shown(self) -> str:
        return self.name if self.local is None else self.local


class Model:
    """A session: a state, what it was when the block began, and at each savepoint."""

    def __init__(self) -> None:
        self.now = State()
        self.before: State | None = None
        self.saved: list[tuple[str, State]] = []
        self.failed = False

    @property
    def status(self) -> str:
        return "I" if self.before is None else "E" if self.failed else "T"

    def begin(self) -> None:
        if self.before is None:
            self.before = copy.deepcopy(self.now)

    def end(self, commit: bool) -> None:
        if self.before is not None and (self.failed or not commit):
            self.now = self.before
        self.now.local = None
        self.before, self.saved, self.failed = None, [], False

    def fail(self) -> None:
        self.failed = self.before is not None

    def back(self, name: str) -> None:
        place = self._place(name)
        if place is None:
            self.fail()
            return
        self.now, self.failed = copy.deepcopy(self.saved[place][1]), False
        del self.saved[place + 1 :]

    def release(self, name: str) -> None:
        place = self._place(name)
        if place is None:
            self.fail()
        else:
            del self.saved[place:]

    def _place(self, name: str) -> int | None:
        places = [place for place, (saved, _) in enumerate(self.saved) if saved == name]
        return places[-1] if places and self.before is not None else None


def step(model: Model, chance: random.Random, number: int) -> tuple[str, ...]:
    """The next messages, and what they do to the model."""
    savepoint = chance.choice(SAVEPOINTS)
    kinds = (
        "begin",
        "insert",
        "insert",
        "pipeline",
        "set",
        "local",
        "fail",
        "save",
        "back",
        "release",
        "end",
    )
    kind = chance.choice(kinds)
    ignored = model.failed
    match kind:
        case "begin":
            sent: tuple[str, ...] = ('Query "BEGIN"',)
            if not ignored:
                model.begin()
        case "insert":
            sent = (f'Query "INSERT INTO t VALUES ({number})"',)
            if not ignored:
                model.now.rows.append(number)
        case "pipeline":
            lines = chance.choice([lines for lines in FAILING.values() if lines[-1] == "Sync"])
            sent = (f'Parse "INSERT INTO t VALUES ({number})"', "Bind", "Execute", *lines)
            model.fail()
        case "set":
            sent = (f"Query \"SET application_name = 'n{number}'\"",)
            if not ignored:
                model.now.name, model.now.local = f"n{number}", None
        case "local":
            sent = (f"Query \"SET LOCAL application_name = 'l{number}'\"",)
            if not ignored and model.before is not None:
                model.now.local = f"l{number}"
        case "fail":
            sent = FAILING[chance.choice(list(FAILING))]
            model.fail()
        case "save":
            sent = (f'Query "SAVEPOINT {savepoint}"',)
            if not ignored and model.before is not None:
                model.saved.append((savepoint, copy.deepcopy(model.now)))
        case "back":
            sent = (f'Query "ROLLBACK TO {savepoint}"',)
            model.back(savepoint)
        case "release":
            sent = (f'Query "RELEASE {savepoint}"',)
            if not ignored:
                model.release(savepoint)
        case _:
            commit = chance.random() < 0.6
            sent = ('Query "COMMIT"' if commit else 'Query "ROLLBACK"',)
            model.end(commit)
    return sent


def status(conversation: Conversation, sent: tuple[str, ...]) -> str:
    """The state after these messages."""
    conversation.send(sent)
    while not (reply := conversation.receive(1)[0]).startswith("ReadyForQuery"):
        pass
    return reply.split('"')[1]


def values(conversation: Conversation, query: str) -> list[str]:
    conversation.send((f'Query "{query}"',))
    found = []
    while not (reply := conversation.receive(1)[0]).startswith("ReadyForQuery"):
        if reply.startswith("DataRow"):
            found.append(reply.split('"')[1])
    return found


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    data_dir: Path = tmp_path_factory.mktemp("environment")
    with Environment(data_dir) as environment:
        yield environment


@pytest.mark.parametrize("seed", range(8))
def test_blocks_with_errors_do_what_a_plain_model_does(environment: Environment, seed: int) -> None:
    chance, model = random.Random(seed), Model()
    with environment.connect() as connection:
        connection.execute("DROP TABLE IF EXISTS t")
        connection.execute("CREATE TABLE t (a int, b text)")
    conversation = Conversation("127.0.0.1", environment.port, "materialize", "materialize")
    history = []
    for number in range(STEPS):
        sent = step(model, chance, number)
        history.append(sent)
        assert status(conversation, sent) == model.status, history
        if model.status == "T":
            assert values(conversation, "SHOW application_name") == [model.now.shown()], history
        elif model.status == "I":
            assert values(conversation, "SHOW application_name") == [model.now.shown()], history
            found = values(conversation, "SELECT a FROM t ORDER BY a")
            assert found == [str(row) for row in sorted(model.now.rows)], history
    conversation.end()
