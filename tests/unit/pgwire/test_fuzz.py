"""Random and mutated messages: a session answers, ends well, and keeps nothing.

Method: conversations of random, mutated and well-formed messages from a seed.  Whatever
comes, no exception escapes, every answer is well-formed, a session that was opened is
closed, every result is let go of, and no more bytes are asked for than a message may
have.  HEADWATER_FUZZ_MESSAGES and HEADWATER_FUZZ_SEED make it longer and other.
"""

from __future__ import annotations

import os
import random

from structlog.testing import capture_logs

from headwater.core.limits import MESSAGE_BYTES_MAX
from headwater.core.types import INT4, TEXT, SqlType, array_of, numeric
from headwater.pgwire.steps import Read
from tests.support.wire import driver
from tests.support.wire.driver import Client, goodbye
from tests.support.wire.fake_sessions import FakeSessions, relation

MESSAGE_COUNT = int(os.environ.get("HEADWATER_FUZZ_MESSAGES", "10000"))
SEED = int(os.environ.get("HEADWATER_FUZZ_SEED", "20240229"))
MESSAGES_PER_SESSION_MAX = 25
STATEMENTS = (
    "rows five",
    "rows nix",
    "rows nested; do X",
    "echo int4 text",
    "echo numeric interval bytea",
    "echo int4[] jsonb",
    "copy in text",
    "copy in binary",
    "copy out binary five",
    "copy out csv five",
    "begin",
    "commit",
    "fail 22012 x",
    "say hi",
    "syntax",
    "",
)
NAMES = ("", "", "s", "p")


def well_formed(chance: random.Random) -> bytes:
    name = chance.choice(NAMES)
    formats = tuple(chance.choice((0, 1)) for _ in range(chance.choice((0, 0, 1, 2))))
    values = tuple(
        chance.choice((None, b"1", b"x", chance.randbytes(chance.randrange(20))))
        for _ in range(chance.choice((0, 0, 1, 2, 3)))
    )
    sql = chance.choice(STATEMENTS)
    makers = (
        lambda: driver.query(sql),
        lambda: driver.parse(sql, name, tuple(chance.choice(((), (23,), (25, 0), (1,))))),
        lambda: driver.bind(values, formats, formats[:1], name, chance.choice(NAMES)),
        lambda: driver.describe(chance.choice("SP"), name),
        lambda: driver.execute(chance.choice((0, 1, 2, -1)), name),
        lambda: driver.close(chance.choice("SP"), name),
        lambda: driver.SYNC,
        lambda: driver.FLUSH,
        lambda: driver.message("d", chance.randbytes(chance.randrange(40))),
        lambda: driver.COPY_DONE,
        lambda: driver.message("f", b"no\x00"),
        lambda: driver.message("F", chance.randbytes(9)),
    )
    return chance.choice(makers)()


def mutated(chance: random.Random) -> bytes:
    data = bytearray(well_formed(chance))
    for _ in range(chance.choice((1, 1, 2, 5))):
        place = chance.randrange(len(data))
        match chance.randrange(3):
            case 0:
                data[place] = chance.randrange(256)
            case 1:
                del data[place : place + chance.randrange(1, 4)]
            case _:
                data[place:place] = chance.randbytes(chance.randrange(1, 4))
        if not data:
            data = bytearray(b"Q")
    return bytes(data)


def body_only(chance: random.Random) -> bytes:
    """A mutated body under a true header: these get past the framing."""
    data = mutated(chance)
    return driver.message(chance.choice("QPBEDCfd"), data[5:])


def sessions_of_the_fuzzer() -> FakeSessions:
    nested: dict[str, tuple[SqlType, list[object]]] = {
        "n": (array_of(INT4), [[1, None], []]),
        "d": (numeric(2), [None, 1]),
    }
    five: dict[str, tuple[SqlType, list[object]]] = {
        "a": (INT4, [1, 2, 3, 4, 5]),
        "b": (TEXT, ["v", None, "", "é", "z"]),
    }
    return FakeSessions(relations={"five": relation(five), "nested": relation(nested)})


def converse(chance: random.Random) -> int:
    """One session; how many messages were sent."""
    sessions = sessions_of_the_fuzzer()
    client = Client(sessions)
    if chance.random() < 0.05:
        client.send(mutated(chance) + chance.randbytes(30))
    else:
        client.start()
    count = 0
    while not client.ended and count < MESSAGES_PER_SESSION_MAX:
        maker = chance.choices((well_formed, mutated, body_only), (6, 1, 3))[0]
        client.send(maker(chance))
        count += 1
    asked = max((step.count for step in client.taken if isinstance(step, Read)), default=0)
    assert asked <= MESSAGE_BYTES_MAX
    goodbye(client)
    assert client.ended
    assert sessions.open == {}
    assert sessions.closed_results == sessions.opened_results
    return count + 1


def test_no_message_breaks_a_session() -> None:
    sent = 0
    number = SEED
    with capture_logs() as logs:
        while sent < MESSAGE_COUNT:
            try:
                sent += converse(random.Random(number))
                assert not logs, "a bug was reported"
            except BaseException as error:
                error.add_note(f"HEADWATER_FUZZ_SEED={number} begins with this conversation")
                raise
            number += 1
