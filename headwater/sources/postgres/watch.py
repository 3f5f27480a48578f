"""Looking at what the stream does not tell of, once for each stretch of the stream.

    a stretch ends at E  ->  look  ->  its binding is kept, with what was seen

The look comes after E was received, so that it shows whatever happened before E and perhaps
more.  A table of which it shows something that cannot be followed ends there: at most a little too
early, and never with wrong rows.

What is no harm: a partition that is made as one (PARTITION OF), or attached with nothing in it;
TRUNCATE of the whole, which the stream has; VACUUM FULL, CLUSTER and other ways of writing the same
rows anew, if a row is left that is older than the look before.

One query for all tables and their partitions at each look, another for their columns now and
then, or when a table takes texts, got another file, or was described anew by the stream.

Not here: what is compared and how (seen.py), the stream (reader.py).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import psycopg
from psycopg import sql

from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.limits import REFERENCE_CHECK_S, UPSTREAM_LOOK_LOCK_S_MAX, UPSTREAM_VALIDATE_S_MAX
from headwater.sources.contract import Export
from headwater.sources.postgres import seen as traces
from headwater.sources.postgres.frontier import last_end, lsn_of
from headwater.sources.postgres.identity import keyed_by, speaks_for_itself, switched, unsent
from headwater.sources.postgres.pgoutput import RelationMessage
from headwater.sources.postgres.seen import ColumnSight, Differences, Part, Seen, Sight
from headwater.sources.postgres.visibility import Snapshot

_WRAP: Final = 2**32
_OWN_TYPES: Final = 16_384
"""Objects that users have made have oids from here on."""

_OF: Final = "xmin = %s::text::xid"

_NOW: Final = """
    SELECT pg_current_snapshot()::text, CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
        ELSE pg_current_wal_insert_lsn() END::text
"""

TREE: Final = """
    WITH RECURSIVE tree (root, oid, parent, member) AS (
        SELECT r.oid, r.oid, 0::oid, 0::int8 FROM unnest(%(oids)s::oid[]) AS r (oid)
        UNION ALL
        SELECT tree.root, i.inhrelid, tree.oid, i.xmin::text::int8
        FROM tree JOIN pg_class AS above ON above.oid = tree.oid AND above.relkind = 'p'
        JOIN pg_inherits AS i ON i.inhparent = tree.oid
        WHERE NOT coalesce((to_jsonb(i) ->> 'inhdetachpending')::bool, false)
    )
"""
"""Partitions as the transaction's snapshot shows them; functions of PostgreSQL would show those of now."""

_PARTS: Final = f"""{TREE}
    SELECT tree.root::int8, c.oid::int8, tree.parent::int8, format('%%I.%%I', n.nspname, c.relname),
        c.relkind::text, tree.member, c.relfilenode::int8, c.xmin::text::int8, c.cmin::text::int8,
        c.relreplident::text, ARRAY(
            SELECT a.attname::text FROM pg_index AS x JOIN pg_attribute AS a
            ON a.attrelid = c.oid AND a.attnum = ANY((x.indkey::int2[])[0:x.indnkeyatts - 1])
            WHERE c.relreplident = 'i' AND x.indrelid = c.oid AND x.indisreplident
        )
    FROM tree JOIN pg_class AS c ON c.oid = tree.oid JOIN pg_namespace AS n ON n.oid = c.relnamespace
"""

_COLUMNS: Final = """
    WITH RECURSIVE based (oid, base) AS (
        SELECT DISTINCT atttypid, atttypid FROM pg_attribute WHERE attrelid = ANY(%(oids)s::oid[])
        UNION ALL
        SELECT based.oid, t.typbasetype FROM based JOIN pg_type AS t ON t.oid = based.base
        WHERE t.typtype = 'd'
    )
    SELECT a.attrelid::int8, a.attname, based.base::int8,
        a.xmin::text::int8, a.cmin::text::int8, a.atthasmissing, coalesce(d.oid, 0)::int8,
        md5((to_jsonb(a) - 'atthasmissing' - 'attmissingval')::text)
    FROM pg_attribute AS a
    JOIN based ON based.oid = a.atttypid
    JOIN pg_type AS t ON t.oid = based.base AND t.typtype <> 'd'
    LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = ANY(%(oids)s::oid[]) AND a.attnum > 0 AND NOT a.attisdropped
"""

# By a column's type: the enums and composite types that are in it, however deep.
_TEXTS: Final = """
    WITH RECURSIVE within (start, oid) AS (
        SELECT o.oid, o.oid FROM unnest(%(types)s::oid[]) AS o (oid)
        UNION
        SELECT within.start, next.oid FROM within JOIN pg_type AS t ON t.oid = within.oid
        CROSS JOIN LATERAL (
            SELECT t.typbasetype WHERE t.typtype = 'd'
            UNION ALL SELECT t.typelem
            UNION ALL SELECT g.rngsubtype FROM pg_range AS g
                WHERE t.oid IN (g.rngtypid, (to_jsonb(g) ->> 'rngmultitypid')::oid)
            UNION ALL SELECT a.atttypid FROM pg_attribute AS a
                WHERE t.typtype = 'c' AND a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
        ) AS next (oid) WHERE next.oid >= %(own)s
    )
    SELECT start::int8, 'label:' || e.oid, quote_literal(e.enumlabel), e.xmin::text
    FROM within JOIN pg_enum AS e ON e.enumtypid = within.oid
    UNION ALL
    SELECT start::int8, 'type:' || t.oid, format('%%s (%%s)', t.typname, (
        SELECT string_agg(format('%%s: %%s', a.attnum, format_type(a.atttypid, a.atttypmod)), ', '
            ORDER BY a.attnum)
        FROM pg_attribute AS a WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
    )), ''
    FROM within JOIN pg_type AS t ON t.oid = within.oid AND t.typtype = 'c'
"""

# A table that was made as a partition has columns as old as itself; those of one that was attached
# were written then, if only as a later command of the same transaction.
_ORIGINS: Final = """
    SELECT c.oid::int8, CASE WHEN c.relkind = 'r' THEN pg_relation_size(c.oid) END,
        EXISTS (
            SELECT FROM pg_attribute AS itself
            JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0
                AND a.xmin = itself.xmin AND a.cmin = itself.cmin
            JOIN pg_inherits AS i ON i.inhrelid = c.oid AND i.xmin = itself.xmin
            WHERE itself.attrelid = c.oid AND itself.attname = 'tableoid' AND itself.attnum < 0
        )
    FROM pg_class AS c WHERE c.oid = ANY(%(oids)s::oid[])
"""


@dataclass(frozen=True, slots=True)
class Notes:
    """What a stretch of the stream says beside changes."""

    relations: tuple[RelationMessage, ...] = ()
    truncations: tuple[tuple[int, int], ...] = ()  # (table, transaction)

    def truncating(self, oid: int) -> frozenset[int]:
        """The transactions that have truncated a table."""
        return frozenset(xid for table, xid in self.truncations if table == oid)


@dataclass(slots=True)
class _Pending:
    """All parts of a table were emptied at once; up to this position the stream must say so."""

    writer: int
    until: int
    parts: tuple[Part, ...]


@dataclass(slots=True)
class Watch:
    """What is remembered between two looks beside what is kept; all of it may be lost."""

    columns_s: float = float("-inf")  # when columns were last asked for
    horizons: dict[str, int] = field(default_factory=dict)  # by table here: the last look's
    pending: dict[str, _Pending] = field(default_factory=dict)

    def look(
        self,
        connection: psycopg.Connection[Any],
        exports: Collection[Export],
        seen: Mapping[str, Seen],
        notes: Notes,
        reached: int,
    ) -> tuple[dict[str, str], dict[str, Seen]]:
        """By table id: why it ends; and what is to be kept of the others, where that is something else."""
        if not exports:
            return {}, {}
        with connection.transaction():
            begin(connection)
            view = _View.of(connection, exports)
            now_s = SYSTEM_CLOCK.monotonic_s()
            due = now_s > self.columns_s + REFERENCE_CHECK_S
            asked = exports if due else [e for e in exports if view.doubtful(e, seen, notes)]
            if due:
                self.columns_s = now_s
            view.ask_columns(connection, asked)
            errors: dict[str, str] = {}
            kept: dict[str, Seen] = {}
            for export in exports:
                id_, sight = export.table_id, view.sight(export)
                if sight is None:
                    continue  # it was dropped, or is not to be seen yet: not ours to say
                before = seen.get(id_, {})
                said = notes.truncating(export.details["oid"]) | traces.said(before)
                error = self._judge(connection, export, before, sight, said, (view.until, reached))
                error = error or _identity(export, sight, notes)
                if error is not None:
                    errors[id_] = error
                else:
                    doubtful = self.pending[id_].parts if id_ in self.pending else ()
                    unseen = [xid for xid in said if not _shows(view.snapshot, xid)]
                    after = traces.remembered(before, sight, columns_of(export), doubtful, unseen)
                    if after != before:
                        kept[id_] = after
                self.horizons[id_] = sight.horizon
        return errors, kept

    def _judge(
        self,
        connection: psycopg.Connection[Any],
        export: Export,
        seen: Seen,
        sight: Sight,
        said: Set[int],
        positions: tuple[int, int],
    ) -> str | None:
        """Why a table ends; `positions` are those of the look and of the stream."""
        table, columns = _title(export), columns_of(export)
        found = traces.differences(seen, sight.parts)
        for part in found.gone:
            return traces.left(part, table)
        for part in found.again:
            return traces.left(part, table, again=True)
        written = traces.rewritten(seen, sight, sight.parts[export.details["oid"]], columns)
        if found.refiled and written:
            return traces.changed_in_place(written, table)
        other = traces.retyped(seen, sight, _texts_of(export))
        if other:
            return traces.printed_otherwise(other, table)
        words = traces.reworded(seen, sight)
        if words is not None:
            return traces.named_otherwise(*words, table)
        if speaks_for_itself(export):
            return None  # the stream has its truncations
        return _brought(connection, found.new, sight, table) or self._emptied(
            connection, export, seen, found, sight, said, positions
        )

    def _emptied(
        self,
        connection: psycopg.Connection[Any],
        export: Export,
        seen: Seen,
        found: Differences,
        sight: Sight,
        said: Set[int],
        positions: tuple[int, int],
    ) -> str | None:
        """Partitions with other files have their rows, or the stream says that all are gone."""
        id_ = export.table_id
        until, reached = positions
        pending = self.pending.pop(id_, None)
        touched = tuple(part for part in found.new if not part.untouched())
        writer = traces.emptied_by(seen, found.refiled, touched)
        if writer in said or (writer is not None and self._within(connection, writer, said, found, touched)):
            return None
        in_doubt = []
        for part in (*found.refiled, *touched):
            if part.altered in said:
                continue
            if traces.altered_columns(sight, part) and (
                _has_rows_of(connection, part) or (writer is not None and traces.defaulted(sight, part))
            ):
                continue  # written anew for the sake of its columns
            horizon = max(traces.horizon_of(seen, part), self.horizons.get(id_, 0))
            if part in touched or not _has_older(connection, part, horizon):
                in_doubt.append(part)
        if not in_doubt:
            return None
        if writer is not None:
            if pending is None or pending.writer != writer:
                pending = _Pending(writer, until, (*found.refiled, *touched))
            if reached < pending.until:
                self.pending[id_] = pending
                return None
        return traces.truncated(in_doubt[0].name, _title(export))

    def _within(
        self,
        connection: psycopg.Connection[Any],
        writer: int,
        said: Set[int],
        found: Differences,
        touched: Sequence[Part],
    ) -> bool:
        """Whether it is sure that who emptied all parts did so inside of a transaction that the stream has.

        The stream has the number of a whole transaction, the catalog that of the savepoint that wrote.  A row
        of the whole one that is still there was not emptied by somebody later.
        """
        before = [xid for xid in said if (writer - xid) % _WRAP < _WRAP // 2]
        parts = (*found.refiled, *touched)
        return any(_has_row(connection, part, _OF, xid) for xid in before for part in parts)


@dataclass(slots=True)
class _View:
    """What one look shows of all tables."""

    snapshot: Snapshot
    until: int  # nothing that it shows is later in the log
    parts: dict[int, dict[int, Part]]  # by table
    texts: dict[int, dict[str, list[str]]]  # by type
    columns: dict[int, dict[str, ColumnSight]] = field(default_factory=dict)  # by table

    @staticmethod
    def of(connection: psycopg.Connection[Any], exports: Iterable[Export]) -> _View:
        (row,) = connection.execute(_NOW).fetchall()
        parts: defaultdict[int, dict[int, Part]] = defaultdict(dict)
        oids = sorted({export.details["oid"] for export in exports})
        for root, oid, *facts in connection.execute(_PARTS, {"oids": oids}):
            parts[root][oid] = Part(oid, *facts)
        return _View(
            Snapshot.from_text(row[0]),
            last_end(lsn_of(row[1])),
            dict(parts),
            _texts(connection, exports),
        )

    def doubtful(self, export: Export, seen: Mapping[str, Seen], notes: Notes) -> bool:
        """Whether the columns of a table must be asked for at this look."""
        oid, before = export.details["oid"], seen.get(export.table_id, {})
        if _texts_of(export):
            return True  # another type may print the same file otherwise
        if any(f"column:{name}" not in before for name in columns_of(export)):
            return True
        if any(relation.oid == oid for relation in notes.relations):
            return True
        return bool(traces.differences(before, self.parts.get(oid, {})).refiled)

    def ask_columns(self, connection: psycopg.Connection[Any], exports: Iterable[Export]) -> None:
        oids = sorted({export.details["oid"] for export in exports})
        if not oids:
            return
        self.columns = {oid: {} for oid in oids}
        for oid, name, *facts in connection.execute(_COLUMNS, {"oids": oids}):
            self.columns[oid][name] = ColumnSight(*facts)

    def sight(self, export: Export) -> Sight | None:
        oid = export.details["oid"]
        parts = self.parts.get(oid)
        if parts is None:
            return None
        texts: dict[str, list[str]] = {}
        for type_oid in _own_types(export):
            texts |= self.texts.get(type_oid, {})
        return Sight(parts, self.columns.get(oid), texts, self.snapshot.xmin)


def begin(connection: psycopg.Connection[Any]) -> None:
    """One moment for all questions; who alters a table is not waited for long."""
    connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    connection.execute(
        "SELECT set_config('statement_timeout', %s, true), set_config('lock_timeout', %s, true),"
        " set_config('jit', 'off', true)",
        (f"{UPSTREAM_VALIDATE_S_MAX:.0f}s", f"{UPSTREAM_LOOK_LOCK_S_MAX:.0f}s"),
    )


def first_seen(connection: psycopg.Connection[Any], exports: Collection[Export]) -> dict[str, Seen]:
    """By table id: what tables begin with, in the transaction in which their rows are read."""
    view = _View.of(connection, exports)
    view.ask_columns(connection, exports)
    sights = {export.table_id: (export, view.sight(export)) for export in exports}
    return {
        id_: traces.remembered({}, sight, columns_of(export))
        for id_, (export, sight) in sights.items()
        if sight is not None
    }


def columns_of(export: Export) -> tuple[str, ...]:
    """The upstream's names of the columns that a table takes."""
    return tuple(column["name"] for column in export.details["columns"])


def _texts_of(export: Export) -> tuple[str, ...]:
    return tuple(column["name"] for column in export.details["columns"] if column["text"])


def _own_types(export: Export) -> set[int]:
    """Types of columns taken as text that users of the upstream have made."""
    columns = export.details["columns"]
    return {c["type_oid"] for c in columns if c["text"] and c["type_oid"] >= _OWN_TYPES}


def _texts(connection: psycopg.Connection[Any], exports: Iterable[Export]) -> dict[int, dict[str, list[str]]]:
    types = sorted({oid for export in exports for oid in _own_types(export)})
    found: defaultdict[int, dict[str, list[str]]] = defaultdict(dict)
    if types:
        for start, name, *text in connection.execute(_TEXTS, {"types": types, "own": _OWN_TYPES}):
            found[start][name] = text
    return dict(found)


def _identity(export: Export, sight: Sight, notes: Notes) -> str | None:
    """Changes of partitions carry the key, by the catalog of now and by what the stream said."""
    key = keyed_by(export)
    if speaks_for_itself(export) or not key:
        return None
    for part in sight.parts.values():
        lacking = tuple(name for name in key if name not in part.identity_columns)
        if part.full and part.identity == "i" and lacking:
            return switched(export.details, lacking, part.name)
    for relation in notes.relations:
        if relation.oid in sight.parts and relation.oid != export.details["oid"]:
            lacking = unsent(export, relation)
            if relation.identity == "i" and lacking:
                return switched(export.details, lacking, f"{relation.namespace}.{relation.name}")
    return None


def _brought(
    connection: psycopg.Connection[Any], new: Sequence[Part], sight: Sight, table: str
) -> str | None:
    """New partitions had no rows when they became some."""
    if not new:
        return None
    asked = connection.execute(_ORIGINS, {"oids": [part.oid for part in new]}).fetchall()
    older = {oid for oid, _, born in asked if not born}
    for oid, size, _ in asked:
        part = sight.parts[oid]
        if size and not older.isdisjoint(_path(part, sight.parts)):
            return traces.attached(part.name, table)
    return None


def _path(part: Part, parts: Mapping[int, Part]) -> list[int]:
    """The part and all that it is a part of."""
    path = [part.oid]
    while (parent := parts.get(path[-1])) is not None and parent.parent:
        path.append(parent.parent)
    return path


def _shows(snapshot: Snapshot, xid: int) -> bool:
    return bool(snapshot.shows(np.array([xid], np.int64))[0])


def _has_older(connection: psycopg.Connection[Any], part: Part, horizon: int) -> bool:
    """Whether a partition has a row of a transaction that had ended before."""
    return _has_row(connection, part, "age(xmin) > age(%s::text::xid)", horizon)


def _has_rows_of(connection: psycopg.Connection[Any], part: Part) -> bool:
    """Whether a partition has a row of the transaction that gave it its file."""
    return _has_row(connection, part, _OF, part.altered)


def _has_row(connection: psycopg.Connection[Any], part: Part, condition: str, xid: int) -> bool:
    schema_and_table = connection.execute(
        "SELECT n.nspname, c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace"
        " WHERE c.oid = %s",
        (part.oid,),
    ).fetchone()
    if schema_and_table is None:
        return False
    query = sql.SQL("SELECT EXISTS (SELECT FROM ONLY {} WHERE {})").format(
        sql.Identifier(*schema_and_table), sql.SQL(condition)
    )
    try:
        with connection.transaction():
            row = connection.execute(query, (str(xid % _WRAP),)).fetchone()
    except (psycopg.errors.QueryCanceled, psycopg.errors.InsufficientPrivilege):
        return False  # it cannot be told
    return row is not None and bool(row[0])


def _title(export: Export) -> str:
    return f"source table {export.details['table']} with oid {export.details['oid']}"
