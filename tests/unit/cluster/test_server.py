"""The cluster's side of a connection: who is listened to, and what is said first.

Method: the real server over pairs of sockets, while reports are made without a pause, as ticks make them.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headwater.cluster.server import Cluster, Connection
from headwater.cluster.world import World
from headwater.core import protocol
from headwater.core.clock import SYSTEM_CLOCK
from headwater.persist.layout import metadata_path
from headwater.persist.ledger import Ledger

GREETINGS = 200
WAIT_S_MAX = 10.0


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Without Spark, of which nothing is needed before something is to be run."""
    no_spark: Any = None
    ledger = Ledger(metadata_path(tmp_path))
    world = World(tmp_path, tmp_path, ledger, no_spark, SYSTEM_CLOCK, 2, lambda *_: None, no_spark)
    yield Cluster(world, no_spark)
    ledger.close()


def greet(cluster: Cluster, epoch: int) -> Connection:
    """An environment that comes."""
    ours, theirs = socket.socketpair()
    ours.settimeout(WAIT_S_MAX)
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
