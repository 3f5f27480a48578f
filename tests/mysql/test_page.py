"""The page about MySQL sources can be typed as it stands.

Goal: no statement of the page fails, neither upstream nor here.
Method: its blocks are run in order, those marked `mysql` in a new database, the others in a schema of their
own; only the address of the upstream and the names of its database and user are put in.
"""

from __future__ import annotations

import re

from tests.mysql.database import Database
from tests.support.here import Here
from tests.support.pages import FOLDER, blocks, type_in
from tests.support.server import HeadwaterServer


def test_every_statement_of_the_page_runs(server: HeadwaterServer, database: Database) -> None:
    user = f"page_{database.name}"
    here = Here(server, database.name)
    try:
        for language, block in blocks(FOLDER / "mysql.md", "mysql", "sql"):
            text = re.sub(r"\bheadwater\b", user, block)
            text = re.sub(r"\bshop\.(?=\*|orders)", f"{database.name}.", text)
            if language == "mysql":
                database.run(*filter(str.strip, text.split(";\n")))
            else:
                type_in(here.session, text.replace("PORT 3306", f"PORT {database.server.port}"))
        assert here.listed("SHOW TABLES") == {"orders", "visits"}
    finally:
        here.close()
        database.run(f"DROP USER IF EXISTS {user}@'%'")
