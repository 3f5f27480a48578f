"""The cluster's end of the socket: the wanted world may be said again at any time, a drop is answered.

Method: a real cluster process, and in place of an environment a socket that says what an environment says
and keeps all it hears.  That something does not happen is seen by what comes after it: housekeeping takes
drops one turn after the other and answers those of unknown ids, too, so when two of those have been
answered, one after the other, everything that was said before has had its turn.
"""

from __future__ import annotations

import itertools
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from headwater.core import protocol
from headwater.core.change import FLAWS
from headwater.core.clock import SYSTEM_CLOCK
from headwater.persist.combine import relation_sql
from headwater.persist.layout import cluster_socket
from headwater.persist.local import LocalStore
from headwater.persist.opening import open_ledger
from headwater.sources.contract import Export
from headwater.sources.load_generator import references, resolve_options
from tests.support.cluster_messages import receive
from tests.support.expected import Fed, plain
from tests.support.files import check_files, rows_about
from tests.support.server import QUICK_SPARK, HeadwaterServer, eventually

HEAR_S_MAX = 240.0
END_S_MAX = 60.0
KEY_VALUE = {
    "KEYS": 100,
    "SNAPSHOT ROUNDS": 1,
    "VALUE SIZE": 8,
    "SEED": 1,
    "PARTITIONS": 2,
    "BATCH SIZE": 5,
    "TRANSACTIONAL SNAPSHOT": True,
    "TICK INTERVAL": "50ms",
}
OPTIONS = resolve_options("KEY VALUE", KEY_VALUE, SYSTEM_CLOCK.now_ms())


def export_of(table_id: str) -> Export:
    (reference,) = references(OPTIONS)
    names = tuple(reference.relation.column_names())
    return Export(table_id, reference.path(), reference.relation, names, reference.discipline)


def wanted(source_id: str, *table_ids: str) -> protocol.RunIngestion:
    exports = [export_of(id_).to_json() for id_ in table_ids]
    return protocol.RunIngestion(source_id, "load-generator", OPTIONS, 100, exports, "quickstart", False)


class Cluster(HeadwaterServer):
    """A cluster process without a server; started again it finds what the one before has left."""

    def start(self, environment: dict[str, str] | None = None) -> Cluster:
        path = cluster_socket(self.data_dir, "quickstart")
        self.data_dir.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "headwater", "cluster", "--data-dir", str(self.data_dir)),
                    *("--listen", f"unix:{path}", *self._spark),
                ],
                stdout=log,
                stderr=log,
            )
        eventually(path.exists, within_s=HEAR_S_MAX)
        return self

    def kill(self) -> None:
        """As a power cut would."""
        self.kill_environment()

    def check_rows(self, source_id: str, table_id: str) -> int:
        """The table is its upstream where its source stands; returns how far that is."""
        ledger = open_ledger(self.data_dir)
        try:
            writer = ledger.writer(source_id)
            assert writer is not None
            plan = ledger.read_plan(table_id, writer.ts)
            rows = (
                duckdb.connect()
                .execute(f"SELECT * EXCLUDE {FLAWS} FROM {relation_sql(plan, LocalStore(self.data_dir))}")
                .fetchall()
            )
        finally:
            ledger.close()
        expected = Fed(table_id, source_id, OPTIONS, export_of(table_id)).rows_at(writer.frontier)
        assert Counter(map(plain, rows)) == expected
        return int(writer.frontier)


def connected(data_dir: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    try:
        made.connect(str(cluster_socket(data_dir, "quickstart")))
    except OSError:
        made.close()
        raise
    return made


class Environment:
    """A connection that keeps what it hears."""

    epochs = itertools.count(1)
    markers = itertools.count(1)

    def __init__(self, data_dir: Path) -> None:
        self._socket = eventually(lambda: connected(data_dir), within_s=HEAR_S_MAX)
        self.heard: list[Any] = []
        self._thread = threading.Thread(target=self._listen, name="environment", daemon=True)
        self.say(protocol.Hello(next(self.epochs), protocol.PROTOCOL_VERSION, 0))
        self._thread.start()

    def _listen(self) -> None:
        try:
            while True:
                self.heard.append(receive(self._socket))
        except (EOFError, OSError):
            return

    def say(self, *commands: Any) -> None:
        self._socket.sendall(b"".join(protocol.encode(command) for command in commands))

    def state(self, *commands: Any) -> None:
        """The whole of what is wanted."""
        self.say(*commands, protocol.InitializationComplete())

    def hydrated(self) -> set[str]:
        told = [message for message in list(self.heard) if isinstance(message, protocol.Frontiers)]
        return {id_ for message in told for id_ in message.hydrated}

    def dropped(self) -> Counter[str]:
        """How often each id was said to be gone."""
        told = [message for message in list(self.heard) if isinstance(message, protocol.Dropped)]
        return Counter(id_ for message in told for id_ in message.ids)

    def wait_hydrated(self, *table_ids: str) -> None:
        eventually(lambda: set(table_ids) <= self.hydrated(), within_s=HEAR_S_MAX)

    def wait_turn(self) -> None:
        """Until housekeeping has had a turn that began after this was called."""
        for _ in range(2):
            marker = f"marker{next(self.markers)}"
            self.say(protocol.DropCollections([marker]))
            eventually(lambda marker=marker: self.dropped()[marker], within_s=HEAR_S_MAX)  # type: ignore[misc]

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(END_S_MAX)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("restating") / "data", spark_conf=QUICK_SPARK)
    try:
        yield made.start()
        made.stop()
        check_files(made.data_dir)
    finally:
        made.stop()


def joined_at(cluster: Cluster, table_id: str) -> int:
    ledger = open_ledger(cluster.data_dir)
    try:
        collection = ledger.collection(table_id)
        assert collection is not None
        return collection.joined_ts
    finally:
        ledger.close()


def epoch_of(cluster: Cluster, source_id: str) -> tuple[int, int]:
    """Of the source's writer, and the timestamp it has reached."""
    ledger = open_ledger(cluster.data_dir)
    try:
        writer = ledger.writer(source_id)
        assert writer is not None
        return writer.epoch, writer.ts
    finally:
        ledger.close()


def check_nothing_of(cluster: Cluster, *ids: str) -> None:
    for id_ in ids:
        assert rows_about(cluster.data_dir, id_) == 0, id_
        assert not (cluster.data_dir / "tables" / id_).exists(), id_


@pytest.mark.timeout(900)
def test_what_is_said_again_changes_nothing(cluster: Cluster) -> None:
    first = Environment(cluster.data_dir)
    first.state(wanted("u1", "u2"))
    first.wait_hydrated("u2")
    before = joined_at(cluster, "u2"), epoch_of(cluster, "u1")[0]
    first.state(*[wanted("u1", "u2")] * 3)
    first.wait_turn()
    second = Environment(cluster.data_dir)
    second.state(wanted("u1", "u2"))
    # Who comes is told where everything stands, and the one before is no longer listened to.
    second.wait_hydrated("u2")
    second.wait_turn()
    assert (joined_at(cluster, "u2"), epoch_of(cluster, "u1")[0]) == before
    offset = cluster.check_rows("u1", "u2")
    eventually(lambda: cluster.check_rows("u1", "u2") > offset, within_s=HEAR_S_MAX)
    second.say(protocol.DropCollections(["u1", "u2"]))
    eventually(lambda: second.dropped().keys() >= {"u1", "u2"}, within_s=HEAR_S_MAX)
    first.close()
    second.close()
    check_nothing_of(cluster, "u1", "u2")


@pytest.mark.timeout(900)
def test_a_drop_is_answered_once_and_again_when_it_is_said_again(cluster: Cluster) -> None:
    environment = Environment(cluster.data_dir)
    environment.state(wanted("u11", "u12", "u13", "u14"))
    environment.wait_hydrated("u12", "u13", "u14")
    environment.say(wanted("u11", "u12"), protocol.DropCollections(["u13", "u14"]))
    eventually(lambda: environment.dropped().keys() >= {"u13", "u14"}, within_s=HEAR_S_MAX)
    check_nothing_of(cluster, "u13", "u14")
    environment.wait_turn()
    environment.wait_turn()
    assert (environment.dropped()["u13"], environment.dropped()["u14"]) == (1, 1)
    # One who has not heard the answer asks again, and must not wait for ever.
    environment.say(protocol.DropCollections(["u13"]))
    eventually(lambda: environment.dropped()["u13"] == 2, within_s=HEAR_S_MAX)
    cluster.check_rows("u11", "u12")
    environment.say(protocol.DropCollections(["u11", "u12"]))
    eventually(lambda: environment.dropped().keys() >= {"u11", "u12"}, within_s=HEAR_S_MAX)
    environment.wait_turn()
    assert (environment.dropped()["u11"], environment.dropped()["u12"]) == (1, 1)
    environment.close()
    check_nothing_of(cluster, "u11", "u12")


@pytest.mark.timeout(900)
def test_what_is_not_said_again_stops_and_stays_where_it_is(cluster: Cluster) -> None:
    first = Environment(cluster.data_dir)
    first.state(wanted("u21", "u22"))
    first.wait_hydrated("u22")
    first.close()
    second = Environment(cluster.data_dir)
    second.state()

    def still() -> bool:
        before = epoch_of(cluster, "u21")
        second.wait_turn()
        second.wait_turn()
        return epoch_of(cluster, "u21") == before

    eventually(still, within_s=HEAR_S_MAX)
    joined, offset = joined_at(cluster, "u22"), cluster.check_rows("u21", "u22")
    second.state(wanted("u21", "u22"))
    eventually(lambda: cluster.check_rows("u21", "u22") > offset, within_s=HEAR_S_MAX)
    assert joined_at(cluster, "u22") == joined
    second.say(protocol.DropCollections(["u21", "u22"]))
    eventually(lambda: second.dropped().keys() >= {"u21", "u22"}, within_s=HEAR_S_MAX)
    second.close()
    check_nothing_of(cluster, "u21", "u22")


@pytest.mark.timeout(900)
def test_the_next_process_does_what_the_last_one_was_told_and_did_not_do(cluster: Cluster) -> None:
    first = Environment(cluster.data_dir)
    first.state(wanted("u31", "u32", "u33"))
    first.wait_hydrated("u32", "u33")
    # It has both commands, and perhaps done the first half of the second.
    first.say(wanted("u31", "u32", "u34"), protocol.DropCollections(["u33"]))
    cluster.kill()
    first.close()
    cluster.start()
    second = Environment(cluster.data_dir)
    second.state(wanted("u31", "u32", "u34"))
    second.say(protocol.DropCollections(["u33"]))
    second.wait_hydrated("u32", "u34")
    eventually(lambda: second.dropped()["u33"], within_s=HEAR_S_MAX)
    second.wait_turn()
    assert second.dropped()["u33"] == 1
    check_nothing_of(cluster, "u33")
    for table_id in ("u32", "u34"):
        cluster.check_rows("u31", table_id)
    second.say(protocol.DropCollections(["u31", "u32", "u34"]))
    eventually(lambda: second.dropped().keys() >= {"u31", "u32", "u34"}, within_s=HEAR_S_MAX)
    second.close()
    check_nothing_of(cluster, "u31", "u32", "u34")
