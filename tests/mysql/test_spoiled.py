"""Events that are not what the server wrote end in one clear error.

Real packets of real servers are changed, byte by byte.  With checksums each change is noticed; without them
what is decoded may be other values, but nothing fails in another way, and nothing grows or goes round.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from headwater.sources.mysql import stream as stream_module
from headwater.sources.mysql.events import Events, is_rows
from headwater.sources.mysql.expand import expanded
from headwater.sources.mysql.protocol import Damaged, Packets, StreamError
from headwater.sources.mysql.rows import read_rows
from headwater.sources.mysql.stream import Checker, open_stream
from headwater.sources.mysql.table_map import TableMaps
from headwater.sources.mysql.transactions import Ends, begun, parse_query, parse_xa_prepare
from tests.mysql.database import Database
from tests.mysql.every_type import make_all_types
from tests.support.mysql import MysqlServer
from tests.support.mysql_log import SERVER_ID, Log, columns_of, pieces

CHANGES = 1500
DECODED = 300


def packets_of(server: MysqlServer, log: Log, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The events as they came, with their checksums and compressed as they were."""
    came: list[bytes] = []
    taken = Packets.events

    def noted(packets: Packets, data: bytes) -> list[memoryview]:
        events = taken(packets, data)
        came.extend(map(bytes, events))
        return events

    monkeypatch.setattr(Packets, "events", noted)
    stream = open_stream(server.connect(), log.start, SERVER_ID)
    for _ in pieces(stream, log.start, Log(server).start):
        pass
    stream.close()
    return came


@pytest.fixture
def came(database: Database, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Events of all kinds."""
    mariadb = database.server.flavour == "mariadb"
    log = Log(database.server)
    make_all_types(database)
    database.run(
        "UPDATE everything SET c0 = 1",
        "CREATE TABLE j (id int PRIMARY KEY, j json)",
        """INSERT INTO j VALUES (1, '{"a": [1, {"b": "cccccccccccccccccccc"}], "d": 1.5, "e": null}')""",
        *([] if mariadb else ["SET SESSION binlog_row_value_options = PARTIAL_JSON"]),
        "UPDATE j SET j = JSON_SET(j, '$.a[1].b', 'd')",
        "XA START 'q'", "INSERT INTO j VALUES (2, '[]')", "XA END 'q'", "XA PREPARE 'q'", "XA COMMIT 'q'",
        *(
            ["SET GLOBAL log_bin_compress = ON", "SET GLOBAL log_bin_compress_min_len = 10"]
            if mariadb
            else ["SET SESSION binlog_transaction_compression = ON"]
        ),
        "DELETE FROM everything",
        *(["SET GLOBAL log_bin_compress = OFF"] if mariadb else []),
    )  # fmt: skip
    return packets_of(database.server, log, monkeypatch)


def spoiled(chance: random.Random, event: bytes) -> bytes:
    data = bytearray(event)
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        at = chance.randrange(len(data))
        match chance.randrange(4):
            case 0:
                data[at] = chance.randrange(256)
            case 1:
                data[at] ^= 1 << chance.randrange(8)
            case 2:
                data[at : at + 4] = chance.choice((b"\xff\xff\xff\x7f", b"\0\0\0\0", b"\xfe\xff\xff\xff"))
            case _:
                del data[at : at + chance.randrange(1, 9)]
    return bytes(data) or b"\0"


def test_each_change_of_an_event_is_noticed_by_its_checksum(came: list[bytes]) -> None:
    chance = random.Random(3)
    noticed = 0
    for _ in range(CHANGES):
        place = chance.randrange(1, len(came))
        broken = spoiled(chance, came[place])
        # An event of a kind that is of no use, or that the server made up, is not looked at at all.
        if broken == came[place] or (len(broken) > 17 and broken[4] in stream_module._DROPPED):
            continue
        if len(broken) > 17 and broken[17] & (0x20 | 0x80):
            continue
        if came[place][4] in stream_module._DROPPED or came[place][17] & 0x20:
            continue
        checker = Checker(True)
        with pytest.raises(Damaged):
            checker.checked([memoryview(event) for event in (*came[:place], broken)])
        noticed += 1
    assert noticed > CHANGES / 2


def test_what_is_spoiled_without_a_checksum_is_an_error_or_another_value(
    came: list[bytes], database: Database
) -> None:
    chance = random.Random(5)
    facts = {table: columns_of(database.server, database.name, table) for table in ("everything", "j")}
    plain = [event[:-4] for event in came if event[4] not in stream_module._DROPPED]
    for piece in expanded(Checker(False).checked([memoryview(event) for event in plain])):
        decode(piece, facts, database)
    outcomes = {"read": 0, "refused": 0}
    for _ in range(DECODED):
        place = chance.randrange(len(plain))
        events = [*plain[:place], spoiled(chance, plain[place]), *plain[place + 1 :]]
        try:
            checked = Checker(False).checked([memoryview(event) for event in events])
            for piece in expanded(checked):
                decode(piece, facts, database)
            outcomes["read"] += 1
        except (ValueError, StreamError):
            outcomes["refused"] += 1
    assert min(outcomes.values()) > DECODED / 20, outcomes


def decode(events: Events, facts: dict[str, Any], database: Database) -> None:
    """All that is ever done with events."""
    if not len(events):
        return
    begun(events)
    Ends().of(events)
    for number in events.of_kind(2).tolist():
        parse_query(events.event(number))
    for number in events.of_kind(38).tolist():
        parse_xa_prepare(events.event(number))
    maps, which = TableMaps((), database.server.flavour).of(events)
    of_rows = is_rows(events.kinds)
    for place, told in enumerate(maps):
        columns = facts.get(told.name, [])
        if len(columns) != len(told.columns):
            continue
        numbers = np.flatnonzero(of_rows & (which == place))
        changes = read_rows(events, numbers, told, range(len(columns)))
        for tuples in (changes.came, changes.went):
            for column, known in enumerate(columns):
                array, _ = changes.values(tuples, column, known)
                array.validate(full=True)
                assert len(array) == len(tuples) <= len(events.data)
                if known.data_type in ("date", "datetime", "timestamp", "year", "enum", "json"):
                    changes.texts(tuples, column, known)
            changes.equal(tuples, tuples, 0)


def test_packets_that_are_none_are_refused() -> None:
    with pytest.raises(StreamError, match="the server's words"):
        Packets().events(b"\x1b\0\0\0\xff\xd4\x04#HY000the server's words")
    with pytest.raises(Damaged, match="none of its binary log"):
        Packets().events(b"\x02\0\0\0\x07\x07")
    packets = Packets()
    # What came before an error is handed out first; and what is cut is put together.
    assert packets.events(b"\x02\0\0\0\0") == []
    assert [bytes(event) for event in packets.events(b"x\x01\0\0\0\xfe")] == [b"x"]
    with pytest.raises(StreamError, match="has ended"):
        packets.events(b"")
