"""Pages of the documentation, typed as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg

from headwater.sql.parse import parse_statements

FOLDER = Path(__file__).parents[2] / "docs/user"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path, *languages: str) -> list[tuple[str, str]]:
    """(language, text) of those in these languages, in order; there is at least one of each."""
    found = [(language, text) for language, text in _BLOCK.findall(page.read_text()) if language in languages]
    assert {language for language, _ in found} == {*languages}, page
    return found


def type_in(session: psycopg.Connection[tuple[object, ...]], text: str) -> None:
    """The statements of a block, one after the other."""
    for statement in parse_statements(text):
        session.execute(statement.text.encode())
