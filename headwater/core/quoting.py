"""Names and texts in SQL, quoted.  Who may be left unquoted is for those to say who know the words."""

from __future__ import annotations


def quoted(name: str) -> str:
    """An identifier, for PostgreSQL, DuckDB and Spark's ANSI mode alike."""
    return '"' + name.replace('"', '""') + '"'


def backquoted(name: str) -> str:
    """An identifier for Spark."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """A string, for PostgreSQL and DuckDB."""
    return "'" + text.replace("'", "''") + "'"
