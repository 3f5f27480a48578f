"""The page about PostgreSQL sources can be typed as it stands.

Goal: no statement of the page fails, neither upstream nor here.
Method: its blocks are run in order, those marked `postgresql` in a new database, the others
in a schema of their own; only the address of the upstream is put in.
"""

from __future__ import annotations

import re

from tests.support.database import Database
from tests.support.here import Here
from tests.support.pages import FOLDER, blocks, type_in
from tests.support.server import HeadwaterServer


def test_every_statement_of_the_page_runs(server: HeadwaterServer, database: Database) -> None:
    role = f"page_{database.name}"
    here = Here(server, database.name)
    try:
        for language, block in blocks(FOLDER / "postgres.md", "postgresql", "sql"):
            if language == "postgresql":
                database.run(re.sub(r"\bheadwater\b", role, block))
                continue
            text = block.replace("PORT 5432", f"PORT {database.server.port}")
            text = text.replace("DATABASE 'shop'", f"DATABASE '{database.name}'")
            type_in(here.session, text.replace("USER 'headwater'", f"USER '{role}'"))
        assert here.listed("SHOW TABLES") == {"orders", "visits"}
    finally:
        here.close()
        database.run(f"DROP OWNED BY {role}", f"DROP ROLE {role}")
