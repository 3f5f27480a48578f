"""Asking a MySQL or MariaDB upstream what it has: tables with their columns and keys, and our rights on them.

    table_facts(session, names)        -> facts of these tables, those that are there
    examine(options, secrets)          -> what CREATE SOURCE learns; UserError when nothing can be ingested
    references(options, secrets, name) -> what may be ingested, not pinned yet

Base tables alone are listed, and none of the server's own databases.  Servers show what a user has some right
on: a table that is not there may be one that is not shown.

Not here: what becomes of the answers (pin.py), the server itself (server.py).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pymysql.connections import Connection

from headwater.core.errors import UserError
from headwater.core.quoting import backquoted
from headwater.sources.contract import Options, Reference, Secrets
from headwater.sources.mysql.connection import asking
from headwater.sources.mysql.facts import ColumnFacts, KeyFacts, ServerFacts, TableFacts
from headwater.sources.mysql.grants import Grants
from headwater.sources.mysql.pin import PREFIX, Rights, reference_of, refuse_privileges
from headwater.sources.mysql.server import logs_cascades, server_facts, settings_error
from headwater.sources.mysql.trouble import DRIVER_ERRORS, NO_PRIVILEGE, code_of

SYSTEM_SCHEMAS: Final = ("information_schema", "mysql", "performance_schema", "sys")
BASE_TABLE: Final = "BASE TABLE"

_WHERE: Final = "table_schema NOT IN ({})".format(", ".join(f"'{name}'" for name in SYSTEM_SCHEMAS))

_TABLES: Final = """
    SELECT table_schema, table_name, COALESCE(engine, ''), COALESCE(table_rows, 0)
    FROM information_schema.tables WHERE table_type = 'BASE TABLE' AND {where}
    ORDER BY table_schema, table_name
"""
_COLUMNS: Final = """
    SELECT table_schema, table_name, column_name, data_type, column_type, is_nullable = 'YES',
        character_maximum_length, numeric_precision, numeric_scale, datetime_precision, character_set_name,
        collation_name, extra, generation_expression, ordinal_position - 1
    FROM information_schema.columns WHERE {where}
    ORDER BY table_schema, table_name, ordinal_position
"""
_KEYS: Final = """
    SELECT table_schema, table_name, index_name, column_name
    FROM information_schema.statistics WHERE non_unique = 0 AND {where}
    ORDER BY table_schema, table_name, index_name <> 'PRIMARY', index_name, seq_in_index
"""
_CASCADE: Final = re.compile(
    r"^  CONSTRAINT `((?:[^`]|``)*)` FOREIGN KEY .* ON (?:DELETE|UPDATE) (?:CASCADE|SET NULL|SET DEFAULT)",
    re.MULTILINE,
)

Table = tuple[str, str]
"""Its schema and its name."""


@dataclass(frozen=True, slots=True)
class Examination:
    """What CREATE SOURCE learns of an upstream."""

    server: ServerFacts
    references: tuple[Reference, ...]


def table_facts(session: Connection[Any], names: Collection[Table]) -> dict[Table, TableFacts]:
    """The facts of now of those of these tables that are there; errors are the driver's."""
    if not names:
        return {}
    pairs = ", ".join(
        f"({session.literal(schema)}, {session.literal(name)})" for schema, name in sorted(names)
    )
    found = _tables(session, f"(table_schema, table_name) IN ({pairs})")
    # Servers compare names of information_schema without regard to case.
    return {table: facts for table, facts in found.items() if table in names}


def examine(options: Options, secrets: Secrets, name: str | None = None) -> Examination:
    """Ask the upstream of a source; with a name, of tables that are called so only."""
    with asking(options["connection"], secrets) as session:
        return _examine(session, name)


def references(options: Options, secrets: Secrets, name: str | None = None) -> tuple[Reference, ...]:
    """What may be ingested, as it is now; `pin` says whether it can be."""
    return examine(options, secrets, name).references


def _examine(session: Connection[Any], name: str | None) -> Examination:
    server = server_facts(session)
    error = settings_error(server)
    if error is not None:
        raise error
    rights = rights_of(session, server)
    if not rights.grants.has("REPLICATION SLAVE"):
        refuse_privileges(server.user, [("REPLICATION SLAVE", "*.*")])
    where = _WHERE if name is None else f"{_WHERE} AND table_name = {session.literal(name)}"
    found = _tables(session, where)
    if name is not None and not any(table == name for _, table in found):
        found = _tables(session, _WHERE)  # perhaps something is called like it
    if not found and name is None:
        raise UserError(
            f"{PREFIX}No tables found for provided reference",
            "42P01",
            detail=f"{server.user} sees no table of the upstream.",
            hint="Create one there, or let the user read it: GRANT SELECT, LOCK TABLES ON schema.* TO ...",
        )
    if name is not None and not logs_cascades(server):
        for table in (table for table in found if table[1] == name):
            found[table] = replace(found[table], cascades=_cascades(session, *table))
    return Examination(server, tuple(reference_of(server, rights, table) for table in found.values()))


def _cascades(session: Connection[Any], schema: str, name: str) -> tuple[str, ...]:
    """Foreign keys that change rows by themselves; information_schema does not show them to all readers."""
    with session.cursor() as cursor:
        try:
            cursor.execute(f"SHOW CREATE TABLE {backquoted(schema)}.{backquoted(name)}")
        except DRIVER_ERRORS as error:
            if code_of(error) not in NO_PRIVILEGE:
                raise
            return ()
        [(_, statement)] = cursor.fetchall()
    return tuple(key.replace("``", "`") for key in _CASCADE.findall(statement))


def rights_of(session: Connection[Any], server: ServerFacts) -> Rights:
    """What our user may do there, and what it can know of what is logged; errors are the driver's."""
    with session.cursor() as cursor:
        cursor.execute("SHOW GRANTS")
        grants = Grants.parse(row[0] for row in cursor.fetchall())
        only, left_out = _filters(session, server)
    return Rights(grants, only, left_out)


def _filters(session: Connection[Any], server: ServerFacts) -> tuple[frozenset[str], frozenset[str]]:
    """The databases that alone are logged, if that is so, and those that are not; none if we may not know."""
    modern = server.flavour == "mysql" and server.version >= (8, 2, 0)
    with session.cursor() as cursor:
        try:
            cursor.execute("SHOW BINARY LOG STATUS" if modern else "SHOW MASTER STATUS")
        except DRIVER_ERRORS as error:
            if code_of(error) not in NO_PRIVILEGE:
                raise
            return frozenset(), frozenset()
        row = cursor.fetchone()
    if row is None:
        return frozenset(), frozenset()
    only, left_out = (frozenset(filter(None, (names or "").split(","))) for names in row[2:4])
    return only, left_out


def _tables(session: Connection[Any], where: str) -> dict[Table, TableFacts]:
    columns: defaultdict[Table, list[ColumnFacts]] = defaultdict(list)
    for schema, name, *column in _asked(session, _COLUMNS, where):
        columns[schema, name].append(_column(*column))
    parts: defaultdict[Table, dict[str, list[str | None]]] = defaultdict(dict)
    for schema, name, key, part in _asked(session, _KEYS, where):
        parts[schema, name].setdefault(key, []).append(part)
    return {
        (schema, name): TableFacts(
            schema,
            name,
            tuple(columns[schema, name]),
            tuple(_keys(parts[schema, name])),
            engine,
            int(rows),
        )
        for schema, name, engine, rows in _asked(session, _TABLES, where)
    }


def _asked(session: Connection[Any], query: str, where: str) -> Iterable[tuple[Any, ...]]:
    with session.cursor() as cursor:
        cursor.execute(query.format(where=where))
        return list(cursor.fetchall())


def _column(
    name: str,
    data_type: str,
    column_type: str,
    nullable: int,
    length: int | None,
    precision: int | None,
    scale: int | None,
    fraction: int | None,
    charset: str | None,
    collation: str | None,
    extra: str | None,
    expression: str | None,
    place: int,
) -> ColumnFacts:
    said = (extra or "").upper()
    generated = "VIRTUAL GENERATED" in said or "STORED GENERATED" in said or "PERSISTENT" in said
    return ColumnFacts(
        name,
        data_type.lower(),
        column_type,
        bool(nullable),
        length,
        precision,
        scale,
        fraction,
        charset,
        collation,
        generated,
        "INVISIBLE" in said,
        expression if generated else None,
        place,
    )


def _keys(parts: Mapping[str, list[str | None]]) -> Iterable[KeyFacts]:
    """But those over expressions."""
    for name, columns in parts.items():
        known = tuple(column for column in columns if column is not None)
        if len(known) == len(columns):
            yield KeyFacts(name, known, name == "PRIMARY")
