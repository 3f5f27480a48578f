"""The loop of an ingestion: what nobody foresaw stalls the source and is tried again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headwater.cluster.backfill import Backfill
from headwater.cluster.counters import Counters
from headwater.cluster.ingestion import Ingestion
from headwater.core import protocol
from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import DefiniteError, InvariantViolation, TransientError
from headwater.core.frontier import OffsetFrontier
from headwater.core.points import Copied, Read
from headwater.core.relation import Column, Relation
from headwater.core.types import INT8
from headwater.persist.opening import open_ledger
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import Export, Looked
from headwater.sources.load_generator import references, resolve_options
from tests.support.ingesting import TasksHere, shared_of, status_of
from tests.support.metadata import change_metadata
from tests.support.server import eventually


def pretend(monkeypatch: pytest.MonkeyPatch, **functions: Any) -> None:
    """Let load generators answer otherwise."""
    kind = SOURCE_TYPES["load-generator"]
    monkeypatch.setitem(SOURCE_TYPES, "load-generator", replace(kind, **functions))


class FailingTasks(TasksHere):
    """Fails as a bug would, a few times."""

    def __init__(self) -> None:
        self.left = 2

    def run(self, tasks: Sequence[Any], pool: str) -> list[Any]:
        if self.left:
            self.left -= 1
            raise ValueError("nobody foresaw it")
        return super().run(tasks, pool)


class Growing(Counters):
    """Somebody else's first changes are counted while these are looked at."""

    def values(self) -> dict[str, Any]:
        self.gauges["others"][f"u{len(self.gauges['others'])}"] = Counters()
        return {}


def test_where_a_source_stands_can_be_told_while_tables_join_it(tmp_path: Path) -> None:
    options = resolve_options("COUNTER", {}, 0)
    wanted = protocol.RunIngestion("u1", "load-generator", options, 20, [], "quickstart", False)
    ledger = open_ledger(tmp_path)
    ingestion = Ingestion(shared_of(tmp_path, ledger, []), wanted, lambda _: None)
    counters = ingestion.tallies.counters
    counters |= {"u1": Growing(gauges={"others": counters}), "u2": Counters()}
    assert [message.id for message in ingestion.restated()] == ["u1", "u2"]
    ledger.close()


def test_an_error_that_nobody_foresaw_is_tried_again(tmp_path: Path) -> None:
    options = resolve_options("COUNTER", {"TICK INTERVAL": "1ms"}, SYSTEM_CLOCK.now_ms() - 1_000)
    wanted = protocol.RunIngestion("u1", "load-generator", options, 20, [], "quickstart", False)
    heard: list[Any] = []
    ledger = open_ledger(tmp_path)
    shared = shared_of(tmp_path, ledger, heard)
    failing: Any = FailingTasks()
    shared.jobs = failing
    ingestion = Ingestion(shared, wanted, lambda _: None)
    try:
        ingestion.start()
        eventually(lambda: status_of(heard, "u1") == "running" and not failing.left)
        stalled = [m for m in heard if isinstance(m, protocol.Status) and m.status == "stalled"]
        assert [m.error for m in stalled] == ["internal: ValueError: nobody foresaw it"]
        assert "tried again" in str(stalled[0].hint)
        bindings = ledger.bindings("u1")
        eventually(lambda: len(ledger.bindings("u1")) > len(bindings))
    finally:
        ingestion.stop()
        ingestion.join(10.0)
        ledger.close()


class ReadsBack:
    """A reader that comes to a place before the one where it began."""

    start = OffsetFrontier(0)
    continues = True
    waiting = None

    def probe(self, now_ms: int) -> OffsetFrontier:
        return OffsetFrontier(20)

    def check(self, exports: Any) -> dict[str, DefiniteError]:
        return {}

    def look(self, exports: Any, seen: Any, end: Any) -> Looked:
        return Looked(end)

    def plan_read(self, *_: Any) -> tuple[OffsetFrontier, tuple[()]]:
        return OffsetFrontier(9), ()

    def close(self) -> None:
        """Nothing is held."""


def test_a_source_never_goes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = resolve_options("COUNTER", {}, 0)
    wanted = protocol.RunIngestion("u1", "load-generator", options, 20, [], "quickstart", False)
    heard: list[Any] = []
    ledger = open_ledger(tmp_path)
    ledger.append("u1", ledger.open_writer("u1"), 1, 10, {})
    reader: Any = ReadsBack()
    monkeypatch.setitem(
        SOURCE_TYPES, "load-generator", replace(SOURCE_TYPES["load-generator"], open=lambda *_: reader)
    )
    ingestion = Ingestion(shared_of(tmp_path, ledger, heard), wanted, lambda _: None)
    ingestion._loop()  # which such a defect ends
    assert status_of(heard, "u1") == "failed"
    assert ledger.bindings("u1") == [(1, 10)]
    ledger.close()


def test_a_source_that_is_not_where_it_is_bound_does_not_run(tmp_path: Path) -> None:
    options = resolve_options("COUNTER", {}, 0)
    wanted = protocol.RunIngestion("u1", "load-generator", options, 20, [], "quickstart", False)
    ledger = open_ledger(tmp_path)
    ledger.append("u1", ledger.open_writer("u1"), 1, 10, {})
    change_metadata(tmp_path, "UPDATE ledger_writer SET frontier = '11'")
    ingestion = Ingestion(shared_of(tmp_path, ledger, []), wanted, lambda _: None)
    with pytest.raises(InvariantViolation, match="stands at"):
        ingestion._open()
    ledger.close()


def test_a_point_that_was_passed_before_a_restart_is_not_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def covers(frontier: Any, at: Any) -> bool:
        return bool(frontier.offset >= at)

    options = resolve_options("COUNTER", {}, 0)
    relation = Relation((Column("counter", INT8),), ())
    exports = [
        Export(id_, ("counter",), relation, ("counter",), "appended").to_json() for id_ in ("u2", "u3")
    ]
    ledger = open_ledger(tmp_path)
    ledger.append("u1", ledger.open_writer("u1"), 1, 10, {})
    ledger.join(
        [("u2", "appended", relation, "", Read(9)), ("u3", "appended", relation, "", Read(11))],
        "u1",
        1,
        False,
    )
    wanted = protocol.RunIngestion("u1", "load-generator", options, 20, exports, "quickstart", False)
    monkeypatch.setitem(
        SOURCE_TYPES, "load-generator", replace(SOURCE_TYPES["load-generator"], covers=covers)
    )
    ingestion = Ingestion(shared_of(tmp_path, ledger, []), wanted, lambda _: None)
    ingestion._open()
    assert ingestion.members.points == {"u3": Read(11)}
    ledger.close()


def test_a_source_opens_again_with_a_table_that_failed_before_it_could_join(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def covers(frontier: Any, at: Any) -> bool:
        return bool(frontier.offset >= at["until"])

    options = resolve_options("COUNTER", {}, 0)
    relation = Relation((Column("counter", INT8),), ())
    export = Export("u2", ("counter",), relation, ("counter",), "appended")
    ledger = open_ledger(tmp_path)
    ledger.append("u1", ledger.open_writer("u1"), 1, 10, {})
    wanted = protocol.RunIngestion(
        "u1", "load-generator", options, 20, [export.to_json()], "quickstart", False
    )
    monkeypatch.setitem(
        SOURCE_TYPES, "load-generator", replace(SOURCE_TYPES["load-generator"], covers=covers)
    )
    ingestion = Ingestion(shared_of(tmp_path, ledger, []), wanted, lambda _: None)
    ingestion.members.want({"u2": export})
    ingestion._fail(DefiniteError("", "7", "another system"))
    ingestion._open()
    assert ingestion.members.points == {}
    assert ingestion.members.failed == {"u2"}
    ledger.close()


class FromDonor:
    """A backfill that begins anew, with rows of another table."""

    def __init__(self, export: Export) -> None:
        self._export = export

    def take(self, ts: int, frontier: Any) -> dict[str, tuple[Export, Any]]:
        return {self._export.table_id: (self._export, Copied("u3", 10))}


def test_a_table_that_joins_anew_from_a_donor_has_no_point_of_before(tmp_path: Path) -> None:
    options = resolve_options("COUNTER", {}, 0)
    export = Export("u2", ("counter",), Relation((Column("counter", INT8),), ()), ("counter",), "appended")
    ledger = open_ledger(tmp_path)
    wanted = protocol.RunIngestion("u1", "load-generator", options, 20, [], "quickstart", False)
    ingestion = Ingestion(shared_of(tmp_path, ledger, []), wanted, lambda _: None)
    ledger.append("u1", ledger.open_writer("u1"), 1, 10, {})
    ingestion._open()
    ingestion.members.points = {"u2": Read(11)}
    backfill: Any = FromDonor(export)
    ingestion.backfills.offer(backfill)
    ingestion._take_points()
    assert ingestion.members.points == {}
    ledger.close()


class StubbornReader:
    """Cannot be closed."""

    closed = 0

    def close(self) -> None:
        self.closed += 1
        raise OSError("nobody foresaw that either")


def test_a_source_goes_on_when_dealing_with_a_failure_fails_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.cluster.ingestion.RETRY_DELAY_S_MAX", 0.01)
    options = resolve_options("COUNTER", {"TICK INTERVAL": "1ms"}, SYSTEM_CLOCK.now_ms() - 1_000)
    wanted = protocol.RunIngestion("u1", "load-generator", options, 20, [], "quickstart", False)
    heard: list[Any] = []
    ledger = open_ledger(tmp_path)
    ingestion = Ingestion(shared_of(tmp_path, ledger, heard), wanted, lambda _: None)
    reader: Any = StubbornReader()
    turns: list[str] = []
    turn = ingestion._turn

    def fail_once() -> None:
        turns.append("turn")
        if len(turns) == 1:
            ingestion._reader = reader
            raise DefiniteError("t", "1", "the source is lost")
        turn()

    def cannot_fail(error: DefiniteError) -> None:
        raise TransientError("the disk is full")

    monkeypatch.setattr(ingestion, "_turn", fail_once)
    monkeypatch.setattr(ingestion, "_fail", cannot_fail)
    try:
        ingestion.start()
        eventually(lambda: status_of(heard, "u1") == "running")
        assert reader.closed == 1
        stalled = [m.error for m in heard if isinstance(m, protocol.Status) and m.status == "stalled"]
        assert stalled == ["internal: TransientError('the disk is full')"]
    finally:
        ingestion.stop()
        ingestion.join(10.0)
        ledger.close()


def test_a_backfill_whose_thread_cannot_begin_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = resolve_options("COUNTER", {"TICK INTERVAL": "1ms"}, SYSTEM_CLOCK.now_ms() - 1_000)
    reference = references(options)[0]
    names = tuple(reference.relation.column_names())
    export = Export("u2", reference.path(), reference.relation, names, reference.discipline)
    stated = [export.to_json()]
    wanted = protocol.RunIngestion("u1", "load-generator", options, 20, stated, "quickstart", False)
    ledger = open_ledger(tmp_path)
    refused: list[Backfill] = []
    start = Backfill.start

    def refuse_once(backfill: Backfill) -> None:
        if not refused:
            refused.append(backfill)
            raise RuntimeError("can't start new thread")
        start(backfill)

    monkeypatch.setattr(Backfill, "start", refuse_once)
    ingestion = Ingestion(shared_of(tmp_path, ledger, []), wanted, lambda _: None)

    def readable() -> bool:
        found = ledger.collection("u2")
        return found is not None and found.hydrated

    try:
        ingestion.start()
        eventually(readable)
        assert len(refused) == 1
    finally:
        ingestion.stop()
        ingestion.join(10.0)
        ledger.close()
