"""Documents out of the binary log of a real MySQL are as it prints them."""

from __future__ import annotations

import collections
import json
import random
from typing import Any

from headwater.sources.mysql import events as kinds
from tests.mysql.database import Database
from tests.support.mysql import MysqlServer
from tests.support.mysql_log import Log


def random_document(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.random()
    if depth < 4 and kind < 0.25:
        keys = ["a", "bb", "ä", "", 'q"\\uote', "x\ny", *(f"long key {n}" for n in range(90))]
        return {key: random_document(chance, depth + 1) for key in chance.sample(keys, chance.randrange(6))}
    if depth < 4 and kind < 0.5:
        return [random_document(chance, depth + 1) for _ in range(chance.randrange(6))]
    number = chance.random() * 10 ** chance.randrange(-25, 30)
    return chance.choice(
        (
            None,
            True,
            False,
            0,
            -1,
            32767,
            -32768,
            32768,
            65535,
            65536,
            2**31,
            -(2**31),
            2**32 - 1,
            2**63 - 1,
            -(2**63),
            2**64 - 1,
            1.0,
            -0.0,
            0.1,
            1e14,
            1e15,
            999999999999999.0,
            1e16,
            1e17,
            1e20,
            1.5e300,
            1e-5,
            1.5e-15,
            1e-15,
            9e-16,
            1e-16,
            2.5e-300,
            number,
            -number,
            round(number),
            "",
            "abc",
            "ünï😀",
            '\n\t\x01"\\/\x7f',
            "x" * chance.choice((127, 128, 300)),
        )
    )


def test_documents_are_as_the_server_prints_them(mysql: MysqlServer) -> None:
    database = Database(mysql)
    chance = random.Random(11)
    documents = [random_document(chance) for _ in range(600)]
    documents += [
        {f"k{n}": n for n in range(3000)},
        ["y" * 70000],
        {"a": "z" * 100000, "b": [1] * 30000, "c": -70000},
    ]
    expressions = (
        "CAST(CAST('2015-01-15 23:24:25.12' AS DATETIME(2)) AS JSON)",
        "CAST(DATE'2015-01-15' AS JSON)",
        "CAST(TIME'23:24:25.5' AS JSON)",
        "JSON_ARRAY(TIME'-123:24:25.5')",
        "JSON_ARRAY(CAST(1.10 AS DECIMAL(5,2)))",
        "JSON_ARRAY(-1234567890.123456789, CAST(0 AS DECIMAL(3,1)))",
        "JSON_OBJECT('b', CAST('abc' AS BINARY))",
        "JSON_ARRAY(CAST(REPEAT('abc', 100) AS BINARY))",
        "JSON_OBJECT('g', ST_GeomFromText('POINT(1 1)'))",
        "JSON_ARRAY(b'101', x'ff', 1e0 / 3)",
        "JSON_ARRAY(TIMESTAMP'0000-00-00 00:00:00')",
        "NULL",
    )
    with database.session.cursor() as cursor:
        cursor.execute("SET SESSION sql_mode = ''")
        cursor.execute("CREATE TABLE j (id int PRIMARY KEY AUTO_INCREMENT, d json)")
        log = Log(mysql)
        cursor.executemany("INSERT INTO j (d) VALUES (%s)", [(json.dumps(one),) for one in documents])
        for expression in expressions:
            cursor.execute(f"INSERT INTO j (d) SELECT {expression}")
        cursor.execute("SELECT id, CAST(d AS CHAR) FROM j ORDER BY id")
        wanted = list(cursor.fetchall())
    came, _ = log.read().rows(database.name, "j")
    for found, there in zip(came, wanted, strict=True):
        assert found == there
    database.close()


def test_documents_that_only_say_what_changed_are_put_together(mysql: MysqlServer) -> None:
    database = Database(mysql)
    chance = random.Random(13)
    document = json.dumps(
        {
            "a": "x" * 40,
            "long name": [1, 2, {"z": "q" * 30, "y": 5}],
            "n": 1.5,
            "s": "strstrstr",
            "arr": [1, 2, 3, 4, 5, "abcdefgh"],
            'q"uo\\te': "12345678",
            "ü": "abcdef",
        }
    )
    changes = (
        "j = JSON_SET(j, '$.a', 'short')",
        "j = JSON_REPLACE(j, '$.\"long name\"[2].z', 'r')",
        "j = JSON_REMOVE(j, '$.arr[1]')",
        "j = JSON_REMOVE(j, '$.n')",
        "j = JSON_SET(j, '$.arr[0]', JSON_ARRAY(1))",
        "k = JSON_SET(k, '$.s', 't'), j = JSON_REMOVE(j, '$.s')",
        "j = JSON_SET(j, '$.\"q\\\\\"uo\\\\\\\\te\"', '9')",
        "j = JSON_SET(j, '$.\"ü\"', 'a')",
        "j = JSON_REMOVE(j, '$.\"long name\"[0]'), c = 'd'",
        "a = a + 1",
        "j = JSON_INSERT(j, '$.a2', 1)",
        "j = JSON_ARRAY_APPEND(j, '$.arr', 9)",
        "k = NULL",
        "j = JSON_SET(j, '$.arr[1]', 'k', '$.s', 'u'), k = JSON_SET(k, '$.arr[2]', NULL)",
        "j = JSON_OBJECT()",
    )
    with database.session.cursor() as cursor:
        cursor.execute("SET SESSION binlog_row_value_options = PARTIAL_JSON")
        cursor.execute("CREATE TABLE j (id int PRIMARY KEY, a int, j json, k json, c varchar(20))")
        log = Log(mysql)
        rows = [(n, n, document, document if n % 3 else None) for n in range(60)]
        cursor.executemany("INSERT INTO j VALUES (%s, %s, %s, %s, 'c')", rows)
        for _ in range(300):
            first = chance.randrange(60)
            change = chance.choice(changes).replace("%", "%%")
            cursor.execute(
                f"UPDATE j SET {change} WHERE id BETWEEN %s AND %s", (first, first + chance.randrange(4))
            )
        cursor.execute("SELECT id, a, CAST(j AS CHAR), CAST(k AS CHAR), c FROM j ORDER BY id")
        wanted = list(cursor.fetchall())
    read = log.read()
    assert collections.Counter(read.events.kinds.tolist())[kinds.PARTIAL_UPDATE_ROWS] > 100
    assert read.replayed(database.name, "j") == wanted
    database.close()
