"""Conversations about blocks, savepoints, settings, portals and statements; failures.py has the answers.

A blank line stands between what is sent together.
"""

from __future__ import annotations

CONVERSATIONS: dict[str, str] = {
    "in a block that has failed only what ends it is done": """
Parse "SELECT 1", "rows"
Parse "ROLLBACK", "end"
Parse "", "empty"
Parse "SET application_name = x", "set"
Bind (), (), (), "", "rows"
Sync

Query "BEGIN"

Bind (), (), (), "early", "rows"
Bind (), (), (), "early empty", "empty"
Execute 0, "nothing"
Sync

Query "SELECT 1"

Query ""

Query "SELEC 1"

Query "SAVEPOINT s"

Query "COMMIT AND"

Parse "SELECT 1"
Sync

Parse "SELEC 1"
Sync

Parse ""
Bind
Sync

Bind (), (), (), "", "rows"
Sync

Bind (), (), (), "", "set"
Sync

Bind (), (), (), "", "empty"
Sync

Bind (), (), (), "", "nothing"
Sync

Describe "S", "rows"
Sync

Describe "S", "set"
Sync

Describe "S", "nothing"
Sync

Describe "P", "early"
Sync

Execute 0, "early"
Sync

Execute 0, "early empty"
Sync

Raw "F", b"\\x00\\x00\\xff\\xff\\x00\\x00\\x00\\x00\\x00\\x00"

Close "S", "set"
Sync

Bind (), (), (), "", "end"
Describe "P"
Execute
Sync

Execute 0, "early"
Sync
""",
    "portals and savepoints": """
Query "BEGIN"

Parse "SELECT i FROM generate_series(1, 9) AS g(i)", "s"
Bind (), (), (), "before", "s"
Execute 1, "before"
Sync

Query "SAVEPOINT a"

Bind (), (), (), "between", "s"
Execute 2, "between"
Sync

Query "SAVEPOINT b"

Bind (), (), (), "after", "s"
Execute 3, "after"
Sync

Query "RELEASE b"

Execute 1, "after"
Sync

Query "SELEC 1"

Execute 1, "before"
Sync

Query "ROLLBACK TO a"

Execute 1, "before"
Sync

Execute 1, "between"
Sync

Query "ROLLBACK TO a"

Execute 1, "after"
Sync

Query "ROLLBACK TO a"

Execute 1, "before"
Sync

Query "COMMIT"

Execute 1, "before"
Sync
""",
    "cursors and savepoints": """
Query "BEGIN"

Query "DECLARE before CURSOR FOR SELECT i FROM generate_series(1, 9) AS g(i)"

Query "FETCH 2 FROM before"

Query "SAVEPOINT a"

Query "DECLARE after CURSOR FOR SELECT i FROM generate_series(1, 9) AS g(i)"

Query "FETCH 1 FROM after"

Query "FETCH 1 FROM nothing"

Query "ROLLBACK TO a"

Query "FETCH 2 FROM before"

Query "FETCH 1 FROM after"

Query "ROLLBACK TO a"

Query "COMMIT"
""",
    "a cursor that has failed": """
Query "BEGIN"

Query "DECLARE c CURSOR FOR SELECT 1/(3 - i) FROM generate_series(1, 9) AS g(i)"

Query "SAVEPOINT a"

Query "FETCH 9 FROM c"

Query "ROLLBACK TO a"

Query "FETCH 9 FROM c"

Query "ROLLBACK"
""",
    "a FETCH that is half read when the next one comes": """
Query "BEGIN"

Query "DECLARE c CURSOR FOR SELECT i FROM generate_series(1, 20) AS g(i)"

Parse "FETCH 5 FROM c", "f"
Bind (), (), (), "p", "f"
Execute 2, "p"
Sync

Query "FETCH 2 FROM c"

Execute 0, "p"
Sync

Bind (), (), (), "q", "f"
Execute 1, "q"
Close "P", "q"
Sync

Query "FETCH 1 FROM c"

Bind (), (), (), "r", "f"
Execute 1, "r"
Sync

Bind (), (), (), "s", "f"
Execute 1, "s"
Sync

Execute 1, "r"
Execute 1, "s"
Execute 0, "r"
Execute 0, "s"
Sync

Query "FETCH ALL FROM c"

Query "FETCH 0 FROM c"

Query "COMMIT"
""",
    "settings and blocks": """
Query "SET application_name = 'one'"

Query "BEGIN"

Query "SET application_name = 'two'"

Query "ROLLBACK"

Query "SHOW application_name"

Query "BEGIN"

Query "SET application_name = 'two'"

Query "SELEC"

Query "COMMIT"

Query "SET application_name = 'two'; SELECT 1/0"

Query "SHOW application_name"

Parse "SET application_name = 'two'"
Bind
Execute
Execute 0, "nothing"
Sync

Query "SHOW application_name"

Query "BEGIN; SET LOCAL application_name = 'local'"

Query "SET application_name = 'three'"

Query "SHOW application_name"

Query "SET LOCAL application_name = 'local'"

Query "SET LOCAL application_name TO DEFAULT"

Query "COMMIT"

Query "SHOW application_name"

Query "SET LOCAL application_name = 'local'"

Query "SHOW application_name"

Query "SET LOCAL application_name = 'local'; SHOW application_name"

Query "RESET application_name"

Query "SHOW application_name"
""",
    "settings and savepoints": """
Query "SET application_name = 'one'"

Query "BEGIN"

Query "SET application_name = 'two'"

Query "SAVEPOINT a"

Query "SET application_name = 'three'"

Query "SAVEPOINT b"

Query "SET LOCAL application_name = 'four'"

Query "ROLLBACK TO b"

Query "SHOW application_name"

Query "RELEASE b"

Query "SHOW application_name"

Query "SET LOCAL application_name = 'five'"

Query "SELEC"

Query "ROLLBACK TO a"

Query "SHOW application_name"

Query "RESET ALL"

Query "ROLLBACK TO a"

Query "SET application_name = 'six'"

Query "COMMIT"

Query "SHOW application_name"
""",
    "DISCARD ALL": """
Query "PREPARE p AS SELECT 1"

Query "SET application_name = 'one'"

Query "BEGIN"

Query "DISCARD ALL"

Query "ROLLBACK"

Query "DISCARD ALL; SELECT 1"

Query "EXECUTE p"

Parse "DISCARD ALL"
Bind
Execute
Sync

Query "EXECUTE p"

Query "SHOW application_name"
""",
    "a statement whose columns have changed": """
Parse "SELECT * FROM t", "rows"
Parse "INSERT INTO t VALUES (1, 'x') RETURNING *", "write"
Parse "INSERT INTO t VALUES (2, 'y')", "quiet"
Parse "SELECT a FROM t", "some"
Query "PREPARE named AS SELECT * FROM t"

Query "PREPARE wrote AS INSERT INTO t VALUES (3, 'z') RETURNING *"

Describe "S", "rows"
Describe "S", "write"
Sync

Query "DROP TABLE t"

Query "CREATE TABLE t (a int, b text, c int)"

Bind (), (), (), "", "rows"
Execute
Sync

Bind (), (), (), "", "write"
Execute
Sync

Describe "S", "rows"
Sync

Query "EXECUTE named"

Query "EXECUTE wrote"

Bind (), (), (), "", "some"
Describe "P"
Execute
Sync

Bind (), (), (), "", "quiet"
Execute
Sync

Query "SELECT a, b FROM t"

Query "DROP TABLE t"

Bind (), (), (), "", "some"
Sync

Query "CREATE TABLE t (a bigint, b text)"

Bind (), (), (), "", "some"
Sync

Bind (), (), (), "", "write"
Sync

Query "DROP TABLE t"

Query "CREATE TABLE t (a int, b text)"

Bind (), (), (), "", "write"
Describe "P"
Execute
Sync

Bind (), (), (), "", "some"
Execute
Sync
""",
    "a statement whose columns have changed, in a block": """
Parse "INSERT INTO t VALUES (1, 'x') RETURNING *", "write"
Sync

Query "DROP TABLE t"

Query "CREATE TABLE t (a int, b text, c int)"

Query "BEGIN"

Query "INSERT INTO t VALUES (5, 'before')"

Bind (), (), (), "", "write"
Execute
Sync

Query "COMMIT"

Query "SELECT count(*) FROM t"
""",
    "a statement by another search path": """
Query "CREATE SCHEMA other_path"

Query "CREATE TABLE other_path.t (a int, b text)"

Query "INSERT INTO other_path.t VALUES (7, 'other')"

Parse "SELECT a, b FROM t", "s"
Bind (), (), (), "", "s"
Execute
Sync

Query "SET search_path = other_path"

Bind (), (), (), "", "s"
Execute
Sync

Query "DROP TABLE other_path.t"

Query "DROP SCHEMA other_path"
""",
    "FETCH of another cursor of the same name": """
Query "BEGIN"

Query "DECLARE c CURSOR FOR SELECT 1 AS one"

Parse "FETCH ALL FROM c", "f"
Bind (), (), (), "", "f"
Describe "P"
Execute
Sync

Query "CLOSE c"

Query "DECLARE c CURSOR FOR SELECT 'x'::text AS a, 2 AS b"

Bind (), (), (), "", "f"
Describe "P"
Execute
Sync

Query "CLOSE c"

Parse "FETCH ALL FROM c", "g"
Describe "S", "g"
Sync

Query "COMMIT"
""",
    "EXECUTE of another statement of the same name": """
Query "PREPARE p AS SELECT 1 AS one"

Parse "EXECUTE p", "e"
Bind (), (), (), "", "e"
Describe "P"
Execute
Sync

Query "DEALLOCATE p"

Parse "EXECUTE p", "f"
Describe "S", "f"
Sync

Query "PREPARE p AS SELECT 'x'::text AS a, 2 AS b"

Bind (), (), (), "", "e"
Describe "P"
Execute
Sync
""",
}
