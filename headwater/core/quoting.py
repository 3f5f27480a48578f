"""Names and texts in SQL, quoted."""

from __future__ import annotations

import re
from typing import Final

_PLAIN: Final = re.compile(r"[a-z_][a-z0-9_]*")
_KEYWORDS: Final = """
    all analyse analyze and any array as asc asymmetric authorization between bigint binary bit boolean
    both case cast char character check coalesce collate collation column concurrently constraint create
    cross current_catalog current_date current_role current_schema current_time current_timestamp
    current_user dec decimal default deferrable desc distinct do else end except exists extract false
    fetch float for foreign freeze from full grant greatest group grouping having ilike in initially inner
    inout int integer intersect interval into is isnull join lateral leading least left like limit
    localtime localtimestamp national natural nchar none normalize not notnull null nullif numeric offset
    on only or order out outer overlaps overlay placing position precision primary real references
    returning right row select session_user setof similar smallint some substring symmetric table
    tablesample then time timestamp to trailing treat trim true union unique user using values varchar
    variadic verbose when where window with xmlattributes xmlconcat xmlelement xmlexists xmlforest
    xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable
"""
_RESERVED: Final = frozenset(_KEYWORDS.split())
"""PostgreSQL's words that are not names, or not everywhere."""


def quoted(name: str) -> str:
    """An identifier, for PostgreSQL, DuckDB and Spark's ANSI mode alike."""
    return '"' + name.replace('"', '""') + '"'


def identifier(name: str) -> str:
    """A name as PostgreSQL shows it: quoted unless it is a plain word that is no keyword."""
    return name if _PLAIN.fullmatch(name) and name not in _RESERVED else quoted(name)


def backquoted(name: str) -> str:
    """An identifier for Spark."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """A string, for PostgreSQL and DuckDB."""
    return "'" + text.replace("'", "''") + "'"
