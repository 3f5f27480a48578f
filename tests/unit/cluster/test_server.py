"""The cluster's side of a connection: who is listened to, and what is said first.

Method: the real server over pairs of sockets, while reports are made without a pause, as ticks make them.
"""

from __future__ import annotations

import errno
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headwater.cluster.read import Reader
from headwater.cluster.server import Cluster, Connection, _accept
from headwater.cluster.shared import Shared
from headwater.core import protocol
from headwater.core.clock import SYSTEM_CLOCK
from headwater.persist.local import LocalStore
from headwater.persist.opening import open_ledger

GREETINGS = 200
WAIT_S_MAX = 10.0
UNTOUCHED_S = 0.2  # long enough for somebody who does not wait


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Without Spark, of which nothing is needed before something is to be run."""
    no_spark: Any = None
    ledger = open_ledger(tmp_path)
    shared = Shared(
        LocalStore(tmp_path), tmp_path, ledger, no_spark, SYSTEM_CLOCK, 2, lambda *_: None, no_spark
    )
    yield Cluster(shared, Reader(no_spark, LocalStore(tmp_path), lambda *_: None, lambda _: None))
    ledger.close()


class Watched(socket.socket):
    """A socket that is used for a moment longer than it has to, and notes if it is closed meanwhile."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(fileno=sock.detach())
        self.users: list[str] = []
        self.closed = threading.Event()
        self.closed_under: list[str] = []

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        self.users.append("recv")
        data = super().recv(size, flags)
        if not data:
            self.closed.wait(UNTOUCHED_S)
        self.users.remove("recv")
        return data

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        self.users.append("sendall")
        try:
            super().sendall(data, flags)
        except OSError:
            self.closed.wait(UNTOUCHED_S)
            raise
        finally:
            self.users.remove("sendall")

    def close(self) -> None:
        self.closed_under += self.users
        super().close()
        self.closed.set()


def greet(cluster: Cluster, epoch: int, watched: list[Watched] | None = None) -> Connection:
    """An environment that comes."""
    ours, theirs = socket.socketpair()
    ours.settimeout(WAIT_S_MAX)
    if watched is not None:
        theirs = Watched(theirs)
        watched.append(theirs)
    threading.Thread(target=cluster.serve, args=(Connection(theirs),), daemon=True).start()
    environment = Connection(ours)
    environment.send(protocol.Hello(epoch, protocol.PROTOCOL_VERSION, 0))
    return environment


def test_a_welcome_comes_before_everything_else(cluster: Cluster) -> None:
    done = threading.Event()

    def report() -> None:
        while not done.is_set():
            cluster.report(protocol.Frontiers({"u1": 1}, []))

    reporting = threading.Thread(target=report, daemon=True)
    reporting.start()
    try:
        for epoch in range(1, GREETINGS):
            environment = greet(cluster, epoch)
            assert isinstance(environment.receive(), protocol.Welcome)
            environment.close()
    finally:
        done.set()
        reporting.join(WAIT_S_MAX)


def test_the_newest_environment_is_listened_to(cluster: Cluster) -> None:
    first = greet(cluster, 2)
    assert isinstance(first.receive(), protocol.Welcome)
    older = greet(cluster, 1)
    assert older.receive() == protocol.Refused(2)
    newer = greet(cluster, 3)
    assert isinstance(newer.receive(), protocol.Welcome)
    assert first.receive() is None
    newer.close()


def test_nobody_closes_what_another_still_uses(cluster: Cluster) -> None:
    # Its number would be the next file's, and what is under way would go there.
    watched: list[Watched] = []
    first = greet(cluster, 1, watched)
    assert isinstance(first.receive(), protocol.Welcome)

    def send_until_it_ends() -> None:  # nobody reads it: the line is full, and the sender waits
        while watched[0].fileno() >= 0:
            cluster.report(protocol.PeekRows("p1"), bytes(1 << 20))

    sending = threading.Thread(target=send_until_it_ends, daemon=True)
    sending.start()
    newer = greet(cluster, 2)
    assert isinstance(newer.receive(), protocol.Welcome)
    assert watched[0].closed.wait(WAIT_S_MAX)
    assert watched[0].closed_under == []
    newer.close()
    sending.join(WAIT_S_MAX)
    assert not sending.is_alive()


class Exhausted:
    """A listening socket of a process that has too many open files for a while."""

    def __init__(self, accepted: socket.socket) -> None:
        self.failures = 2
        self._accepted = [accepted]
        self._nothing = threading.Event()

    def accept(self) -> tuple[socket.socket, str]:
        if self.failures:
            self.failures -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        if not self._accepted:
            self._nothing.wait()
        return self._accepted.pop(), ""


def test_connections_are_accepted_again_after_there_were_too_many_files(cluster: Cluster) -> None:
    ours, theirs = socket.socketpair()
    ours.settimeout(WAIT_S_MAX)
    listening: Any = Exhausted(theirs)
    threading.Thread(target=_accept, args=(listening, cluster), daemon=True).start()
    environment = Connection(ours)
    environment.send(protocol.Hello(1, protocol.PROTOCOL_VERSION, 0))
    assert isinstance(environment.receive(), protocol.Welcome)
    assert listening.failures == 0
    environment.close()


def test_who_says_what_nobody_understands_is_hung_up_on(cluster: Cluster) -> None:
    ours, theirs = socket.socketpair()
    ours.settimeout(WAIT_S_MAX)
    serving = threading.Thread(target=cluster.serve, args=(Connection(theirs),), daemon=True)
    serving.start()
    ours.sendall(protocol.encode(protocol.Shutdown()).replace(b"Shutdown", b"Shut-up!"))
    assert Connection(ours).receive() is None
    serving.join(WAIT_S_MAX)
    assert not serving.is_alive()
    ours.close()


def test_a_source_that_cannot_be_run_says_so_and_the_next_command_is_heard(cluster: Cluster) -> None:
    environment = greet(cluster, 1)
    assert isinstance(environment.receive(), protocol.Welcome)
    environment.send(protocol.RunIngestion("u1", "of no known kind", {}, 1_000, [], "quickstart", False))
    environment.send(protocol.Shutdown())
    assert cluster.stopped.wait(WAIT_S_MAX)
    status = cluster.shared.statuses["u1"]
    assert (status.status, status.error) == ("failed", "internal: KeyError('of no known kind')")
    environment.close()


def test_a_peek_that_gets_no_thread_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    nothing: Any = None
    reader = Reader(nothing, LocalStore(tmp_path), told.extend, lambda _: None)

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    reader.start(protocol.Peek("p1", "SELECT 1", {}, {}, "reads", False))
    ((failed, _),) = told
    assert (failed.peek_id, failed.sqlstate) == ("p1", "53000")
