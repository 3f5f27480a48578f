"""What is decoded from the binary log of a real server is what SELECT gives there."""

from __future__ import annotations

import random
import threading
from contextlib import closing
from datetime import time
from typing import Any

import numpy as np
import pytest

from headwater.sources.mysql import events as kinds
from headwater.sources.mysql.charsets import readable
from headwater.sources.mysql.gtid import Gtid, GtidPosition, GtidSet
from headwater.sources.mysql.protocol import Diverged, Ended, ServerIdTaken
from headwater.sources.mysql.rows import read_rows
from headwater.sources.mysql.stream import BinlogStream, open_stream
from headwater.sources.mysql.transactions import Ends, begun, parse_query, parse_xa_prepare
from tests.mysql.database import Database
from tests.mysql.every_type import make_all_types, types_of
from tests.support.mysql import MysqlServer
from tests.support.mysql_log import SERVER_ID, WAIT_S_MAX, Log, columns_of, executed, rows_of

STATEMENTS = (
    "INSERT IGNORE INTO a SELECT %s + seq.n, IF(seq.n %% 3, REPEAT('ü', seq.n), NULL), seq.n, seq.n / 7, "
    "IF(seq.n %% 5, 'text', NULL) FROM "
    "(SELECT 1 n UNION SELECT 2 UNION SELECT 3 UNION SELECT 30 UNION SELECT 200) seq WHERE %s >= 0",
    "UPDATE a SET n = n + 1, v = IF(n %% 2, NULL, CONCAT('x', n)) WHERE id BETWEEN %s AND %s + 99",
    "UPDATE a SET id = id + 5000 WHERE id BETWEEN %s AND %s + 5",
    "DELETE FROM a WHERE id BETWEEN %s AND %s + 20",
    "INSERT IGNORE INTO b VALUES (CONCAT('k', %s), 1.5, '2024-05-06'), (CONCAT('l', %s), NULL, NULL)",
    "UPDATE b SET x = x * 2 WHERE id < CONCAT('k', %s) AND %s >= 0",
)
CODES = [bytes([byte]) for byte in range(1, 256)] + [
    bytes([first, second]) for first in range(0x81, 256, 7) for second in range(0x40, 256)
]
# Letters that codecs see in another way than servers, or that have several codes.
CODES += map(
    bytes.fromhex,
    [
        "a15a",
        "a1c3",
        "a1c5",
        "a1fe",
        "a240",
        "a241",
        "a242",
        "a2cc",
        "a2ce",
        "a451",
        "a4ca",
        "a8bc",
        "8135f437",
    ],
)


def selected(database: Database) -> list[tuple[Any, ...]]:
    shown = ", ".join(
        form.format(f"c{number}") for number, (form, _) in enumerate(types_of(database.server).values())
    )
    with database.session.cursor() as cursor:
        cursor.execute("SET SESSION time_zone = '+00:00'")
        cursor.execute(f"SELECT id, {shown} FROM everything ORDER BY id")
        return list(cursor.fetchall())


def assert_same(found: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]], names: list[str]) -> None:
    assert len(found) == len(wanted)
    for came, there in zip(found, wanted, strict=True):
        for name, value, want in zip(names, came, there, strict=True):
            if isinstance(value, time):
                assert value == time.fromisoformat(want), name
            else:
                assert value == want, (name, value, want)


def test_values_of_all_types_are_those_that_select_gives(database: Database) -> None:
    log = Log(database.server)
    make_all_types(database)
    read = log.read()
    facts = columns_of(database.server, database.name, "everything")
    texts = tuple(c.name for c in facts if c.data_type in ("date", "datetime", "timestamp", "year"))
    came, went = read.rows(database.name, "everything", texts)
    assert_same(came, selected(database), ["id", *types_of(database.server)])
    assert went == []
    # As values, what has no form in Arrow is as the server prints it.
    (changes,) = read.row_changes(database.name, "everything")
    for place, column in enumerate(facts):
        if column.name in texts and column.data_type != "year":
            array, odd = changes.values(changes.came, place, column)
            shown = changes.texts(changes.came, place, column).array.to_pylist()
            no_days = [text for text in shown if text is not None and ("-00" in text or text == "2023-02-31")]
            assert [odd[row] for row in sorted(odd)] == no_days
            for row, value in enumerate(array.to_pylist()):
                if row not in odd and value is not None:
                    assert str(value).startswith(shown[row].rstrip("0").rstrip("."))


def test_columns_that_are_not_taken_cost_nothing_but_their_places(database: Database) -> None:
    log = Log(database.server)
    make_all_types(database)
    read = log.read()
    (whole,) = read.row_changes(database.name, "everything")
    facts = columns_of(database.server, database.name, "everything")
    numbers = np.unique(whole.came.event)
    for places in ([0], [len(facts) - 1], [3, 20]):
        some = read_rows(read.events, numbers, whole.table_map, places)
        assert set(some.came.columns) == set(places)
        for place in places:
            assert some.values(some.came, place, facts[place]) == whole.values(
                whole.came, place, facts[place]
            )


def test_texts_of_all_charsets_are_those_that_select_gives(database: Database) -> None:
    log, wanted = Log(database.server), {}
    with database.session.cursor() as cursor:
        cursor.execute("SELECT character_set_name FROM information_schema.character_sets")
        names = [name for (name,) in cursor.fetchall() if readable(name)]
        assert len(names) > 30
        # What is no text there is not stored as it is.
        cursor.execute("SET SESSION sql_mode = ''")
        cursor.execute(
            "CREATE TEMPORARY TABLE given (id int PRIMARY KEY, code varbinary(20)) ENGINE = MEMORY"
        )
        for name in names:
            given = ", ".join(f"({number}, x'{code.hex()}')" for number, code in enumerate(codes_of(name)))
            cursor.execute("DELETE FROM given")
            cursor.execute(f"INSERT INTO given VALUES {given}")
            cursor.execute(f"CREATE TABLE t_{name} (id int PRIMARY KEY, t varchar(20) CHARACTER SET {name})")
            cursor.execute(f"INSERT INTO t_{name} SELECT id, CONVERT(code USING {name}) FROM given")
            cursor.execute(f"SELECT * FROM t_{name} ORDER BY id")
            wanted[name] = list(cursor.fetchall())
    read = log.read()
    for name in names:
        found, _ = read.rows(database.name, f"t_{name}")
        assert_same(sorted(found), wanted[name], ["id", name])
    assert sum(text is not None for rows in wanted.values() for _, text in rows) > 30_000


def codes_of(charset: str) -> list[bytes]:
    """Some of its letters, also with line breaks around them."""
    if charset in ("utf8mb3", "utf8mb4", "utf8"):
        return ["aü€\n".encode(), b""]
    unit = {"ucs2": 2, "utf16": 2, "utf16le": 2, "utf32": 4}.get(charset)
    if unit is None:
        return [*CODES, b"\n", b"\n\n", b"", b"a\nb"]
    order: Any = "little" if charset == "utf16le" else "big"
    letters = [number.to_bytes(unit, order) for number in (*range(1, 0xD800, 31), 10, 0xE000, 0xFFFD)]
    return [*letters, letters[-3] * 3, letters[-3] + letters[0], b""]


def test_changes_replayed_are_the_table(database: Database) -> None:
    """Of many transactions over two tables: many rows at once, keys that move, NULLs, savepoints."""
    chance = random.Random(7)
    database.run(
        "CREATE TABLE a (id int PRIMARY KEY, v varchar(300), n int, d decimal(12,3), t text)",
        "CREATE TABLE b (id varchar(20) PRIMARY KEY, x double, f date)",
    )
    log = Log(database.server)
    with database.session.cursor() as cursor:
        for _ in range(120):
            cursor.execute("BEGIN")
            for _ in range(chance.randrange(1, 5)):
                first = chance.randrange(2000)
                cursor.execute(chance.choice(STATEMENTS), (first, first))
            cursor.execute(chance.choice(("COMMIT", "COMMIT", "ROLLBACK")))
        cursor.execute("SELECT * FROM a ORDER BY id")
        wanted_a = list(cursor.fetchall())
        cursor.execute("SELECT * FROM b ORDER BY BINARY id")
        wanted_b = list(cursor.fetchall())
    read = log.read()
    assert len(wanted_a) > 50
    assert wanted_b
    assert read.replayed(database.name, "a") == wanted_a
    found = read.replayed(database.name, "b")
    assert [(key, x, None if day is None else day) for key, x, day in found] == wanted_b
    # Each transaction ends where the next begins.
    ends = np.flatnonzero(Ends().of(read.events))
    assert (ends[:-1] + 1).tolist() == begun(read.events).at[1:].tolist()
    assert ends[-1] == len(read.events) - 1


def test_pieces_of_a_log_are_read_as_the_whole(database: Database) -> None:
    database.run("CREATE TABLE a (id int PRIMARY KEY)")
    log = Log(database.server)
    for number in range(20):
        database.run("BEGIN", f"INSERT INTO a VALUES ({number}), ({number + 100})", "SAVEPOINT s", "COMMIT")
    database.run("TRUNCATE a", "CREATE TABLE c AS SELECT 1 AS one", "DROP TABLE c")
    events = log.read().events
    whole = Ends().of(events)
    gtids = np.append(begun(events).at, len(events))
    assert whole.sum() == len(gtids) - 1
    for cut in range(1, len(events)):
        ends = Ends()
        if cut - 1 in gtids.tolist():
            continue  # a piece does not end between a GTID and what it names
        parts = [ends.of(events.slice(0, cut)), ends.of(events.slice(cut, len(events)))]
        assert np.concatenate(parts).tolist() == whole.tolist()
    halves = kinds.Events.concat([events.slice(0, 7), events.slice(7, len(events))])
    assert halves.data == events.data
    assert halves.kept(np.arange(len(events)) % 3 == 0).event(1) == events.event(3)


def test_compressed_events_are_read_as_others(database: Database) -> None:
    mariadb = database.server.flavour == "mariadb"
    on = (
        ("SET GLOBAL log_bin_compress = ON", "SET GLOBAL log_bin_compress_min_len = 10")
        if mariadb
        else ("SET SESSION binlog_transaction_compression = ON",)
    )
    database.run("CREATE TABLE a (id int PRIMARY KEY AUTO_INCREMENT, v varchar(100), n int)")
    log = Log(database.server)
    database.run(*on)
    try:
        with database.session.cursor() as cursor:
            cursor.execute("BEGIN")
            rows = ", ".join(f"(REPEAT('x', {n % 100}), {n})" for n in range(100))
            for _ in range(200):
                cursor.execute(f"INSERT INTO a (v, n) VALUES {rows}")
            cursor.execute("UPDATE a SET n = n + 1 WHERE id % 3 = 0")
            cursor.execute("DELETE FROM a WHERE id % 7 = 0")
            cursor.execute("COMMIT")
            cursor.execute(f"CREATE TABLE commented (a int COMMENT '{'x' * 300}')")
            cursor.execute("SELECT * FROM a ORDER BY id")
            wanted = list(cursor.fetchall())
    finally:
        if mariadb:
            database.run("SET GLOBAL log_bin_compress = OFF")
    read = log.read()
    assert read.replayed(database.name, "a") == wanted
    (statement,) = [
        parse_query(read.events.event(number)).sql
        for number in read.events.of_kind(kinds.QUERY).tolist()
        if b"commented" in read.events.event(number)
    ]
    assert statement == f"CREATE TABLE commented (a int COMMENT '{'x' * 300}')".encode()


def test_rows_are_read_without_what_the_log_need_not_say(database: Database) -> None:
    """Signs, charsets and labels are then those of the column."""
    minimal, full = ("NO_LOG", "FULL") if database.server.flavour == "mariadb" else ("MINIMAL", "FULL")
    log = Log(database.server)
    database.run(f"SET GLOBAL binlog_row_metadata = {minimal}")
    try:
        make_all_types(database)
    finally:
        database.run(f"SET GLOBAL binlog_row_metadata = {full}")
    read = log.read()
    facts = columns_of(database.server, database.name, "everything")
    (changes,) = read.row_changes(database.name, "everything")
    assert {column.name for column in changes.table_map.columns} == {None}
    texts = tuple(c.name for c in facts if c.data_type in ("date", "datetime", "timestamp", "year"))
    came = rows_of(changes, changes.came, facts, texts)
    assert_same(came, selected(database), ["id", *types_of(database.server)])


def test_images_that_lack_a_column_are_refused(database: Database) -> None:
    database.run(
        "CREATE TABLE a (id int PRIMARY KEY, v varchar(100), n int)", "INSERT INTO a VALUES (1, 'a', 1)"
    )
    log = Log(database.server)
    database.run("SET SESSION binlog_row_image = MINIMAL", "UPDATE a SET n = 2")
    read = log.read()
    with pytest.raises(
        ValueError, match=r"does not have column `v` of `.*`\.`a` of all rows: binlog_row_image"
    ):
        read.rows(database.name, "a")


def test_checksums_may_come_and_go(database: Database) -> None:
    database.run("CREATE TABLE a (v char(1))")
    log = Log(database.server)
    try:
        database.run(
            "INSERT INTO a VALUES ('a')", "SET GLOBAL binlog_checksum = NONE", "INSERT INTO a VALUES ('b')"
        )
        assert log.read().rows(database.name, "a")[0] == [("a",), ("b",)]
    finally:
        database.run("SET GLOBAL binlog_checksum = CRC32")
    database.run("INSERT INTO a VALUES ('c')", "FLUSH BINARY LOGS", "INSERT INTO a VALUES ('d')")
    assert log.read().rows(database.name, "a")[0] == [("a",), ("b",), ("c",), ("d",)]


def test_values_larger_than_a_packet_come_whole(database: Database) -> None:
    database.run("CREATE TABLE a (id int, v longblob)", "SET GLOBAL max_allowed_packet = 1073741824")
    log = Log(database.server)
    sizes = (0xFFFFFF - 100, 0xFFFFFF, 0xFFFFFF * 2, 10)
    with closing(database.server.connect(database=database.name)) as session, session.cursor() as cursor:
        for number, size in enumerate(sizes):
            cursor.execute(f"INSERT INTO a VALUES ({number}, REPEAT('x', {size}))")
    came, _ = log.read(**({"ssl": {"ca": None}} if database.server.flavour == "mysql" else {})).rows(
        database.name, "a"
    )
    assert [len(value) for _, value in came] == list(sizes)
    assert all(set(value) == {ord("x")} for _, value in came)


def test_prepared_transactions_are_told_by_name(database: Database) -> None:
    database.run("CREATE TABLE a (id int PRIMARY KEY)")
    log = Log(database.server)
    database.run(
        "XA START 'q', 'w', 3",
        "INSERT INTO a VALUES (1)",
        "XA END 'q', 'w', 3",
        "XA PREPARE 'q', 'w', 3",
        "XA COMMIT 'q', 'w', 3",
    )
    events = log.read().events
    (prepared,) = [parse_xa_prepare(events.event(n)) for n in events.of_kind(kinds.XA_PREPARE).tolist()]
    assert not prepared.one_phase
    committed = parse_query(events.event(len(events) - 1)).sql
    assert committed == f"XA COMMIT {prepared.xid}".encode()
    assert Ends().of(events).sum() == len(begun(events).at) == 2


def test_tagged_transactions_are_named_and_left_out(mysql: MysqlServer) -> None:
    database = Database(mysql)
    database.run("CREATE TABLE a (id int PRIMARY KEY)")
    log = Log(mysql)
    database.run(
        "SET SESSION gtid_next = 'AUTOMATIC:tag_one'",
        "INSERT INTO a VALUES (1)",
        "SET SESSION gtid_next = 'AUTOMATIC'",
        "INSERT INTO a VALUES (2)",
        "SET SESSION gtid_next = 'AUTOMATIC:tag_one'",
        "INSERT INTO a VALUES (3)",
        "SET SESSION gtid_next = 'AUTOMATIC'",
    )
    found = begun(log.read().events)
    gtids = [found.gtid(place) for place in range(3)]
    assert [gtid.source.partition(":")[2] for gtid in gtids] == ["tag_one", "", "tag_one"]
    assert gtids[2].number == gtids[0].number + 1
    assert np.all(np.diff(found.times_us) > 0)
    assert log.start.with_gtids(gtids) == executed(mysql)
    # All but those that were read come again.
    log.start = log.start.with_gtids([gtids[0], gtids[1]])
    assert log.read().rows(database.name, "a")[0] == [(3,)]
    database.close()


def test_whoever_waits_for_a_log_is_woken_up_when_it_is_closed(database: Database) -> None:
    log = Log(database.server)
    stream = open_stream(database.server.connect(), log.start, SERVER_ID)
    failed: list[BaseException] = []

    def wait() -> None:
        try:
            while True:
                stream.read(WAIT_S_MAX)
        except Ended as error:
            failed.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    stream.close()
    waiting.join(WAIT_S_MAX)
    assert len(failed) == 1


def test_servers_say_that_they_are_there(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.sources.mysql.protocol.BINLOG_HEARTBEAT_S", 1)
    stream = open_stream(database.server.connect(), executed(database.server), SERVER_ID)
    while stream.read(0.05) is not None:
        pass
    heard_at = stream.heard_at
    for _ in range(100):
        assert stream.read(0.1) is None
        if stream.heard_at > heard_at:
            break
    assert stream.heard_at > heard_at
    stream.close()


def read_on(*streams: BinlogStream) -> None:
    while True:
        for stream in streams:
            stream.read(0.1)


def test_another_reader_with_our_number_is_noticed(database: Database) -> None:
    if database.server.flavour == "mysql":
        pytest.skip("MySQL tells readers apart by their UUIDs")
    first = open_stream(database.server.connect(), executed(database.server), SERVER_ID)
    second = open_stream(database.server.connect(), executed(database.server), SERVER_ID)
    with pytest.raises((ServerIdTaken, Ended)):
        read_on(first, second)
    second.close()
    first.close()


def test_what_a_server_lacks_is_said(database: Database) -> None:
    there = executed(database.server)
    if isinstance(there, GtidSet):
        server = str(database.server.run("SELECT @@server_uuid")[0][0])
        beyond: Any = there.with_gtids([Gtid(server, 10**9)])
    else:
        (domain,) = there.last
        beyond = GtidPosition({domain: (10**9, 1)})
    stream = open_stream(database.server.connect(), beyond, SERVER_ID)
    with pytest.raises(Diverged):
        stream.read(WAIT_S_MAX)
    stream.close()
