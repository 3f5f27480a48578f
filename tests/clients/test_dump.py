"""pg_dump 15 writes down what a user has made, and nothing of the system's.

Method: the real pg_dump, of the schema of this module, on the shared server.
"""

from __future__ import annotations

import os
import subprocess

from tests.support.postgres import BINARIES
from tests.support.server import HeadwaterServer

TABLES = """
CREATE TABLE t (id int NOT NULL DEFAULT 5, name text, n numeric(10, 2), at timestamptz DEFAULT now());
CREATE TABLE "Odd name" ("Col umn" int[], flags "char", g uint4);
COMMENT ON TABLE t IS 'a table of ours';
CREATE VIEW v AS SELECT id, name FROM t WHERE id > 0;
"""


def dump(server: HeadwaterServer, *options: str) -> str:
    """What pg_dump writes; an error fails the test."""
    done = subprocess.run(
        [str(BINARIES / "pg_dump"), "-h", "127.0.0.1", "-p", str(server.sql_port), "-U", "materialize",
         *options, "materialize"],
        env={**os.environ, "PGPASSWORD": ""}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return "\n".join(line for line in done.stdout.splitlines() if line and not line.startswith("--"))


def test_pg_dump_writes_down_tables_and_views_alone(server: HeadwaterServer, schema: str) -> None:
    with server.connect() as connection:
        connection.execute(f"SET search_path = {schema}".encode())
        for statement in TABLES.strip().split(";\n"):
            connection.execute(statement.encode())
    text = dump(server, "--schema-only")
    assert f"CREATE SCHEMA {schema};" in text
    assert (
        f"CREATE TABLE {schema}.t (\n    id integer DEFAULT 5 NOT NULL,\n    name text,\n"
        "    n numeric(39,2),\n    at timestamp with time zone DEFAULT now()\n);"
    ) in text
    assert f'CREATE TABLE {schema}."Odd name" (\n    "Col umn" integer[],\n    flags "char"' in text
    assert f"COMMENT ON TABLE {schema}.t IS 'a table of ours';" in text
    assert f"CREATE VIEW {schema}.v AS\nSELECT id, name FROM materialize.{schema}.t WHERE id > 0;" in text
    for kind in ("TABLE", "TYPE", "FUNCTION", "SCHEMA"):
        assert f"CREATE {kind} mz_" not in text
    assert "CREATE EXTENSION" not in text


def test_pg_dump_writes_down_rows(server: HeadwaterServer, schema: str) -> None:
    server.query(f"CREATE TABLE {schema}.r (a int, b text)")
    server.query(f"INSERT INTO {schema}.r VALUES (1, 'x y'), (2, NULL)")
    text = dump(server, "--data-only", "-t", f"{schema}.r")
    lines = text.partition(f"COPY {schema}.r (a, b) FROM stdin;\n")[2].partition("\n\\.")[0]
    assert sorted(lines.splitlines()) == ["1\tx y", "2\t\\N"]
