"""CatalogStore: what was committed is there after any end of the process, and nothing else is.

Method: a store is written, then opened again from its file, and both states are
compared; a process is ended inside a transaction by a failpoint; files are damaged
on purpose and the message is read as a user would.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.catalog.migrations import load_migrations
from headwater.catalog.state import CatalogState, Cluster
from headwater.catalog.store import CatalogStore
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
from tests.unit.catalog.populated import OBJECTS, SESSION_PID
from tests.unit.catalog.test_apply import table


class StoppedClock:
    """Always the same moment."""

    def now_ms(self) -> int:
        return 1_700_000_000_000

    def monotonic_s(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        return None


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "metadata.sqlite"


def reopened(path: Path) -> CatalogState:
    store = CatalogStore(path)
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
        "system_variables": state.system_variables,
        "item_ids": {key: i for key, i in state.item_ids.items() if i in durable},
        "dependents": {
            target: kept
            for target, ids in state.dependents.items()
            if (kept := frozenset(i for i in ids if i in durable))
        },
    }


def test_a_new_environment_has_a_database_a_schema_a_cluster_and_a_role(path: Path) -> None:
    state = reopened(path)
    assert [d.name for d in state.databases.values()] == ["materialize"]
    assert [s.name for s in state.schemas.values()] == ["public"]
    assert [c.name for c in state.clusters.values()] == ["quickstart"]
    assert state.role_named("materialize") is not None


def test_what_is_read_again_equals_what_was_written(path: Path) -> None:
    store = CatalogStore(path)
    store.transact([], OBJECTS)
    store.transact([], [SwapItems("u2", "u3"), SetSystemVariable("max_tables", "7")])
    store.transact([], [AlterCluster("u1", size="large"), RenameItem("u4", "small")])
    written = contents(store.state)
    store.close()
    assert contents(reopened(path)) == written


def test_temporary_items_do_not_survive_their_process(path: Path) -> None:
    store = CatalogStore(path)
    store.transact([], OBJECTS)
    assert store.state.temporary_items_of(SESSION_PID)
    store.close()
    state = reopened(path)
    assert not state.temporary_items_of(SESSION_PID)
    assert "u6" not in state.items


def test_a_transaction_counts_one_version_however_many_updates_it_has(path: Path) -> None:
    store = CatalogStore(path)
    before = store.state.version
    assert store.transact([], OBJECTS).version == before + 1


@given(steps=st.lists(st.tuples(st.sampled_from("cdr"), st.integers(1, 5)), max_size=12))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_sequence_of_transactions_can_be_read_again(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    path = tmp_path_factory.mktemp("catalog") / "metadata.sqlite"
    store = CatalogStore(path)
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
    assert contents(reopened(path)) == written


@pytest.mark.parametrize(
    ("requirement", "message", "sqlstate"),
    [
        (NameFree("u1", "bids"), "catalog item 'bids' already exists", "42710"),
        (DatabaseNameFree("other"), "database 'other' already exists", "42P04"),
        (SchemaNameFree("u1", "public"), "schema 'public' already exists", "42P06"),
        (SchemaNameFree("u1", "pg_catalog"), "schema 'pg_catalog' already exists", "42P06"),
        (ClusterNameFree("quickstart"), "cluster 'quickstart' already exists", "42710"),
        (ItemExists("u77", "gone"), "catalog item 'gone' was dropped while the statement ran", "42704"),
        (CatalogVersionIs(1), "the catalog was changed by another statement at the same time", "40001"),
    ],
)
def test_a_requirement_that_fails_is_told_to_the_user_and_nothing_happens(
    path: Path, requirement: Requirement, message: str, sqlstate: str
) -> None:
    store = CatalogStore(path)
    state = store.transact([], OBJECTS)
    with pytest.raises(UserError) as caught:
        store.transact([requirement], [CreateItem(table("u50", "new"))])
    assert (caught.value.message, caught.value.sqlstate) == (message, sqlstate)
    assert store.state is state
    store.close()
    assert "u50" not in reopened(path).items


def test_an_update_that_fails_takes_the_whole_transaction_with_it(path: Path) -> None:
    store = CatalogStore(path)
    before = contents(store.state)
    with pytest.raises(InvariantViolation):
        store.transact([], [CreateItem(table("u1", "first")), DropItem("u9")])
    assert contents(store.state) == before
    store.close()
    assert contents(reopened(path)) == before


def test_a_failure_before_the_commit_leaves_the_store_usable(path: Path) -> None:
    store = CatalogStore(path)
    with armed("catalog.before_commit", "error"), pytest.raises(TransientError):
        store.transact([], [CreateItem(table("u1", "lost"))])
    store.transact([], [CreateItem(table("u1", "kept"))])
    store.close()
    assert reopened(path).items["u1"].name == "kept"


@pytest.mark.parametrize(("failpoint", "survives"), [("before", False), ("after", True)])
def test_a_process_that_ends_at_its_commit_loses_nothing_it_has_committed(
    path: Path, failpoint: str, survives: bool
) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from headwater.catalog.store import CatalogStore\n"
        "from headwater.catalog.updates import CreateItem\n"
        "from tests.unit.catalog.test_apply import table\n"
        "store = CatalogStore(Path(sys.argv[1]))\n"
        "store.transact([], [CreateItem(table('u1', 'first'))])\n"
        "store.transact([], [CreateItem(table('u2', 'second'))])\n"
    )
    environment = {**os.environ, "HEADWATER_FAILPOINTS": f"catalog.{failpoint}_commit=2*exit"}
    ended = subprocess.run(
        [sys.executable, "-c", program, str(path)], env=environment, timeout=60, check=False
    )
    assert ended.returncode == 137
    state = reopened(path)
    assert "u1" in state.items
    assert ("u2" in state.items) is survives
    assert state.version == (3 if survives else 2)


def test_another_process_that_writes_the_catalog_is_noticed(path: Path) -> None:
    store = CatalogStore(path)
    second = CatalogStore(path)
    second.transact([], [CreateItem(table("u1", "theirs"))])
    with pytest.raises(InvariantViolation, match="no longer at version 1"):
        store.transact([], [CreateItem(table("u1", "ours"))])
    assert "u1" in store.load().items
    assert store.transact([], [RenameItem("u1", "ours")]).items["u1"].name == "ours"


def test_ids_and_oids_are_never_given_out_twice(path: Path) -> None:
    store = CatalogStore(path)
    ids = store.allocate_ids("item", 3)
    oids = store.allocate_oids(2)
    store.close()
    store = CatalogStore(path)
    assert ids == ("u1", "u2", "u3")
    assert store.allocate_ids("item") == ("u4",)
    assert min(oids) >= 20_000
    assert set(oids).isdisjoint(store.allocate_oids(2))
    taken = {*store.state.roles, *store.state.databases}
    assert store.allocate_ids("role")[0] not in taken
    assert store.allocate_ids("database")[0] not in taken


def test_ids_are_unique_across_threads(path: Path) -> None:
    store = CatalogStore(path)
    ids: list[str] = []
    threads = [threading.Thread(target=lambda: ids.extend(store.allocate_ids("item", 5))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(ids)) == 40


def test_the_epoch_grows_with_every_start(path: Path) -> None:
    epochs = []
    for _ in range(3):
        store = CatalogStore(path)
        epochs.append(store.bump_epoch())
        store.close()
    assert epochs == [1, 2, 3]


def test_settings_are_durable(path: Path) -> None:
    store = CatalogStore(path)
    assert store.get_setting("oracle") is None
    store.put_setting("oracle", "17")
    store.put_setting("oracle", "18")
    store.close()
    assert CatalogStore(path).get_setting("oracle") == "18"


def test_the_audit_log_says_who_did_what_and_when(path: Path) -> None:
    store = CatalogStore(path, StoppedClock())
    store.transact([], OBJECTS, user="ann")
    store.transact([], [RenameItem("u3", "simple")], user="bob")
    store.transact([ClusterNameFree("blue")], [CreateCluster(Cluster("u2", "blue", "local", 2))])
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
        "cluster-replica",
    ]
    assert "scratch" not in str(events), "temporary items leave no trace"


def test_a_directory_of_a_newer_release_is_refused_with_both_versions(path: Path) -> None:
    CatalogStore(path).close()
    newest = load_migrations()[-1].version
    connection = sqlite3.connect(path)
    connection.execute("INSERT INTO migration VALUES (?, 'later', 0)", (newest + 7,))
    connection.commit()
    connection.close()
    with pytest.raises(UserError) as caught:
        CatalogStore(path)
    assert str(path) in caught.value.message
    assert f"catalog version {newest + 7}" in caught.value.message
    assert f"up to {newest}" in caught.value.message


def test_migrations_are_numbered_without_gaps() -> None:
    assert [m.version for m in load_migrations()] == list(range(1, len(load_migrations()) + 1))


def test_a_file_that_is_no_database_is_named_with_what_to_do(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"not at all a database" * 100)
    with pytest.raises(UserError, match="is damaged: file is not a database") as caught:
        CatalogStore(path)
    assert str(path) in caught.value.message
    assert caught.value.hint is not None
    assert "backup" in caught.value.hint


def test_a_database_with_damaged_pages_is_noticed(path: Path) -> None:
    store = CatalogStore(path)
    store.transact([], [CreateItem(table(f"u{n}", f"t{n}")) for n in range(1, 300)])
    store.close()
    data = bytearray(path.read_bytes())
    for page in range(2, len(data) // 4096 - 1, 2):
        data[page * 4096 : page * 4096 + 2048] = b"\xa5" * 2048
    path.write_bytes(data)
    with pytest.raises(UserError, match="is damaged") as caught:
        CatalogStore(path)
    assert str(path) in caught.value.message


def test_somebody_elses_database_is_left_alone(path: Path) -> None:
    path.parent.mkdir(parents=True)
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (a)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(UserError, match="not one of this product"):
        CatalogStore(path)
    assert path.read_bytes() == before


def test_a_directory_that_cannot_be_written_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "metadata.sqlite").mkdir()
    with pytest.raises(UserError, match="could not be used"):
        CatalogStore(tmp_path / "metadata.sqlite")
