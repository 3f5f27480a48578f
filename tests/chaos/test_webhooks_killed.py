"""A server that dies while it takes webhooks: what was answered with 200 is there, and once.

Method: a real server that ends by itself, as if killed, at one of the durable steps.  Senders go on
sending, each request with an Idempotency-Key, until the server is gone; then it is started again and they
repeat all that they have sent, whatever they were told.
"""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator

import pytest

from tests.support.server import HeadwaterServer

PATH = "/api/webhook/materialize/public/w"
SENDERS = 8
REQUESTS_EACH = 400


class Sender(threading.Thread):
    """Sends numbers; remembers which were answered with 200."""

    def __init__(self, port: int, number: int) -> None:
        super().__init__()
        self.port = port
        self.bodies = [f"{number}-{count}" for count in range(REQUESTS_EACH)]
        self.sent: list[str] = []
        self.acknowledged: list[str] = []

    def run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        for body in self.bodies:
            self.sent.append(body)
            try:
                connection.request("POST", PATH, body, {"idempotency-key": body})
                answer = connection.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException):
                return
            if answer.status == 200:
                self.acknowledged.append(body)


def bodies(server: HeadwaterServer) -> Iterator[str]:
    return (body for (body,) in server.query("SELECT body FROM w"))


def committed(server: HeadwaterServer) -> int:
    """Rows that statistics know of."""
    ((count, received),) = server.query(
        "SELECT updates_committed::int8, messages_received::int8 FROM mz_internal.mz_source_statistics"
    )
    assert received >= count
    return int(count)


@pytest.mark.parametrize(
    "failpoint",
    ["webhooks.before_append", "ledger.before_commit", "ledger.after_commit", "webhooks.after_append"],
)
def test_nothing_is_lost_and_nothing_doubled(own_server: HeadwaterServer, failpoint: str) -> None:
    server = own_server.start()
    server.query("CREATE TABLE w FROM WEBHOOK BODY FORMAT TEXT")
    server.stop()
    server.start({"HEADWATER_FAILPOINTS": f"{failpoint}=25*exit"})
    senders = [Sender(server.http_port, number) for number in range(SENDERS)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join(60)
    assert server.process is not None
    assert server.process.wait(30) == 137, "it has died on the way"
    server.start()
    acknowledged = {body for sender in senders for body in sender.acknowledged}
    assert acknowledged
    found = list(bodies(server))
    assert acknowledged <= set(found), "what was answered with 200 is there"
    assert committed(server) == len(found), "and is counted"
    again = http.client.HTTPConnection("127.0.0.1", server.http_port, timeout=30)
    sent = [body for sender in senders for body in sender.sent]
    for body in sent:
        again.request("POST", PATH, body, {"idempotency-key": body})
        answer = again.getresponse()
        assert (answer.status, answer.read()) == (200, b"")
    assert sorted(bodies(server)) == sorted(sent), "and after all was sent again it is there once"
    assert committed(server) == len(sent)
