"""Mutated logins and handshakes: nobody gets in without the password, nothing breaks, nothing is kept.

Method: conversations from a seed in which any message of a right login is mutated, left out, doubled or
exchanged; what is not changed at all must be let in, and nothing else may be.  Handshakes
are mutated before OpenSSL, in memory and over sockets.  HEADWATER_MUTATIONS and HEADWATER_FUZZ_SEED make it
longer and other.
"""

from __future__ import annotations

import os
import random
import socket
import ssl
import struct
import tracemalloc
from pathlib import Path

from structlog.testing import capture_logs

from headwater.core.errors import UserError
from headwater.core.limits import SASL_MESSAGE_BYTES_MAX
from headwater.core.scram import PLAIN, PLUS, Exchange, make_verifier, parse_verifier
from headwater.options import TlsOptions
from headwater.pgwire.login import Entrance
from headwater.pgwire.startup import SSL_REQUEST
from headwater.pgwire.steps import Channel, Read
from headwater.tls import Tls
from tests.support.certificates import Authority
from tests.support.mutations import MUTATION_COUNT
from tests.support.wire.accounts import PREPARED, logins
from tests.support.wire.driver import Client, Reply, goodbye, message, request, startup
from tests.support.wire.fake_sessions import FakeSessions
from tests.support.wire.running import Running
from tests.support.wire.scram import Login

SEED = int(os.environ.get("HEADWATER_FUZZ_SEED", "20240229"))
BINDING = b"\x05" * 32
TLS: object = object()
WORDS = (
    b"n=",
    b"r=",
    b"c=",
    b"p=",
    b"biws",
    b",",
    b"y",
    b"p=tls-server-end-point",
    b"\x00",
    b"SCRAM-SHA-256",
)


def mutated(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        place = chance.randrange(len(changed) + 1)
        match chance.randrange(5):
            case 0 if changed:
                changed[place % len(changed)] ^= 1 << chance.randrange(8)
            case 1:
                del changed[place : place + chance.randrange(1, 4)]
            case 2:
                changed[place:place] = chance.randbytes(chance.randrange(1, 4))
            case 3:
                changed[place:place] = chance.choice(WORDS)
            case _:
                del changed[place:]
    return bytes(changed)


def body_of(replies: list[Reply]) -> bytes | None:
    return replies[0][1][4:] if len(replies) == 1 and replies[0][0] == "R" else None


def attempt(chance: random.Random, entrance: Entrance) -> bool:
    """One login with at most one message that is not as it should be; whether it was let in."""
    sessions = FakeSessions()
    bound = chance.random() < 0.5
    client = Client(sessions, entrance=entrance, channel=Channel(BINDING))
    if bound:
        client.send(request(SSL_REQUEST))
    login = Login(PREPARED, BINDING if bound else None)
    user, wrong = chance.choice(("me", "me", "nobody")), chance.choice(("initial", "final", "none"))
    framing = chance.random() < 0.3  # mutated with its header, or under a true one
    right = True

    def sent(body: bytes, name: str) -> bytes:
        nonlocal right
        if wrong != name:
            return message("p", body)
        whole = message("p", body)
        changed = mutated(whole, chance) if framing else message("p", mutated(body, chance))
        # What comes behind the last one is another message, which is not asked for here.
        right = changed == whole or (name == "final" and changed.startswith(whole))
        return changed

    client.send(startup(user=user, database="d"))
    first = login.first()
    initial = (PLUS if bound else PLAIN).encode() + b"\x00" + struct.pack(">i", len(first)) + first
    answer = body_of(client.send(sent(initial, "initial")))
    if answer is not None and b"s=" in answer:
        client.send(sent(login.final(answer), "final"))
    step = client.taken[-1]
    assert sessions.opened or not isinstance(step, Read) or step.count <= SASL_MESSAGE_BYTES_MAX
    assert [one for one, *_ in sessions.opened] == (["me"] if right and user == "me" else [])
    goodbye(client)
    assert client.ended
    assert sessions.open == {}
    return right and user == "me"


def test_mutated_logins() -> None:
    chance = random.Random(SEED)
    with capture_logs() as logs:
        came_in = sum(attempt(chance, Entrance(logins(), TLS)) for _ in range(MUTATION_COUNT))  # type: ignore[arg-type]
    assert came_in > 0
    assert not [line for line in logs if line["event"] == "internal error"]


def test_no_other_proof_is_right() -> None:
    """Straight at the machine: every mutation of either message is refused, or is not a mutation."""
    chance = random.Random(SEED)
    verifier = parse_verifier(make_verifier("pencil", b"0123456789abcdef", 1))
    assert verifier is not None
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(MUTATION_COUNT):
        binding = BINDING if chance.random() < 0.5 else None
        exchange = Exchange(verifier, True, PLAIN if binding is None else PLUS, binding, chance.randbytes(18))
        login = Login("pencil", binding)
        wrong_first = chance.random() < 0.5
        first = login.first()
        sent = mutated(first, chance) if wrong_first else first
        try:
            final = login.final(exchange.first(sent))
            changed = final if wrong_first else mutated(final, chance)
            answer = exchange.final(changed)
        except (UserError, KeyError, ValueError):  # the latter are our client's, of what it was answered
            continue
        if answer is not None:
            assert (sent, changed) == (first, final)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 1_000_000


def test_mutated_handshakes(tmp_path: Path) -> None:
    signed = Authority(tmp_path, "authority").sign("localhost", ("localhost",))
    (tmp_path / "crt").write_text(signed.certificate)
    (tmp_path / "key").write_text(signed.key)
    tls = Tls(TlsOptions(tmp_path / "crt", tmp_path / "key"))
    hello = client_hello()
    chance = random.Random(SEED)
    for _ in range(MUTATION_COUNT):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        server = tls.current.sql.wrap_bio(incoming, outgoing, server_side=True)
        incoming.write(mutated(hello, chance))
        try:
            server.do_handshake()
        except ssl.SSLError:
            continue
        raise AssertionError("a hello alone is no handshake")
    with Running(entrance=Entrance(logins(), tls, True)) as running:
        for _ in range(MUTATION_COUNT // 100):
            with socket.create_connection(("127.0.0.1", running.server.port), 20) as client:
                client.sendall(request(SSL_REQUEST))
                assert client.recv(1) == b"S"
                client.sendall(mutated(hello, chance) + startup(user="me"))
        running.wait_until(lambda: running.server.connection_count == 0)
        assert running.sessions.opened == []


def client_hello() -> bytes:
    outgoing = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        return outgoing.read()
    raise AssertionError("there is nobody to shake hands with")
