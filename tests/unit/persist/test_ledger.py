"""What every ledger promises (persist/ledger.py): two processes, crashes, restarts, forgetting.

Method: against the interface alone, for each of `METADATA`.  A state machine drives two ledgers that are
kept in one place (as environment and cluster have them, or a process and the one that replaces it) and a
model of plain dictionaries (ledger_model.py).  Every write may be cut off before its commit by a failpoint
and must then have changed nothing.  A restart is opening it again.  After every step both must answer
everything as the model does, for every timestamp that is readable.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from headwater.core.change import Discipline, FileEntry
from headwater.core.errors import DefiniteError, InvariantViolation, TransientError, UserError
from headwater.core.points import Copied, Point, Read, Reread, Widened
from headwater.core.relation import Column, Relation
from headwater.core.types import INT4, TEXT
from headwater.observe.failpoints import armed
from headwater.persist.ledger import TABLES, Filled, Ledger, LedgerConflict, TailSize, WriterState
from tests.support.metadata import METADATA, NEWER, Metadata
from tests.support.tables_of_files import new_directory
from tests.unit.persist.ledger_model import Model, ModelCollection, ModelWriter

RELATION = Relation((Column("k", INT4, False), Column("v", TEXT)), ((0,),))
WRITERS = ("u1", TABLES)
NAMES = ("t1", "t2", "t3")

handles = st.integers(0, 1)
writers = st.sampled_from(WRITERS)
names = st.sampled_from(NAMES)
points = st.one_of(
    st.builds(Read, st.integers(0, 9), st.dictionaries(st.sampled_from("ab"), st.integers(0, 3))),
    st.builds(Copied, st.sampled_from(["t1", "t2"]), st.integers(0, 9)),
    st.builds(Widened, st.sampled_from(["t1", "t2"]), st.just(("a", "b")), st.integers(0, 9)),
    st.builds(Reread, st.sampled_from(["t1", "t2"]), st.integers(0, 9)),
)
crashes = st.sampled_from([False, False, False, True])
existing = st.runner().flatmap(lambda machine: st.sampled_from(sorted(machine.model.collections) or NAMES))
some = st.one_of(existing, existing, existing, names)


class LedgerAgainstModel(RuleBasedStateMachine):
    def __init__(self, kept: str) -> None:
        super().__init__()
        self.directory = new_directory()
        self.metadata = METADATA[kept](self.directory)
        self.ledgers = [self.metadata.ledger() for _ in range(2)]
        self.model = Model()
        self.beliefs: dict[tuple[int, str], WriterState] = {}
        self.path_count = 0

    def teardown(self) -> None:
        for ledger in self.ledgers:
            ledger.close()
        shutil.rmtree(self.directory)

    def file(self, ts: int = 0, rows: int = 1) -> FileEntry:
        self.path_count += 1
        number = self.path_count
        # Numbers that say which file it is; paths that do not sort in order of creation.
        resets = ts > 0 and number % 7 == 0
        return FileEntry(f"p{number % 3}-{number}", rows, number, min(rows, number % 2), ts, resets)

    def fed_by(self, id_: str, writer_id: str) -> bool:
        """A table has one writer; one that has been dropped may still get files of a late tick."""
        collection = self.model.collections.get(id_)
        return collection is None or collection.writer_id == writer_id

    def attempt(self, crashing: bool, write: Callable[[], Any]) -> tuple[bool, Any]:
        """(whether it was done, its result)."""
        if not crashing:
            return True, write()
        with armed("ledger.before_commit", "error"), pytest.raises(TransientError, match="before_commit"):
            write()
        return False, None

    # Writers

    @initialize(discipline=st.sampled_from(["appended", "keyed"]), hydrated=st.booleans())
    def begin(self, discipline: Discipline, hydrated: bool) -> None:
        """Most runs have something to forget."""
        self.open_writer(0, "u1", crashing=False)
        self.ledgers[1].join([("t1", discipline, RELATION, "batch", Read([0]))], "u1", 0, hydrated)
        states: dict[int, list[FileEntry]] = {0: []} if hydrated else {}
        self.model.collections["t1"] = ModelCollection(
            "u1", discipline, 0, 0, Read([0]), hydrated, states=states
        )

    @rule(at=handles, writer_id=writers, crashing=crashes)
    def open_writer(self, at: int, writer_id: str, crashing: bool) -> None:
        done, opened = self.attempt(
            crashing, lambda: self.ledgers[at].open_writer(writer_id, {"of": writer_id})
        )
        if done:
            writer = self.model.writers.setdefault(writer_id, ModelWriter())
            writer.epoch += 1
            assert opened == WriterState(writer.epoch, writer.ts, writer.frontier)
            self.beliefs[at, writer_id] = opened

    @precondition(lambda self: self.beliefs)
    @rule(
        data=st.data(),
        wait=st.integers(1, 2),
        counts=st.dictionaries(names, st.integers(0, 2)),
        wrong=st.sets(names),
        crashing=crashes,
    )
    def append(
        self, data: st.DataObject, wait: int, counts: dict[str, int], wrong: set[str], crashing: bool
    ) -> None:
        at, writer_id = data.draw(st.sampled_from(sorted(self.beliefs)))
        believed = self.beliefs[at, writer_id]
        ts = believed.ts + wait
        files = {
            id_: [self.file(ts, rows=n) for n in range(count)]
            for id_, count in counts.items()
            if self.fed_by(id_, writer_id)
        }
        errors = {
            id_: DefiniteError("", f"0/{ts}", "not a number", heals=data.draw(st.booleans()))
            for id_ in sorted(wrong)
            if self.fed_by(id_, writer_id)
        }
        files = {id_: found for id_, found in files.items() if id_ not in errors}
        writer = self.model.writers.get(writer_id)

        def write() -> WriterState:
            return self.ledgers[at].append(writer_id, believed, ts, [ts], files, errors)

        if writer is None or (writer.epoch, writer.ts) != (believed.epoch, believed.ts):
            with pytest.raises(LedgerConflict, match=f"another process writes {writer_id}"):
                write()
            return
        done, reached = self.attempt(crashing, write)
        if done:
            assert reached == WriterState(believed.epoch, ts, [ts])
            self.beliefs[at, writer_id] = reached
            self.model.append(writer_id, ts, [ts], files, errors)

    @rule(at=handles, writer_id=writers, count=st.integers(1, 4))
    def run(self, at: int, writer_id: str, count: int) -> None:
        """A while in which nothing happens but ticks, with a change for everyone."""
        self.open_writer(at, writer_id, crashing=False)
        for _ in range(count):
            believed = self.beliefs[at, writer_id]
            ts = believed.ts + 1
            files = {id_: [self.file(ts)] for id_ in NAMES if self.fed_by(id_, writer_id)}
            self.beliefs[at, writer_id] = self.ledgers[at].append(writer_id, believed, ts, [ts], files)
            self.model.append(writer_id, ts, [ts], files, {})

    @precondition(lambda self: self.beliefs)
    @rule(data=st.data(), back=st.integers(0, 3))
    def append_that_goes_back(self, data: st.DataObject, back: int) -> None:
        at, writer_id = data.draw(st.sampled_from(sorted(self.beliefs)))
        believed = self.beliefs[at, writer_id]
        with pytest.raises(InvariantViolation, match="follows one at"):
            self.ledgers[at].append(writer_id, believed, believed.ts - back, [9], {})

    # Collections

    @precondition(lambda self: self.model.writers)
    @rule(
        at=handles, ids=st.sets(names, min_size=1), data=st.data(), hydrated=st.booleans(), crashing=crashes
    )
    def join(self, at: int, ids: set[str], data: st.DataObject, hydrated: bool, crashing: bool) -> None:
        writer_id = data.draw(st.sampled_from(sorted(self.model.writers)))
        discipline: Discipline = data.draw(st.sampled_from(["appended", "keyed", "counted"]))
        writer = self.model.writers[writer_id]
        point = Read(writer.frontier)
        wanted = [(id_, discipline, RELATION, "batch", point) for id_ in sorted(ids)]
        done, _ = self.attempt(
            crashing,
            lambda: self.ledgers[at].join(wanted, writer_id, writer.ts, hydrated),
        )
        for id_ in ids - set(self.model.collections) if done else ():
            made = ModelCollection(writer_id, discipline, writer.ts, writer.ts, point, hydrated)
            if hydrated:
                made.states[writer.ts] = []
            self.model.collections[id_] = made

    @rule(
        at=handles,
        id_=some,
        chunk=st.integers(-2, 2),
        rows=st.integers(0, 3),
        late=st.booleans(),
        crashing=crashes,
    )
    def add_chunk(self, at: int, id_: str, chunk: int, rows: int, late: bool, crashing: bool) -> None:
        """A chunk has been read; sometimes at a point that is not the table's any more."""
        file = FileEntry(self.file().path, rows, 7)
        collection = self.model.collections.get(id_)
        point = Read("another") if late or collection is None else collection.point
        done, _ = self.attempt(crashing, lambda: self.ledgers[at].add_chunks([(id_, point, chunk, file)]))
        if done and collection is not None and collection.filling and not late:
            collection.chunks[chunk] = file

    @rule(at=handles, ids=st.sets(names), later=st.integers(0, 2), late=st.booleans(), crashing=crashes)
    def fill(self, at: int, ids: set[str], later: int, late: bool, crashing: bool) -> None:
        """All has been read; sometimes at a point that is not the table's any more."""
        since = self.now() + later
        points = {
            id_: c.point for id_, c in self.model.collections.items() if id_ in ids and c.point is not None
        }
        filled = {
            id_: Filled(Read("another") if late else point, [self.file()], 0) for id_, point in points.items()
        }
        done, _ = self.attempt(crashing, lambda: self.ledgers[at].fill(filled, since))
        for id_, made in filled.items() if done else ():
            self.model.fill(id_, since, made.point, list(made.files))

    @rule(at=handles, id_=some, point=points, crashing=crashes)
    def rejoin(self, at: int, id_: str, point: Point, crashing: bool) -> None:
        """A snapshot begins anew where its writer stands now."""
        collection = self.model.collections.get(id_)
        ts = 0 if collection is None else self.model.writers[collection.writer_id].ts
        done, _ = self.attempt(crashing, lambda: self.ledgers[at].rejoin({id_: point}, ts))
        if done:
            self.model.rejoin(id_, ts, point)

    @rule(at=handles, id_=some, point=points, crashing=crashes)
    def repoint(self, at: int, id_: str, point: Point, crashing: bool) -> None:
        """A snapshot goes on at another point."""
        done, _ = self.attempt(crashing, lambda: self.ledgers[at].repoint({id_: point}))
        if done:
            self.model.repoint(id_, point)

    @rule(at=handles, id_=some, ahead=st.integers(-1, 3), data=st.data(), crashing=crashes)
    def put_state(self, at: int, id_: str, ahead: int, data: st.DataObject, crashing: bool) -> None:
        """A fold; an appended table takes files of its log and of its state as they are."""
        collection = self.model.collections.get(id_)
        again = collection is not None and collection.refilling
        newest = collection.newest_state() if collection is not None and not again else None
        as_of = (newest or 0) + ahead
        if collection is not None and newest is not None:  # never beyond what its writer has said
            as_of = max(newest, min(as_of, self.model.writers[collection.writer_id].ts))
        kept: list[FileEntry] = []
        if collection is not None and newest is not None and collection.discipline == "appended":
            folded = [file for file in collection.changes if newest < file.ts <= as_of]
            present = [*collection.states[newest], *folded]
            chosen = (
                data.draw(st.sets(st.sampled_from(sorted(f.path for f in present)))) if present else set()
            )
            kept = [FileEntry(f.path, f.rows, f.bytes) for f in present if f.path in chosen]
        files = [*kept, FileEntry(self.file().path, 2, 5)]

        def write() -> None:
            self.ledgers[at].put_state(id_, as_of, 1, files)

        if newest is None or as_of <= newest:
            with pytest.raises(LedgerConflict, match=f"state of {id_} as of {as_of} follows one"):
                write()
            return
        done, _ = self.attempt(crashing, write)
        if done and collection is not None:
            collection.states[as_of] = files

    @rule(at=handles, id_=some, ts=st.integers(0, 9), crashing=crashes)
    def poison(self, at: int, id_: str, ts: int, crashing: bool) -> None:
        text = str(self.file().bytes)
        error = DefiniteError("", text, f"error {text}", "do something")
        done, _ = self.attempt(crashing, lambda: self.ledgers[at].poison(id_, ts, error))
        if done and id_ in self.model.collections:
            self.model.collections[id_].fail(ts, error)

    @precondition(lambda self: self.beliefs)
    @rule(data=st.data(), crashing=crashes)
    def begin_anew(self, data: st.DataObject, crashing: bool) -> None:
        at, writer_id = data.draw(st.sampled_from(sorted(self.beliefs)))
        believed, writer = self.beliefs[at, writer_id], self.model.writers.get(writer_id)
        if writer is None or (writer.epoch, writer.ts) != (believed.epoch, believed.ts):
            return
        ts, error = believed.ts + 1, DefiniteError("", "0/0", "began anew", heals=True)
        done, reached = self.attempt(
            crashing, lambda: self.ledgers[at].restart(writer_id, believed, ts, ["anew"], error)
        )
        if done:
            self.beliefs[at, writer_id] = reached
            fed = [id_ for id_, c in self.model.collections.items() if c.writer_id == writer_id]
            self.model.append(writer_id, ts, ["anew"], {}, dict.fromkeys(fed, error))

    # Forgetting

    @rule(at=handles, id_=some, ahead=st.integers(-1, 1), data=st.data(), crashing=crashes)
    def forget(self, at: int, id_: str, ahead: int, data: st.DataObject, crashing: bool) -> None:
        states = self.model.collections[id_].states if id_ in self.model.collections else {}
        since = ahead + data.draw(st.sampled_from(sorted(states) or [0]))
        before = self.ledgers[1 - at].named_paths(id_)
        done, gone = self.attempt(crashing, lambda: self.ledgers[at].forget(id_, since))
        if not done:
            return
        collection = self.model.collections.get(id_)
        if collection is None:
            assert gone == []
            return
        collection.forget(since)
        assert gone == sorted(before - collection.named())
        needed = {
            file.path
            for ts in collection.readable(self.now())
            for part in collection.plan(ts)[1:]
            for file in part
        }
        assert not needed & set(gone)

    @rule(at=handles, writer_id=writers, since=st.integers(0, 12), crashing=crashes)
    def forget_bindings(self, at: int, writer_id: str, since: int, crashing: bool) -> None:
        done, _ = self.attempt(crashing, lambda: self.ledgers[at].forget_bindings(writer_id, since))
        if done and writer_id in self.model.writers:
            writer = self.model.writers[writer_id]
            kept = max((ts for ts, _ in writer.bindings if ts <= since), default=0)
            writer.bindings = [binding for binding in writer.bindings if binding[0] >= kept]

    @rule(at=handles, id_=st.sampled_from(("t2", "t2", "t3", "t3", "t1")), crashing=crashes)
    def drop(self, at: int, id_: str, crashing: bool) -> None:
        done, _ = self.attempt(crashing, lambda: self.ledgers[at].drop(id_))
        if done:
            self.model.collections.pop(id_, None)

    @precondition(lambda self: not any(c.writer_id == "u1" for c in self.model.collections.values()))
    @rule(at=handles, crashing=crashes)
    def drop_writer(self, at: int, crashing: bool) -> None:
        """A source goes after its tables."""
        done, _ = self.attempt(crashing, lambda: self.ledgers[at].drop_writer("u1"))
        if done:
            self.model.writers.pop("u1", None)
            self.beliefs = {key: belief for key, belief in self.beliefs.items() if key[1] != "u1"}

    @rule(at=handles)
    def restart(self, at: int) -> None:
        self.ledgers[at].close()
        self.ledgers[at] = self.metadata.ledger()

    # What must always be true

    def now(self) -> int:
        return max((writer.ts for writer in self.model.writers.values()), default=0)

    @invariant()
    def writers_stand_where_they_should(self) -> None:
        expected = {
            id_: WriterState(writer.epoch, writer.ts, writer.frontier)
            for id_, writer in self.model.writers.items()
        }
        for ledger in self.ledgers:
            assert ledger.writers() == expected
            for id_ in WRITERS:
                assert ledger.writer(id_) == expected.get(id_)

    @invariant()
    def bindings_are_those_that_were_appended(self) -> None:
        for id_ in WRITERS:
            expected = self.model.writers[id_].bindings if id_ in self.model.writers else []
            assert self.ledgers[0].bindings(id_) == expected
            assert self.ledgers[1].first_binding_ts(id_) == (expected[0][0] if expected else 0)
            for ts in range(self.now() + 2):
                newest = [binding for binding in expected if binding[0] <= ts][-1:]
                assert self.ledgers[1].binding_at(id_, ts) == (newest[0] if newest else None)
                assert self.ledgers[0].bindings(id_, ts, ts + 2) == [
                    b for b in expected if ts < b[0] <= ts + 2
                ]

    @invariant()
    def collections_are_what_they_should_be(self) -> None:
        for ledger in self.ledgers:
            found = ledger.collections()
            assert found.keys() == self.model.collections.keys()
            for id_, expected in self.model.collections.items():
                seen = found[id_]
                assert (seen.since, seen.joined_ts, seen.point, seen.hydrated, seen.refilling) == (
                    expected.since,
                    expected.joined_ts,
                    expected.point,
                    expected.hydrated,
                    expected.refilling,
                )
                assert (seen.discipline, seen.relation, seen.batch) == (
                    expected.discipline,
                    RELATION,
                    "batch",
                )
                assert ledger.chunks(id_) == expected.chunks
                assert ledger.errors(id_) == [span for _, span in sorted(expected.errors.items())]
                assert ledger.collection(id_) == seen
            for id_ in WRITERS:
                of_writer = {i for i, c in self.model.collections.items() if c.writer_id == id_}
                assert ledger.collections(id_).keys() == of_writer

    @invariant()
    def every_readable_timestamp_has_its_files(self) -> None:
        for id_, collection in self.model.collections.items():
            for ts in collection.readable(self.now()):
                plan = self.ledgers[ts % 2].read_plan(id_, ts)
                state_as_of, state, tail = collection.plan(ts)
                bare = [FileEntry(file.path, file.rows, file.bytes) for file in state]
                assert (plan.as_of, plan.state_as_of) == (ts, state_as_of)
                assert sorted(plan.state, key=str) == sorted(bare, key=str)
                assert list(plan.tail) == tail

    @invariant()
    def nothing_else_is_named(self) -> None:
        for id_ in NAMES:
            collection = self.model.collections.get(id_)
            named = self.ledgers[0].named_paths(id_)
            assert named == (collection.named() if collection is not None else set())

    @invariant()
    def tails_are_measured(self) -> None:
        sizes = [c.tail_size(id_) for id_, c in self.model.collections.items()]
        expected: list[TailSize] = [size for size in sizes if size is not None]
        assert sorted(self.ledgers[1].tails(), key=str) == sorted(expected, key=str)

    @invariant()
    def states_that_follow_another_are_listed(self) -> None:
        expected = [
            (id_, as_of)
            for id_, c in sorted(self.model.collections.items())
            for as_of in sorted(s for s in c.states if s >= c.forgotten_before)[1:]
        ]
        assert self.ledgers[0].superseded() == expected


@pytest.mark.parametrize("kept", METADATA)
def test_a_ledger_answers_as_the_model_does(kept: str) -> None:
    run_state_machine_as_test(
        lambda: LedgerAgainstModel(kept),  # type: ignore[arg-type]
        settings=settings(max_examples=40, stateful_step_count=30, deadline=None),
    )


@pytest.fixture(params=METADATA)
def metadata(request: pytest.FixtureRequest, tmp_path: Path) -> Metadata:
    return METADATA[request.param](tmp_path)


@pytest.fixture
def ledger(metadata: Metadata) -> Iterator[Ledger]:
    made = metadata.ledger()
    yield made
    made.close()


def test_an_older_writer_is_fenced_by_a_newer_one(metadata: Metadata, ledger: Ledger) -> None:
    other = metadata.ledger()
    old = ledger.open_writer("u1")
    new = other.open_writer("u1")
    with pytest.raises(LedgerConflict, match="epoch 1 at 0 is not current"):
        ledger.append("u1", old, 1, 1, {})
    assert other.append("u1", new, 1, 1, {}) == WriterState(2, 1, 1)
    other.close()


def test_an_append_that_is_repeated_after_it_was_durable_is_noticed(ledger: Ledger) -> None:
    state = ledger.open_writer("u1")
    with armed("ledger.after_commit", "error"), pytest.raises(TransientError):
        ledger.append("u1", state, 1, 1, {})
    with pytest.raises(LedgerConflict):
        ledger.append("u1", state, 2, 2, {})
    assert ledger.bindings("u1") == [(1, 1)]


def test_a_table_is_not_read_before_it_is_hydrated_nor_before_it_began(ledger: Ledger) -> None:
    ledger.open_writer("u1")
    ledger.join([("t1", "keyed", RELATION, "b", Read(5))], "u1", 5, hydrated=False)
    with pytest.raises(InvariantViolation, match="t1 is read before it is hydrated"):
        ledger.read_plan("t1", 5)
    ledger.fill({"t1": Filled(Read(5), [], 0)}, 0)
    with pytest.raises(InvariantViolation, match="t1 has no state at or before 4"):
        ledger.read_plan("t1", 4)
    with pytest.raises(InvariantViolation, match="nothing is read before it is hydrated"):
        ledger.read_plan("nothing", 5)


def test_a_snapshot_is_the_state_as_of_the_binding_where_the_table_joined(ledger: Ledger) -> None:
    state = ledger.append("u1", ledger.open_writer("u1"), 10, 100, {})
    ledger.join([("t1", "keyed", RELATION, "b", Read(100))], "u1", 10, hydrated=False)
    ledger.append("u1", state, 11, 101, {"t1": [FileEntry("change", 1, 1)]})
    ledger.fill({"t1": Filled(Read(100), [FileEntry("chunk", 3, 3)], 0)}, 0)
    plan = ledger.read_plan("t1", 11)
    assert (plan.state_as_of, [f.path for f in plan.state], [f.path for f in plan.tail]) == (
        10,
        ["chunk"],
        ["change"],
    )


def test_a_table_that_was_hydrated_once_is_not_hydrated_again(ledger: Ledger) -> None:
    ledger.open_writer("u1")
    ledger.join([("t1", "keyed", RELATION, "b", Read(5))], "u1", 5, hydrated=False)
    first, second = FileEntry("first", 3, 3), FileEntry("second", 3, 3)
    ledger.add_chunks([("t1", Read(5), 0, first)])
    with armed("ledger.after_commit", "error"), pytest.raises(TransientError):
        ledger.fill({"t1": Filled(Read(5), [first], 0)}, 0)
    ledger.add_chunks([("t1", Read(5), 0, second)])
    ledger.fill({"t1": Filled(Read(5), [second], 1)}, 0)
    assert [file.path for file in ledger.read_plan("t1", 5).state] == ["first"]
    assert ledger.named_paths("t1") == {"first"}


def test_a_writer_that_is_opened_again_says_what_became_of_a_doubtful_append(ledger: Ledger) -> None:
    state = ledger.open_writer("u1")
    for failpoint, durable in (("ledger.before_commit", False), ("ledger.after_commit", True)):
        with armed(failpoint, "error"), pytest.raises(TransientError):
            ledger.append("u1", state, state.ts + 5, 1, {})
        again = ledger.open_writer("u1")
        assert again.ts == (state.ts + 5 if durable else state.ts)
        with pytest.raises(LedgerConflict):
            ledger.append("u1", state, state.ts + 6, 2, {})
        state = ledger.append("u1", again, again.ts + 1, 2, {})


def test_timestamps_of_a_writer_only_grow(ledger: Ledger) -> None:
    state = ledger.append("u1", ledger.open_writer("u1"), 5, "five", {})
    for ts in (4, 5):
        with pytest.raises(InvariantViolation, match=f"binding of u1 at {ts} follows one at 5"):
            ledger.append("u1", state, ts, "again", {})
    assert ledger.writer("u1") == WriterState(1, 5, "five")


def test_a_name_belongs_to_the_process_that_took_it_last(metadata: Metadata) -> None:
    first = metadata.ledger("cluster-x")
    state = first.open_writer("u1")
    looking, other, second = metadata.ledger(), metadata.ledger("environment"), metadata.ledger("cluster-x")
    assert looking.incarnation == 0
    numbers = [first.incarnation, other.incarnation, second.incarnation]
    assert numbers == sorted(set(numbers))
    assert looking.incarnations() == {other.incarnation, second.incarnation}
    for step in (lambda: first.append("u1", state, 1, 1, {}), lambda: first.open_writer("u1"), first.settle):
        with pytest.raises(LedgerConflict, match="another process has begun as cluster-x"):
            step()
    second.settle()
    with pytest.raises(InvariantViolation, match="without a name"):
        looking.settle()
    assert second.append("u1", state, 1, 1, {}).ts == 1
    for each in (first, looking, other, second):
        each.close()


def test_what_a_newer_release_has_written_is_refused_with_both_versions(metadata: Metadata) -> None:
    metadata.ledger().close()
    metadata.make_newer("ledger")
    for process in (None, "cluster-x"):
        with pytest.raises(
            UserError, match=f"newer release: it has ledger version {NEWER}.*up to "
        ) as caught:
            metadata.ledger(process)
        assert caught.value.hint is not None


def test_while_another_process_writes_questions_are_answered_and_a_step_waits(
    metadata: Metadata, ledger: Ledger
) -> None:
    state = ledger.open_writer("u1")
    with ThreadPoolExecutor(1) as pool:
        with metadata.another_writes():
            waiting = pool.submit(ledger.append, "u1", state, 1, 1, {})
            with pytest.raises(TimeoutError):
                waiting.result(0.2)
            assert ledger.writer("u1") == state  # by another thread than the one that waits
            looking = metadata.ledger()  # there is nothing to be brought up to date
            assert looking.writers() == {"u1": state}
            looking.close()
        assert waiting.result(60).ts == 1


def test_what_came_while_a_table_was_read_again_in_vain_is_let_go_with_that(ledger: Ledger) -> None:
    state = ledger.append("u1", ledger.open_writer("u1"), 10, 100, {})
    ledger.join([("t1", "counted", RELATION, "b", Read(100))], "u1", 10, hydrated=True)
    doubt = DefiniteError("", "0/0", "in doubt", heals=True)
    state = ledger.append("u1", state, 11, 101, {}, {"t1": doubt})
    ledger.rejoin({"t1": Read("first")}, 11)
    state = ledger.append("u1", state, 12, 102, {"t1": [FileEntry("in vain", 1, 1)]})
    ledger.rejoin({"t1": Read("second")}, 12)
    state = ledger.append("u1", state, 13, 103, {"t1": [FileEntry("later", 1, 1)]})
    ledger.fill({"t1": Filled(Read("first"), [FileEntry("late", 5, 5, resets=True)])}, 13)
    assert ledger.errors("t1")[0].until is None
    ledger.fill({"t1": Filled(Read("second"), [FileEntry("whole", 5, 5, resets=True)])}, 13)
    assert [file.path for file in ledger.read_plan("t1", 13).tail] == ["whole", "later"]
    assert ledger.errors("t1")[0].until == 13
    assert ledger.named_paths("t1") == {"whole", "later"}
