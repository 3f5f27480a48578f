"""No sweep takes a file that is being made, whoever makes it, however long it takes.

Method: a source with tables that are read, copied, widened and folded in this process, with a sweep after
every job: the files are written then and the ledger does not name them.  And pins: they keep what is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from headwater.cluster.claims import Claims
from headwater.cluster.fold import fold
from headwater.cluster.ingestion import Ingestion
from headwater.cluster.shared import Shared
from headwater.core import protocol
from headwater.core.change import FileEntry
from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.points import Read
from headwater.core.relation import Column, Relation
from headwater.core.types import INT4
from headwater.persist.local import LocalStore
from headwater.persist.opening import open_ledger
from headwater.persist.retention import sweep
from headwater.sources.contract import Export
from headwater.sources.load_generator import references, resolve_options
from tests.support.ingesting import TasksHere, shared_of
from tests.support.server import eventually

KEY_VALUE = {
    "KEYS": 16,
    "PARTITIONS": 2,
    "BATCH SIZE": 2,
    "VALUE SIZE": 8,
    "SNAPSHOT ROUNDS": 1,
    "TICK INTERVAL": "1ms",
    "SEED": 1,
}


class SweptTasks(TasksHere):
    """Sweeps while what was just written is not named yet."""

    def __init__(self) -> None:
        self.shared: Shared | None = None
        self.swept: list[str] = []
        self.jobs = 0

    def run(self, tasks: Sequence[Any], pool: str) -> list[Any]:
        results = super().run(tasks, pool)
        assert self.shared is not None
        self.swept += sweep(self.shared.ledger, self.shared.store, self.shared.claims.under_way)
        self.jobs += 1
        return results


def export(table_id: str, options: dict[str, Any], columns: int, widens: str | None = None) -> Export:
    """The first columns of the generator's reference."""
    reference = references(options)[0]
    relation = Relation(reference.relation.columns[:columns], reference.relation.keys)
    more = () if widens is None else (("widens", widens),)
    names = relation.column_names()
    return Export(table_id, reference.path(), relation, tuple(names), reference.discipline, more)


def test_a_sweep_after_every_job_takes_nothing_that_is_being_made(tmp_path: Path) -> None:
    options = resolve_options("KEY VALUE", KEY_VALUE, SYSTEM_CLOCK.now_ms() - 100)
    ledger = open_ledger(tmp_path, "cluster-x")
    shared = shared_of(tmp_path, ledger, [])
    swept = SweptTasks()
    swept.shared, shared.jobs = shared, swept  # type: ignore[assignment]
    width = len(references(options)[0].relation.columns)
    exports = [export("u2", options, width - 1)]

    def wanted() -> protocol.RunIngestion:
        stated = [value.to_json() for value in exports]
        return protocol.RunIngestion("u1", "load-generator", options, 20, stated, "quickstart", False)

    def readable(table_id: str) -> bool:
        found = ledger.collection(table_id)
        return found is not None and found.hydrated

    ingestion = Ingestion(shared, wanted(), lambda _: None)
    try:
        ingestion.start()
        eventually(lambda: readable("u2"))
        for made in (export("u3", options, width - 1), export("u4", options, width, "u2")):  # copied, widened
            exports.append(made)
            ingestion.restate(wanted())
            eventually(lambda id_=made.table_id: readable(id_))  # type: ignore[misc]
        appended = len(ledger.bindings("u1"))
        eventually(lambda: len(ledger.bindings("u1")) > appended + 2)
    finally:
        ingestion.stop()
        ingestion.join(10.0)
    tails = ledger.tails()
    assert {tail.collection_id for tail in tails} == {"u2", "u3", "u4"}
    for tail in tails:
        fold(shared, tail)
    assert swept.jobs > 8
    # The side of the wider table, which nobody needs once it is readable, and nothing else.
    assert all(path.startswith("tables/u4/state/") for path in swept.swept)
    assert len(swept.swept) <= 1
    for table_id in ("u2", "u3", "u4"):
        missing = [path for path in ledger.named_paths(table_id) if not (tmp_path / path).exists()]
        assert missing == []
    # Where nobody makes anything, all that is there is named: side files and failed attempts are gone.
    sweep(ledger, LocalStore(tmp_path), shared.claims.under_way)
    named = {path for id_ in ("u2", "u3", "u4") for path in ledger.named_paths(id_)}
    found = {file.relative_to(tmp_path).as_posix() for file in tmp_path.glob("tables/*/[ls]*/*.parquet")}
    assert found == named
    ledger.close()


def test_a_claim_is_held_until_its_work_is_done_or_has_failed() -> None:
    claims = Claims(7)
    with claims.claim() as first, claims.claim() as second:
        assert (first, second) == ("7-1", "7-2")
        assert claims.under_way() == {1, 2}

    def fail() -> None:
        with claims.claim():
            assert claims.under_way() == {3}
            raise ValueError("it failed")

    with pytest.raises(ValueError, match="it failed"):
        fail()
    assert claims.under_way() == set()


def test_what_is_pinned_keeps_the_state_that_a_plan_begins_with(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path, "cluster-x")
    shared = shared_of(tmp_path, ledger, [])
    writer = ledger.open_writer("u9")
    relation = Relation((Column("k", INT4),))
    ledger.join([("u1", "counted", relation, "b", Read(0))], "u9", 1, hydrated=True)
    writer = ledger.append("u9", writer, 5, 5, {"u1": [FileEntry("tables/u1/log/5.parquet", 1, 4)]})
    copier = object()
    shared.pin(copier, {"u1": 5})
    plan = ledger.read_plan("u1", 5)
    assert plan.state_as_of == 1
    # A fold whose state answers the same timestamp: the plan still reads the change file.
    ledger.put_state("u1", 5, 0, [FileEntry("tables/u1/state/5.parquet", 1, 4)])
    assert shared.pinned("u1")
    assert shared.forget("u1", 9) == (1, [])
    shared.unpin(copier)
    assert not shared.pinned("u1")
    assert shared.forget("u1", 9) == (9, ["tables/u1/log/5.parquet"])
    ledger.close()
