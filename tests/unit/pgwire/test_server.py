"""Sockets: bytes arrive in any pieces, leave in time, and are bounded; everything ends.

Method: a real server on loopback, on both event loops, and a client that is a plain
socket, so that it can do what no library does: stop reading, hang up anywhere.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Iterator

import pyarrow as pa
import pytest

from headwater.core.types import INT4, TEXT
from headwater.pgwire import server as server_module
from headwater.pgwire.server import PgWireServer
from headwater.pgwire.startup import CANCEL_REQUEST
from tests.support.wire.driver import (
    COPY_DONE,
    SYNC,
    TERMINATE,
    Reply,
    bind,
    error_of,
    execute,
    kinds,
    message,
    parse,
    query,
    rows_of,
    startup,
)
from tests.support.wire.fake_sessions import relation
from tests.support.wire.running import WAIT_S_MAX, Running


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def running(request: pytest.FixtureRequest) -> Iterator[Running]:
    with Running(on_uvloop=request.param) as running:
        running.sessions.relations["one"] = relation({"a": (INT4, [1])})
        wide: list[object] = ["x" * 1000] * 1000
        running.sessions.relations["wide"] = relation({"a": (TEXT, wide)}, batch_count=60)
        yield running


class Plain:
    """A client that is a socket."""

    def __init__(self, running: Running, begin: bool = True) -> None:
        self.socket = socket.create_connection(("127.0.0.1", running.server.port), timeout=WAIT_S_MAX)
        self._held = b""
        self.key = b""
        if begin:
            self.send(startup(user="me"))
            self.key = next(body for kind, body in self.until("ZE") if kind == "K")

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def reply(self) -> Reply | None:
        """The next message, None at the end."""
        header = self._exactly(5)
        if header is None:
            return None
        body = self._exactly(int.from_bytes(header[1:], "big") - 4)
        assert body is not None
        return chr(header[0]), body

    def until(self, last: str) -> list[Reply]:
        """Messages up to one of these kinds, or the end."""
        replies: list[Reply] = []
        while (reply := self.reply()) is not None:
            replies.append(reply)
            if reply[0] in last:
                break
        return replies

    def _exactly(self, count: int) -> bytes | None:
        while len(self._held) < count:
            data = self.socket.recv(65536)
            if not data:
                return None
            self._held += data
        taken, self._held = self._held[:count], self._held[count:]
        return taken

    def close(self) -> None:
        self.socket.close()


def test_an_address_is_taken_before_anybody_is_let_in(running: Running) -> None:
    server = PgWireServer(running.sessions, "127.0.0.1", 0, False)
    running.run(server.bind())
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port), WAIT_S_MAX)
    running.run(server.open())
    socket.create_connection(("127.0.0.1", server.port), WAIT_S_MAX).close()
    with pytest.raises(OSError, match="in use"):
        running.run(PgWireServer(running.sessions, "127.0.0.1", server.port, False).bind())
    running.run(server.stop(1.0))


def test_messages_may_arrive_a_byte_at_a_time(running: Running) -> None:
    client = Plain(running)
    for byte in query("rows one"):
        client.send(bytes([byte]))
    assert kinds(client.until("Z")) == "TDCZ"
    client.close()


def test_a_thousand_messages_may_arrive_at_once(running: Running) -> None:
    client = Plain(running)
    client.send((parse("rows one") + bind() + execute() + SYNC) * 1000)
    for _ in range(1000):
        assert kinds(client.until("Z")) == "12DCZ"
    client.close()


def test_a_message_bigger_than_the_buffer_arrives_whole(running: Running) -> None:
    client = Plain(running)
    client.send(query("copy in text"))
    client.until("G")
    line = b"1\t" + b"x" * 1_000_000 + b"\n"
    client.send(message("d", line) + message("d", line) + COPY_DONE)
    assert kinds(client.until("Z")) == "CZ"
    assert running.sessions.copied == [line * 2]
    client.close()


def test_terminate_closes_the_socket_and_the_session(running: Running) -> None:
    client = Plain(running)
    client.send(TERMINATE)
    assert client.reply() is None
    running.wait_until(lambda: running.server.connection_count == 0)
    assert running.sessions.open == {}
    client.close()


def test_what_was_asked_before_hanging_up_is_done(running: Running) -> None:
    client = Plain(running)
    client.send(query("do X") + query("do Y") + TERMINATE)
    client.close()
    running.wait_until(lambda: running.sessions.open == {})
    assert "execute do Y" in running.sessions.calls


def test_a_batch_is_sent_at_once_and_not_with_the_next(running: Running) -> None:
    client = Plain(running)
    client.send(query("subscribe"))
    for number in range(3):
        batch = pa.RecordBatch.from_arrays([pa.array([number], pa.int32())], ["n"])
        running.run(running.sessions.feed.put(batch))
        assert rows_of(client.until("D")) == [(str(number).encode(),)]
    running.run(running.sessions.feed.put(None))
    assert client.until("Z")[0] == ("C", b"SUBSCRIBE 3\x00")
    client.close()


def test_a_client_that_leaves_a_stream_lets_go_of_it(running: Running) -> None:
    client = Plain(running)
    client.send(query("subscribe"))
    running.wait_until(running.sessions.waiting.is_set)
    client.close()
    running.wait_until(lambda: running.sessions.open == {})
    assert running.sessions.closed_results == 1


def test_a_client_that_leaves_a_statement_cancels_it(running: Running) -> None:
    client = Plain(running)
    client.send(query("wait"))
    running.wait_until(running.sessions.waiting.is_set)
    client.close()
    running.wait_until(lambda: running.sessions.open == {})
    assert running.sessions.calls[-4:] == ["cancel", "fail", "finish failed", "close"]


def test_another_connection_cancels_a_statement(running: Running) -> None:
    client = Plain(running)
    client.send(query("wait"))
    running.wait_until(running.sessions.waiting.is_set)
    other = Plain(running, begin=False)
    other.send(struct.pack(">II", 16, CANCEL_REQUEST) + client.key)
    assert other.reply() is None
    replies = client.until("Z")
    assert error_of(replies)["C"] == "57014"
    client.send(query("rows one"))
    assert kinds(client.until("Z")) == "TDCZ"
    client.close()
    other.close()


def test_a_client_that_does_not_read_holds_its_result_back(running: Running) -> None:
    client = Plain(running)
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    client.send(query("rows wide"))

    async def settled() -> int:
        taken = -1
        while taken != running.sessions.batches_taken or taken == 0:
            taken = running.sessions.batches_taken
            await asyncio.sleep(0.2)
        return taken

    assert running.run(settled()) < 40  # of 60 batches of a megabyte each
    rows = 0
    while (reply := client.reply()) is not None and reply[0] != "Z":
        rows += reply[0] == "D"
    assert rows == 60_000
    client.close()


def test_a_client_that_leaves_in_the_middle_of_a_result_is_let_go(running: Running) -> None:
    client = Plain(running)
    client.send(query("rows wide"))
    client.until("D")
    client.close()
    running.wait_until(lambda: running.sessions.open == {})
    assert running.sessions.closed_results == 1
    assert running.sessions.batches_taken < 60


def test_one_client_s_big_result_does_not_hold_up_another(running: Running) -> None:
    big, small = Plain(running), Plain(running)
    big.send(query("rows wide"))
    big.until("D")
    small.send(query("rows one"))
    assert kinds(small.until("Z")) == "TDCZ"
    big.close()
    small.close()


def test_a_server_that_stops_tells_everybody(running: Running) -> None:
    idle, waiting, subscribed, starting = (
        Plain(running), Plain(running), Plain(running), Plain(running, begin=False)
    )  # fmt: skip
    waiting.send(query("wait"))
    running.wait_until(running.sessions.waiting.is_set)
    running.sessions.waiting.clear()
    subscribed.send(query("subscribe"))
    running.wait_until(running.sessions.waiting.is_set)
    running.run(running.server.stop(5.0))
    for client in (idle, waiting, subscribed, starting):
        last = client.until("")[-1:]
        assert error_of(last)["C"] == "57P01"
        assert error_of(last)["S"] == "FATAL"
        client.close()
    assert running.sessions.open == {}
    assert running.server.connection_count == 0


def test_a_server_does_not_wait_for_who_does_not_read(running: Running) -> None:
    client = Plain(running)
    client.send(query("rows wide"))
    client.until("D")
    running.run(running.server.stop(0.2))
    assert running.sessions.open == {}
    client.close()


def test_one_client_too_many_is_refused_and_the_next_is_not(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "CONNECTIONS_MAX", 2)
    clients = [Plain(running), Plain(running)]
    third = Plain(running, begin=False)
    third.send(startup(user="me"))
    assert error_of(third.until("E"))["C"] == "53300"
    clients[0].close()
    running.wait_until(lambda: len(running.sessions.open) == 1)
    running.wait_until(lambda: running.server.connection_count == 1)
    clients.append(Plain(running))
    assert running.server.connections_total == 4
    for client in (*clients, third):
        client.close()


def test_far_too_many_clients_are_not_listened_to(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "CONNECTIONS_MAX", 1)
    monkeypatch.setattr(server_module, "CONNECTIONS_STARTING_MAX", 0)
    first = Plain(running)
    second = Plain(running, begin=False)
    with pytest.raises((ConnectionResetError, AssertionError)):
        assert second.socket.recv(1) != b""
    first.close()
    second.close()


def test_who_says_nothing_is_hung_up_on(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "STARTUP_S_MAX", 0.05)
    silent = Plain(running, begin=False)
    assert silent.reply() is None
    monkeypatch.undo()
    patient = Plain(running)
    patient.send(query("rows one"))
    assert kinds(patient.until("Z")) == "TDCZ"
    silent.close()
    patient.close()


def test_garbage_is_answered_and_the_socket_closed(running: Running) -> None:
    client = Plain(running)
    client.send(b"\xff" * 100)
    replies = client.until("")
    assert error_of(replies)["C"] == "08P01"
    client.close()


def test_an_open_block_waits_for_its_client_only_so_long(running: Running) -> None:
    running.sessions.patience_s = 0.05
    client = Plain(running)
    client.send(query("begin") + b"Q\x00")  # half a message is not one
    client.until("Z")
    ended = error_of(client.until("E"))
    assert (ended["S"], ended["C"]) == ("FATAL", "25P03")
    assert client.reply() is None
    running.wait_until(lambda: not running.sessions.open)


def test_outside_of_a_block_and_within_a_pipeline_nobody_counts_the_time(running: Running) -> None:
    running.sessions.patience_s = 0.01
    client = Plain(running)
    client.socket.settimeout(0.2)
    with pytest.raises(TimeoutError):
        client.reply()
    client.send(parse("begin") + bind() + execute() + message("H"))
    with pytest.raises(TimeoutError):
        client.until("E")
    client.socket.settimeout(WAIT_S_MAX)
    client.send(SYNC)
    assert error_of(client.until("E"))["C"] == "25P03"
