"""The page about MySQL sources can be typed as it stands.

Goal: no statement of the page fails, neither upstream nor here.
Method: its blocks are run in order, those marked `mysql` in a new database, the others in a schema of their
own; only the address of the upstream and the names of its database and user are put in.
"""

from __future__ import annotations

import re
from pathlib import Path

from headwater.sql.parse import parse_statements
from tests.mysql.database import Database
from tests.support.server import HeadwaterServer

PAGE = Path(__file__).parents[2] / "docs/user/mysql.md"
_BLOCK = re.compile(r"^```(mysql|sql)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_every_statement_of_the_page_runs(server: HeadwaterServer, database: Database) -> None:
    blocks = _BLOCK.findall(PAGE.read_text())
    assert {language for language, _ in blocks} == {"mysql", "sql"}
    user = f"page_{database.name}"
    server.query(f"CREATE SCHEMA {database.name}")
    try:
        with server.connect() as connection:
            connection.execute(f"SET search_path = {database.name}".encode())
            for language, block in blocks:
                here = re.sub(r"\bheadwater\b", user, block)
                here = re.sub(r"\bshop\.(?=\*|orders)", f"{database.name}.", here)
                if language == "mysql":
                    database.run(*filter(str.strip, here.split(";\n")))
                    continue
                here = here.replace("PORT 3306", f"PORT {database.server.port}")
                for statement in parse_statements(here):
                    connection.execute(statement.text.encode())
            tables = connection.execute("SHOW TABLES").fetchall()
            assert [name for name, _ in tables] == ["orders", "visits"]
    finally:
        server.query(f"DROP SCHEMA {database.name} CASCADE")
        database.run(f"DROP USER IF EXISTS {user}@'%'")
