"""What the pages for users show can be typed.

Goal: no page shows a statement that fails.
Method: every block of SQL of the overview pages is run, in order, in a schema of the page's own.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headwater.sql.parse import parse_statements
from tests.support.server import HeadwaterServer

FOLDER = Path(__file__).parents[2] / "docs/user"
PAGES = ("quickstart", "sources-and-tables", "reading", "subscribe", "operations")
_BLOCK = re.compile(r"^```sql\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_every_statement_of_the_page_runs(server: HeadwaterServer, page: str) -> None:
    blocks = _BLOCK.findall((FOLDER / f"{page}.md").read_text())
    assert blocks
    schema = "page_" + page.replace("-", "_")
    server.query(f"CREATE SCHEMA {schema}")
    with server.connect() as connection:
        connection.execute(f"SET search_path = {schema}".encode())
        connection.execute(b"SET statement_timeout = '120s'")
        for block in blocks:
            for statement in parse_statements(block):
                connection.execute(statement.text.encode())
    server.query(f"DROP SCHEMA {schema} CASCADE")
