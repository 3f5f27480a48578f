"""What every store of the catalog promises (catalog/store.py): what was committed is there, and nothing else.

Method: against the interface alone, for each of `METADATA`.  A store is written, then opened again, and both
states are compared; a process is ended inside a transaction by a failpoint; another process writes meanwhile.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.catalog.state import CatalogState, Cluster
from headwater.catalog.store import MetadataBusy, Named
from headwater.catalog.updates import (
    AlterCluster,
    CatalogVersionIs,
    ClusterNameFree,
    CreateCluster,
    CreateItem,
    DatabaseNameFree,
    DropItem,
    ItemExists,
    NameFree,
    RenameItem,
    Requirement,
    SchemaNameFree,
    SetSystemVariable,
    SwapItems,
)
from headwater.core.errors import InvariantViolation, TransientError, UserError
from headwater.observe.failpoints import armed
from tests.support.metadata import METADATA, NEWER, Metadata
from tests.unit.catalog.populated import OBJECTS, SESSION_PID, table


class StoppedClock:
    """Always the same moment."""

    def now_ms(self) -> int:
        return 1_700_000_000_000

    def monotonic_s(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        return None


@pytest.fixture(params=METADATA)
def metadata(request: pytest.FixtureRequest, tmp_path: Path) -> Metadata:
    return METADATA[request.param](tmp_path / "data")


def reopened(metadata: Metadata) -> CatalogState:
    store = metadata.catalog()
    store.close()
    return store.state


def contents(state: CatalogState) -> dict[str, object]:
    """Everything durable about a state, comparable."""
    durable = {i: item for i, item in state.items.items() if item.temporary_pid is None}
    return {
        "version": state.version,
        "databases": state.databases,
        "schemas": state.schemas,
        "clusters": state.clusters,
        "roles": state.roles,
        "items": durable,
        "comments": state.comments,
        "memberships": state.memberships,
        "grants": {key: grants for key, grants in state.grants.items() if key != ("item", "u6")},
        "default_grants": state.default_grants,
        "system_variables": state.system_variables,
        "item_ids": {key: i for key, i in state.item_ids.items() if i in durable},
        "dependents": {
            target: kept
            for target, ids in state.dependents.items()
            if (kept := frozenset(i for i in ids if i in durable))
        },
    }


def test_a_new_environment_has_a_database_a_schema_a_cluster_and_a_role(metadata: Metadata) -> None:
    state = reopened(metadata)
    assert [d.name for d in state.databases.values()] == ["materialize"]
    assert [s.name for s in state.schemas.values()] == ["public"]
    assert [c.name for c in state.clusters.values()] == ["quickstart"]
    assert state.role_named("materialize") is not None


def test_what_is_read_again_equals_what_was_written(metadata: Metadata) -> None:
    store = metadata.catalog()
    store.transact([], OBJECTS)
    store.transact([], [SwapItems("u2", "u3"), SetSystemVariable("max_tables", "7")])
    store.transact([], [AlterCluster("u1", size="large"), RenameItem("u4", "small")])
    written = contents(store.state)
    store.close()
    assert contents(reopened(metadata)) == written


def test_temporary_items_do_not_survive_their_process(metadata: Metadata) -> None:
    store = metadata.catalog()
    store.transact([], OBJECTS)
    assert store.state.temporary_items_of(SESSION_PID)
    store.close()
    state = reopened(metadata)
    assert not state.temporary_items_of(SESSION_PID)
    assert "u6" not in state.items


def test_a_transaction_counts_one_version_however_many_updates_it_has(metadata: Metadata) -> None:
    store = metadata.catalog()
    before = store.state.version
    assert store.transact([], OBJECTS).version == before + 1


@pytest.mark.parametrize("kept", METADATA)
@given(steps=st.lists(st.tuples(st.sampled_from("cdr"), st.integers(1, 5)), max_size=12))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_sequence_of_transactions_can_be_read_again(
    tmp_path_factory: pytest.TempPathFactory, kept: str, steps: list[tuple[str, int]]
) -> None:
    metadata = METADATA[kept](tmp_path_factory.mktemp("catalog"))
    store = metadata.catalog()
    for action, number in steps:
        item_id = f"u{number}"
        if item_id not in store.state.items:
            if action == "c":
                store.transact([], [CreateItem(table(item_id, f"t{number}"))])
        elif action == "d":
            store.transact([], [DropItem(item_id)])
        elif action == "r":
            store.transact([], [RenameItem(item_id, f"t{number}_{store.state.version}")])
    written = contents(store.state)
    store.close()
    assert contents(reopened(metadata)) == written


@pytest.mark.parametrize(
    ("requirement", "message", "sqlstate"),
    [
        (NameFree("u1", "bids"), "catalog item 'bids' already exists", "42P07"),
        (DatabaseNameFree("other"), "database 'other' already exists", "42P04"),
        (SchemaNameFree("u1", "public"), "schema 'public' already exists", "42P06"),
        (SchemaNameFree("u1", "pg_catalog"), "schema 'pg_catalog' already exists", "42P06"),
        (ClusterNameFree("quickstart"), "cluster 'quickstart' already exists", "42710"),
        (ItemExists("u77", "gone"), "catalog item 'gone' was dropped while the statement ran", "42704"),
        (CatalogVersionIs(1), "the catalog was changed by another statement at the same time", "40001"),
    ],
)
def test_a_requirement_that_fails_is_told_to_the_user_and_nothing_happens(
    metadata: Metadata, requirement: Requirement, message: str, sqlstate: str
) -> None:
    store = metadata.catalog()
    state = store.transact([], OBJECTS)
    with pytest.raises(UserError) as caught:
        store.transact([requirement], [CreateItem(table("u50", "new"))])
    assert (caught.value.message, caught.value.sqlstate) == (message, sqlstate)
    assert store.state is state
    store.close()
    assert "u50" not in reopened(metadata).items


def test_an_update_that_fails_takes_the_whole_transaction_with_it(metadata: Metadata) -> None:
    store = metadata.catalog()
    before = contents(store.state)
    with pytest.raises(InvariantViolation):
        store.transact([], [CreateItem(table("u1", "first")), DropItem("u9")])
    assert contents(store.state) == before
    store.close()
    assert contents(reopened(metadata)) == before


def test_a_failure_before_the_commit_leaves_the_store_usable(metadata: Metadata) -> None:
    store = metadata.catalog()
    with armed("catalog.before_commit", "error"), pytest.raises(TransientError):
        store.transact([], [CreateItem(table("u1", "lost"))])
    store.transact([], [CreateItem(table("u1", "kept"))])
    store.close()
    assert reopened(metadata).items["u1"].name == "kept"


@pytest.mark.parametrize(("failpoint", "survives"), [("before", False), ("after", True)])
def test_a_process_that_ends_at_its_commit_loses_nothing_it_has_committed(
    metadata: Metadata, failpoint: str, survives: bool
) -> None:
    program = (
        "import pickle, sys\n"
        "from headwater.catalog.updates import CreateItem\n"
        "from tests.unit.catalog.test_apply import table\n"
        "store = pickle.load(sys.stdin.buffer).catalog()\n"
        "store.transact([], [CreateItem(table('u1', 'first'))])\n"
        "store.transact([], [CreateItem(table('u2', 'second'))])\n"
    )
    environment = {**os.environ, "HEADWATER_FAILPOINTS": f"catalog.{failpoint}_commit=2*exit"}
    ended = subprocess.run(
        [sys.executable, "-c", program],
        input=pickle.dumps(metadata),
        env=environment,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 137
    state = reopened(metadata)
    assert "u1" in state.items
    assert ("u2" in state.items) is survives
    assert state.version == (3 if survives else 2)


def test_another_process_that_writes_the_catalog_is_noticed(metadata: Metadata) -> None:
    store = metadata.catalog()
    second = metadata.catalog()
    second.transact([], [CreateItem(table("u1", "theirs"))])
    with pytest.raises(InvariantViolation, match="no longer at version 1"):
        store.transact([], [CreateItem(table("u1", "ours"))])
    assert store.state.items == {}
    store.close()
    store = metadata.catalog()
    assert store.transact([], [RenameItem("u1", "ours")]).items["u1"].name == "ours"
    with pytest.raises(InvariantViolation, match="no longer at version 2"):
        second.transact([], [RenameItem("u1", "theirs")])
    store.close()
    second.close()


def test_while_another_process_writes_a_change_gives_up_and_a_question_does_not(
    metadata: Metadata,
) -> None:
    store = metadata.catalog()
    store.put_setting("oracle", "17")
    store.patience_ms = 1
    before = store.state
    with metadata.another_writes():
        for change in (
            lambda: store.transact([], [CreateItem(table("u1", "t"))]),
            lambda: store.allocate_ids("item"),
            store.bump_epoch,
            lambda: store.put_setting("oracle", "18"),
        ):
            with pytest.raises(MetadataBusy):
                change()
        assert (store.state, store.get_setting("oracle")) == (before, "17")
        assert [event.details.get("id") for event in store.audit_events()].count("u1") == 0
    assert store.transact([], [CreateItem(table("u1", "t"))]).items["u1"].name == "t"
    store.close()


def test_a_change_waits_as_long_as_it_has_patience(metadata: Metadata) -> None:
    store = metadata.catalog()
    with ThreadPoolExecutor(1) as pool:
        with metadata.another_writes():
            waiting = pool.submit(store.allocate_oids)
            with pytest.raises(TimeoutError):
                waiting.result(0.2)
        assert len(waiting.result(60)) == 1
    store.close()


def test_ids_and_oids_are_never_given_out_twice(metadata: Metadata) -> None:
    store = metadata.catalog()
    ids = store.allocate_ids("item", 3)
    oids = store.allocate_oids(2)
    store.close()
    store = metadata.catalog()
    assert ids == ("u1", "u2", "u3")
    assert store.allocate_ids("item") == ("u4",)
    assert min(oids) >= 20_000
    assert set(oids).isdisjoint(store.allocate_oids(2))
    taken = {*store.state.roles, *store.state.databases}
    assert store.allocate_ids("role")[0] not in taken
    assert store.allocate_ids("database")[0] not in taken


def test_ids_are_unique_across_threads(metadata: Metadata) -> None:
    store = metadata.catalog()
    ids: list[str] = []
    threads = [threading.Thread(target=lambda: ids.extend(store.allocate_ids("item", 5))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(ids)) == 40


def test_the_epoch_grows_with_every_start(metadata: Metadata) -> None:
    epochs = []
    for _ in range(3):
        store = metadata.catalog()
        epochs.append(store.bump_epoch())
        store.close()
    assert epochs == [1, 2, 3]


def test_settings_are_durable(metadata: Metadata) -> None:
    store = metadata.catalog()
    assert store.get_setting("oracle") is None
    store.put_setting("oracle", "17")
    store.put_setting("oracle", "18")
    store.close()
    assert metadata.catalog().get_setting("oracle") == "18"


def test_the_audit_log_says_who_did_what_and_when(metadata: Metadata) -> None:
    store = metadata.catalog(StoppedClock())
    store.transact([], OBJECTS, by=Named("ann"))
    store.transact([], [RenameItem("u3", "simple")], by=Named("bob"))
    store.transact([ClusterNameFree("blue")], [CreateCluster(Cluster("u2", "blue", "local"))])
    events = store.audit_events()
    assert [event.id for event in events] == list(range(1, len(events) + 1))
    created = next(event for event in events if event.details.get("id") == "u1" and event.user == "ann")
    assert created.event_type == "create"
    source = next(event for event in events if event.object_type == "source")
    assert source.details == {
        "id": "u1",
        "database": "materialize",
        "schema": "public",
        "item": "auction",
        "cluster_id": "u1",
        "external_type": "load-generator",
    }
    assert source.occurred_at_ms == StoppedClock().now_ms()
    renamed = next(event for event in events if event.user == "bob")
    assert renamed.details["old_name"] == {"database": "materialize", "schema": "public", "item": "plain"}
    assert renamed.details["new_name"] == {"database": "materialize", "schema": "public", "item": "simple"}
    assert [event.object_type for event in store.audit_events(renamed.id)] == [
        "cluster",
        "cluster-replica",
    ]
    assert "scratch" not in str(events), "temporary items leave no trace"


def test_what_a_newer_release_has_written_is_refused_with_both_versions(metadata: Metadata) -> None:
    metadata.catalog().close()
    metadata.make_newer("catalog")
    with pytest.raises(UserError, match=f"newer release: it has catalog version {NEWER}.*up to ") as caught:
        metadata.catalog()
    assert caught.value.hint is not None


def test_samples_are_kept_over_restarts_and_bounded_in_time_and_number(metadata: Metadata) -> None:
    store = metadata.catalog()
    for minute in range(5):
        store.add_samples("lag", minute, [("u1", "u1", minute * 10), ("u2", None, None)], 1, 6)
        store.add_samples("storage", minute, [("u1", None, 7)], 0, 100)
    store.close()
    again = metadata.catalog()
    assert again.samples("lag") == [
        (minute, id_, replica, value)
        for minute in (2, 3, 4)
        for id_, replica, value in (("u1", "u1", minute * 10), ("u2", None, None))
    ]
    again.add_samples("lag", 9, [("u1", "u1", 1)], 4, 6)
    assert [row[0] for row in again.samples("lag")] == [4, 4, 9]
    assert len(again.samples("storage")) == 5
    again.close()
