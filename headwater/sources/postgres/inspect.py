"""Asking a PostgreSQL upstream what it has: the server, a publication, its tables.

A few queries in one read-only transaction, however many tables there are, so that the
answers belong together.  Only catalogs are read, and nothing is left behind.

    inspect(connection, publication)   -> Facts              any time
    examine(options, secrets)          -> Examination        CREATE SOURCE
    references(options, secrets, name) -> what may be ingested, not pinned yet

Partitioned tables: with publish_via_partition_root the root alone is listed, without it
the leaves are.  Children of an inheritance are tables of their own.

Not here: what becomes of the answers (facts.py, pin.py).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import psycopg

from headwater.core.errors import TransientError, UserError
from headwater.core.limits import UPSTREAM_VALIDATE_S_MAX
from headwater.sources.contract import Options, Reference, Secrets
from headwater.sources.postgres.connection import connect
from headwater.sources.postgres.facts import (
    PARTITIONED,
    ColumnFacts,
    Facts,
    GeneratedFacts,
    KeyFacts,
    PartitionFacts,
    PublicationFacts,
    TableFacts,
    changed,
    missing_publication,
    moved,
)
from headwater.sources.postgres.pin import PREFIX, pin, reference_of
from headwater.sources.postgres.silence import bounded

__all__ = [
    "Examination",
    "Facts",
    "changed",
    "check_room",
    "examine",
    "inspect",
    "moved",
    "pin",
    "references",
]

VERSION_MIN: Final = 130_000
"""publish_via_partition_root came with 13."""
VERSION_LISTS: Final = 150_000
"""Publications of single columns and rows, and NULLS NOT DISTINCT, came with 15."""
VERSION_REPLICA_SLOTS: Final = 160_000
"""Before 16, changes could not be decoded on a physical replica."""

_TIME: Final = "SELECT set_config('statement_timeout', %s, true)"

# The timeline of a running primary is in the name of the file it writes to; what the control file says of
# it may be as old as the last checkpoint.
_SERVER: Final = """
    SELECT current_database(), current_user, system.system_identifier::text,
        CASE WHEN pg_is_in_recovery() THEN (SELECT timeline_id FROM pg_control_checkpoint())
             ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END,
        current_setting('wal_level'), pg_is_in_recovery(),
        ARRAY(SELECT slot_name::text FROM pg_replication_slots),
        current_setting('max_replication_slots')::int,
        current_setting('max_wal_senders')::int - (SELECT count(*)::int FROM pg_stat_replication),
        current_setting('server_encoding') = 'SQL_ASCII',
        p.pubname IS NOT NULL, p.pubinsert, p.pubupdate, p.pubdelete, p.pubtruncate, p.pubviaroot
    FROM pg_control_system() AS system LEFT JOIN pg_publication AS p ON p.pubname = %s
"""

_TABLES: Final = """
    SELECT c.oid::int8, n.nspname, c.relname, c.relkind::text, c.relreplident::text,
        has_schema_privilege(n.oid, 'USAGE'),
        row_security_active(c.oid) OR c.relkind = 'p' AND (
            SELECT bool_or(row_security_active(part.relid)) FROM pg_partition_tree(c.oid) AS part
        ),
        {lists},
        CASE WHEN c.relkind = 'p' THEN (
            SELECT string_agg(DISTINCT leaf.relreplident::text, '')
            FROM pg_partition_tree(c.oid) AS part JOIN pg_class AS leaf ON leaf.oid = part.relid
            WHERE part.isleaf
        ) END,
        CASE WHEN c.relkind = 'p' THEN (
            SELECT jsonb_agg(jsonb_build_array(space.nspname, leaf.relname, usable, columns.unreadable))
            FROM pg_partition_tree(c.oid) AS part
            JOIN pg_class AS leaf ON leaf.oid = part.relid
            JOIN pg_namespace AS space ON space.oid = leaf.relnamespace,
            LATERAL (SELECT has_schema_privilege(space.oid, 'USAGE') AS usable) AS schemas,
            LATERAL (
                SELECT coalesce(jsonb_agg(a.attname), '[]') AS unreadable
                FROM pg_attribute AS a
                WHERE a.attrelid = leaf.oid AND a.attnum > 0 AND NOT a.attisdropped
                    AND NOT has_table_privilege(leaf.oid, 'SELECT')
                    AND NOT has_column_privilege(leaf.oid, a.attnum, 'SELECT')
            ) AS columns
            WHERE part.isleaf AND (NOT usable OR columns.unreadable <> '[]')
        ) END,
        ARRAY(
            SELECT format('%%I.%%I', space.nspname, heir.relname)
            FROM pg_inherits AS i
            JOIN pg_class AS heir ON heir.oid = i.inhrelid
            JOIN pg_namespace AS space ON space.oid = heir.relnamespace
            WHERE i.inhparent = c.oid AND c.relkind = 'r' ORDER BY 1
        )
    FROM pg_get_publication_tables(%(publication)s) AS published
    JOIN pg_class AS c ON c.oid = published.relid
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE (%(oids)s::oid[] IS NULL OR c.oid = ANY(%(oids)s::oid[]))
        AND (%(name)s::text IS NULL OR c.relname = %(name)s::text)
    ORDER BY n.nspname, c.relname
"""
_LISTS: Final = "published.attrs::int2[], pg_get_expr(published.qual, published.relid)"
_NO_LISTS: Final = "NULL::int2[], NULL"
_LIST: Final = 7  # where among the columns of _TABLES the list is

_UNLOGGED: Final = "SELECT oid::int8 FROM pg_class WHERE oid = ANY(%s::oid[]) AND relpersistence = 'u'"

_COLUMNS: Final = """
    SELECT a.attrelid::int8, a.attname, a.attnum, a.atttypid::int8, a.atttypmod, a.attnotnull,
        coalesce(has_column_privilege(a.attrelid, a.attnum, 'SELECT'), false),
        format_type(a.atttypid, a.atttypmod), coalesce(element.typtype, t.typtype) IN ('e', 'd'),
        a.attgenerated::text, pg_get_expr(d.adbin, d.adrelid)
    FROM pg_attribute AS a
    JOIN pg_type AS t ON t.oid = a.atttypid
    LEFT JOIN pg_type AS element ON element.oid = t.typelem AND t.typcategory = 'A'
    LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.attgenerated <> ''
    WHERE a.attrelid = ANY(%s::oid[]) AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attrelid, a.attnum
"""

_KEYS: Final = """
    SELECT i.indrelid::int8, (i.indkey::int2[])[0:i.indnkeyatts - 1], con.oid::int8, i.indisprimary,
        i.indisreplident, NOT i.indimmediate, {nulls_equal}
    FROM pg_index AS i
    LEFT JOIN pg_constraint AS con
        ON con.conindid = i.indexrelid AND con.conrelid = i.indrelid AND con.contype IN ('p', 'u')
    WHERE i.indrelid = ANY(%s::oid[]) AND i.indisunique AND i.indisvalid
        AND i.indpred IS NULL AND i.indexprs IS NULL
    ORDER BY i.indrelid, NOT i.indisprimary, i.indexrelid
"""


def inspect(
    connection: psycopg.Connection[Any],
    publication: str,
    oids: Collection[int] | None = None,
    name: str | None = None,
) -> Facts:
    """The facts of now; with `oids` or a name, of these tables only."""
    try:
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            connection.execute(_TIME, (str(int(UPSTREAM_VALIDATE_S_MAX * 1000)),))
            return _inspect(connection, publication, oids, name)
    except psycopg.Error as error:
        raise TransientError(
            f"sql client error: {str(error).strip().splitlines()[0]}",
            hint="The upstream's log may say more.",
        ) from error


@dataclass(frozen=True, slots=True)
class Examination:
    """What CREATE SOURCE learns of an upstream."""

    facts: Facts
    references: tuple[Reference, ...]


def examine(options: Options, secrets: Secrets, name: str | None = None) -> Examination:
    """Ask the upstream of a source; UserError when nothing can be ingested from it.

    With a name, of tables that are called so only.
    """
    with connect(options["connection"], secrets) as connection, bounded(connection):
        version = connection.info.server_version
        if version < VERSION_MIN:
            raise UserError(
                f"{PREFIX}PostgreSQL {version // 10_000} is not supported",
                "0A000",
                hint=f"Upgrade the upstream to PostgreSQL {VERSION_MIN // 10_000} or later.",
            )
        facts = inspect(connection, options["publication"], name=name)
        if name is not None and not facts.tables:
            facts = inspect(connection, options["publication"])  # perhaps something is called like it
    _check(facts)
    return Examination(facts, tuple(reference_of(facts, table) for table in facts.tables.values()))


def check_room(facts: Facts, connection: Mapping[str, Any], others: Sequence[Options]) -> None:
    """UserError unless a source more can have its slot, and somebody who sends what is in it.

    Other sources of the server that have only named their slots will make them.
    """
    server = _server(facts.identity(), connection)
    there = (other for other in others if _server(other["identity"], other["connection"]) == server)
    named = len({other["slot"] for other in there} - facts.slots)
    reserved = f" {named} of them {'is' if named == 1 else 'are'} for other sources that begin later."
    for left, what, setting, view in (
        (facts.slots_left, "replication slot", "max_replication_slots", "pg_replication_slots"),
        (facts.senders_left, "WAL sender", "max_wal_senders", "pg_stat_replication"),
    ):
        if left - named < 1:
            raise UserError(
                f"{PREFIX}server has no {what} left",
                "53400",
                detail=f"A source needs one, and all that {setting} allows are taken."
                f"{reserved if named else ''}",
                hint=f"In the upstream: drop what is not needed (see {view}), or raise {setting}"
                " and restart the server.",
            )


def _server(identity: Mapping[str, Any], connection: Mapping[str, Any]) -> tuple[object, ...]:
    """Slots are a server's own; its replicas are of the same system."""
    where = (connection["host"], connection.get("port")) if identity["recovering"] else ()
    return (identity["system_id"], identity["recovering"], *where)


def references(options: Options, secrets: Secrets, name: str | None = None) -> tuple[Reference, ...]:
    """What may be ingested, as it is now; `pin` says whether it can be."""
    return examine(options, secrets, name).references


def _check(facts: Facts) -> None:
    """What is wrong with the server or the publication, whichever table is wanted."""
    if facts.wal_level != "logical":
        raise UserError(
            f"server must have wal_level >= logical, but has {facts.wal_level}",
            "55000",
            hint="ALTER SYSTEM SET wal_level = logical, then restart the upstream server.",
        )
    if facts.recovering and facts.version < VERSION_REPLICA_SLOTS:
        raise UserError(
            f"{PREFIX}server is a physical replica",
            "55000",
            detail="PostgreSQL can decode changes on a physical replica since version 16.",
            hint="Connect to the primary.",
        )
    if facts.publication is None:
        raise UserError(
            "failed to connect to PostgreSQL database",
            "08001",
            detail=missing_publication(facts.publication_name),
            hint=f'In database "{facts.database}" of the upstream: CREATE PUBLICATION ... FOR TABLE ...',
        )
    if not facts.tables:
        raise UserError(
            f"{PREFIX}PUBLICATION {facts.publication_name} is empty",
            "42P01",
            hint="In the upstream: ALTER PUBLICATION ... ADD TABLE ...",
        )


def _inspect(
    connection: psycopg.Connection[Any], publication: str, oids: Collection[int] | None, name: str | None
) -> Facts:
    row = connection.execute(_SERVER, (publication,)).fetchone()
    if row is None:
        raise TransientError("the upstream returned no row about itself")
    database, user, system_id, timeline, wal_level, recovering, slots, slots_max, *rest = row
    senders, unchecked, known, *published = rest
    version = connection.info.server_version
    tables: dict[int, TableFacts] = {}
    if known:
        tables = _tables(connection, publication, oids, name, version)
    return Facts(
        database,
        user,
        system_id,
        timeline,
        version,
        wal_level,
        recovering,
        publication,
        PublicationFacts(*published) if known else None,
        tables,
        frozenset(row[0] for row in connection.execute(_UNLOGGED, (list(oids or ()),))),
        slots=frozenset(slots),
        slots_left=slots_max - len(slots),
        senders_left=senders,
        unchecked=unchecked,
    )


def _tables(
    connection: psycopg.Connection[Any],
    publication: str,
    oids: Collection[int] | None,
    name: str | None,
    version: int,
) -> dict[int, TableFacts]:
    with_lists = version >= VERSION_LISTS
    listed = connection.execute(
        _TABLES.format(lists=_LISTS if with_lists else _NO_LISTS),
        {"publication": publication, "oids": None if oids is None else list(oids), "name": name},
    ).fetchall()
    found = [row[0] for row in listed]
    listings = {row[0]: row[_LIST] for row in listed}
    columns: defaultdict[int, list[ColumnFacts]] = defaultdict(list)
    generated: defaultdict[int, list[GeneratedFacts]] = defaultdict(list)
    unpublished: defaultdict[int, set[int]] = defaultdict(set)
    for oid, *column, how, expression in connection.execute(_COLUMNS, (found,)):
        facts, list_ = ColumnFacts(*column), listings[oid]
        # Without a list all is published but what is generated; where that is too, there is one (18).
        if (list_ is None and not how) or (list_ is not None and facts.attnum in list_):
            columns[oid].append(facts)
            continue
        unpublished[oid].add(facts.attnum)
        if how:
            generated[oid].append(GeneratedFacts(facts.name, facts.attnum, expression, how == "s"))
    keys: defaultdict[int, list[KeyFacts]] = defaultdict(list)
    nulls_equal = "i.indnullsnotdistinct" if with_lists else "false"
    query = _KEYS.format(nulls_equal=nulls_equal)
    for oid, attnums, *key in connection.execute(query, (found,)):
        keys[oid].append(KeyFacts(tuple(attnums), *key))
    return {
        oid: replace(
            _table(row, columns[oid], keys[oid]),
            generated=tuple(generated[oid]),
            unpublished=frozenset(unpublished[oid]),
        )
        for row in listed
        for oid in row[:1]
    }


def _table(row: Sequence[Any], columns: list[ColumnFacts], keys: list[KeyFacts]) -> TableFacts:
    oid, schema, name, relkind, identity, usable, row_security, _, row_filter, *more = row
    leaves, closed, heirs = more
    if relkind == PARTITIONED:
        identity = _identity_of_leaves(identity, leaves)
    return TableFacts(
        oid,
        schema,
        name,
        tuple(columns),
        tuple(keys),
        relkind,
        identity,
        row_filter,
        bool(usable),
        bool(row_security),
        partitions=tuple(
            PartitionFacts(space, leaf, open_, tuple(unreadable))
            for space, leaf, open_, unreadable in closed or ()
        ),
        heirs=tuple(heirs),
    )


def _identity_of_leaves(identity: str, leaves: str | None) -> str:
    """A change of a partition carries what the partition's own identity says, not the root's."""
    if leaves is None:
        return identity
    if leaves in ("f", "d"):
        return leaves
    # A primary key is on all partitions: whole rows have it in them.
    return "d" if set(leaves) == {"d", "f"} else "n"
