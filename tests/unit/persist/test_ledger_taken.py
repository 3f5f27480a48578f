"""What every ledger promises of requests that must not be taken twice: they are remembered with their rows.

Method: against the interface alone, for each of `METADATA`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.core.errors import TransientError
from headwater.core.relation import Column, Relation
from headwater.core.types import INT4
from headwater.observe.failpoints import armed
from headwater.persist.ledger import TABLES, Accepted, Ledger, Taken
from tests.support.metadata import METADATA

RELATION = Relation((Column("k", INT4, False),))


@pytest.fixture(params=METADATA)
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    made = METADATA[request.param](tmp_path).ledger()
    yield made
    made.close()


def test_requests_are_remembered_with_the_append_that_took_them(ledger: Ledger) -> None:
    writer = ledger.open_writer(TABLES)
    ledger.join([("t1", "counted", RELATION, "t1", None)], TABLES, 1, hydrated=True)
    first, second, other = Taken(b"a", b"1"), Taken(b"b", b"2"), Taken(b"a", b"3")
    writer = ledger.append(
        TABLES, writer, 2, None, {}, accepted={"t1": Accepted([first]), "gone": Accepted([first])}
    )
    with armed("ledger.before_commit", "error"), pytest.raises(TransientError):
        ledger.append(TABLES, writer, 3, None, {}, accepted={"t1": Accepted([second])})
    assert ledger.taken("t1") == [(2, first)], "what was not appended is not remembered"
    assert ledger.taken("gone") == []
    writer = ledger.append(TABLES, writer, 3, None, {}, accepted={"t1": Accepted([second])})
    assert ledger.taken("t1") == [(2, first), (3, second)]
    writer = ledger.append(TABLES, writer, 4, None, {}, accepted={"t1": Accepted([other])})
    assert ledger.taken("t1") == [(3, second), (4, other)]
    ledger.forget_taken("t1", 3)
    assert ledger.taken("t1") == [(4, other)]
    ledger.drop("t1")
    assert ledger.taken("t1") == []


def test_counters_are_those_of_the_newest_append_that_succeeded(ledger: Ledger) -> None:
    writer = ledger.open_writer(TABLES)
    ledger.join([("t1", "counted", RELATION, "t1", None)], TABLES, 1, hydrated=True)
    assert ledger.counters() == {}
    gone = Accepted(counters={"requests": 9})
    accepted = {"t1": Accepted(counters={"requests": 2}), "gone": gone}
    writer = ledger.append(TABLES, writer, 2, None, {}, accepted=accepted)
    with armed("ledger.before_commit", "error"), pytest.raises(TransientError):
        ledger.append(TABLES, writer, 3, None, {}, accepted={"t1": Accepted(counters={"requests": 3})})
    assert ledger.counters() == {"t1": {"requests": 2}}
    writer = ledger.append(TABLES, writer, 3, None, {}, accepted={"t1": Accepted(counters={"requests": 4})})
    ledger.append(TABLES, writer, 4, None, {})
    assert ledger.counters() == {"t1": {"requests": 4}}
    ledger.drop("t1")
    assert ledger.counters() == {}
