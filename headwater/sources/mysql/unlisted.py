"""Why a relation that the upstream has is no reference: asked once somebody has named it in vain."""

from __future__ import annotations

from typing import Final

from headwater.sources.contract import Options, Secrets, Unlisted
from headwater.sources.mysql.connection import asking
from headwater.sources.mysql.inspect import BASE_TABLE, SYSTEM_SCHEMAS

_RELATIONS: Final = """
    SELECT table_schema, table_name, table_type FROM information_schema.tables
    WHERE table_name = %s ORDER BY table_schema
"""
_KINDS: Final = {
    "VIEW": ("is a view, and changes of tables alone are logged", "Name the tables it is made of."),
    "SYSTEM VIEW": ("is a view of the server's own", "Only tables with rows of yours can be taken."),
    "SEQUENCE": ("is a sequence, which has no rows", "Name a table."),
    "SYSTEM VERSIONED": (
        "has system versioning, and its log does not tell rows of now from those of the past",
        "In the upstream: ALTER TABLE ... DROP SYSTEM VERSIONING",
    ),
}
_OF_THE_SYSTEM: Final = (
    "is of a database of the server's own",
    "Only tables of other databases can be taken.",
)
_OTHER: Final = ("is no base table", "Name a base table.")


def unlisted(options: Options, secrets: Secrets, name: str) -> tuple[Unlisted, ...]:
    """What is called so and is no base table of somebody's."""
    with asking(options["connection"], secrets) as session, session.cursor() as cursor:
        cursor.execute(_RELATIONS, (name,))
        rows = [row for row in cursor.fetchall() if row[1] == name]
    return tuple(
        Unlisted((schema, table), *(_OF_THE_SYSTEM if schema in SYSTEM_SCHEMAS else _KINDS.get(kind, _OTHER)))
        for schema, table, kind in rows
        if kind != BASE_TABLE or schema in SYSTEM_SCHEMAS
    )
