"""Tables here become and stay what they are upstream.

Method: a real MySQL and a real MariaDB, and a real server; statements run upstream, and the tables here must
come to have exactly the rows of there.
"""

from __future__ import annotations

import pytest

from tests.mysql.database import Database
from tests.mysql.following import following
from tests.support.server import HeadwaterServer

TABLE = "CREATE TABLE t (id int NOT NULL{key}, name varchar(50), amount decimal(10, 3))"
FILLED = "INSERT INTO t SELECT -seq, CONCAT('row ', seq), seq / 3 FROM numbers"
NUMBERS = (
    "CREATE TABLE numbers (seq int PRIMARY KEY)",
    "INSERT INTO numbers WITH RECURSIVE n (seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n WHERE seq < 500)"
    " SELECT seq FROM n",
)
CHANGES = (
    ("INSERT INTO t VALUES (1, 'one', 1.5), (2, 'two', NULL), (3, NULL, 0)",),
    ("UPDATE t SET name = 'uno' WHERE id = 1",),
    ("UPDATE t SET id = 20 WHERE id = 2",),
    ("DELETE FROM t WHERE id = 3",),
    (
        "BEGIN",
        "INSERT INTO t VALUES (4, 'x', 1)",
        "UPDATE t SET name = 'y' WHERE id = 4",
        "DELETE FROM t WHERE id = 4",
        "INSERT INTO t VALUES (4, 'z', 2)",
        "COMMIT",
    ),
    ("BEGIN", "INSERT INTO t VALUES (5, 'never', 1)", "ROLLBACK"),
    (
        "BEGIN",
        "INSERT INTO t VALUES (6, 'kept', 1)",
        "SAVEPOINT s",
        "INSERT INTO t VALUES (7, 'lost', 1)",
        "ROLLBACK TO SAVEPOINT s",
        "COMMIT",
    ),
    ("UPDATE t SET id = id + 100000",),
    ("REPLACE INTO t VALUES (100001, 'again', 7)",),
    ("BEGIN", "TRUNCATE t", "INSERT INTO t VALUES (8, 'after', 1)"),
)


@pytest.mark.parametrize("key", [" PRIMARY KEY", " UNIQUE", ""], ids=["primary", "unique", "keyless"])
def test_every_kind_of_change_with_each_key(server: HeadwaterServer, database: Database, key: str) -> None:
    with following(server, database, TABLE.format(key=key), *NUMBERS, FILLED) as here:
        here.create_table("t")
        here.follows("t")
        for statements in CHANGES:
            database.run(*statements)
            here.follows("t")
