"""The page about PostgreSQL sources can be typed as it stands.

Goal: no statement of the page fails, neither upstream nor here.
Method: its blocks are run in order, those marked `postgresql` in a new database, the others
in a schema of their own; only the address of the upstream is put in.
"""

from __future__ import annotations

import re
from pathlib import Path

from headwater.sql.parse import parse_statements
from tests.support.database import Database
from tests.support.server import HeadwaterServer

PAGE = Path(__file__).parents[2] / "docs/user/postgres.md"
_BLOCK = re.compile(r"^```(postgresql|sql)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_every_statement_of_the_page_runs(server: HeadwaterServer, database: Database) -> None:
    blocks = _BLOCK.findall(PAGE.read_text())
    assert {language for language, _ in blocks} == {"postgresql", "sql"}
    role = f"page_{database.name}"
    server.query(f"CREATE SCHEMA {database.name}")
    try:
        with server.connect() as connection:
            connection.execute(f"SET search_path = {database.name}".encode())
            for language, block in blocks:
                if language == "postgresql":
                    database.run(re.sub(r"\bheadwater\b", role, block))
                    continue
                here = block.replace("PORT 5432", f"PORT {database.server.port}")
                here = here.replace("DATABASE 'shop'", f"DATABASE '{database.name}'")
                here = here.replace("USER 'headwater'", f"USER '{role}'")
                for statement in parse_statements(here):
                    connection.execute(statement.text.encode())
            tables = connection.execute("SHOW TABLES").fetchall()
            assert [name for name, _ in tables] == ["orders", "visits"]
    finally:
        server.query(f"DROP SCHEMA {database.name} CASCADE")
        database.run(f"DROP OWNED BY {role}", f"DROP ROLE {role}")
