"""Looking at what the stream does not tell of, once for each stretch of the stream.

    look  ->  where the stretch ends  ->  judge  ->  read it  ->  its binding is kept, with what was seen

A stretch ends where the look does: everything in it shows, and nothing that the look could not have
shown is in it.  A table of which the look shows something that cannot be followed is read again from
there on; at most a little too early, and never with wrong rows.

What is no harm: a partition that is made as one (PARTITION OF), or attached with nothing in it;
TRUNCATE of the whole, which the stream has; VACUUM FULL, CLUSTER and other ways of writing the same
rows anew, if that shows.

A few queries for all tables and their partitions at each look, another for their columns now and
then, or when a table takes texts, got another file, or was described anew by the stream.  Where columns
were altered, or a table is gone, all that was pinned is compared before anything more of it is shown.

Not here: what is compared and how (seen.py), the stream (reader.py).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import psycopg
from psycopg import sql

from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.limits import REFERENCE_CHECK_S, UPSTREAM_LOOK_LOCK_S_MAX, UPSTREAM_VALIDATE_S_MAX
from headwater.sources.contract import Export
from headwater.sources.postgres import seen as traces
from headwater.sources.postgres.facts import Doubt, judged
from headwater.sources.postgres.frontier import last_end, lsn_of
from headwater.sources.postgres.identity import keyed_by, speaks_for_itself, switched, unsent
from headwater.sources.postgres.pgoutput import RelationMessage
from headwater.sources.postgres.publication import Published, interrupted, published
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

# A table that a publication names cannot become UNLOGGED.
_PARTS: Final = f"""{TREE}
    SELECT tree.root::int8, c.oid::int8, tree.parent::int8, format('%%I.%%I', n.nspname, c.relname),
        c.relkind::text, tree.member, c.relfilenode::int8, c.xmin::text::int8, c.cmin::text::int8,
        c.relreplident::text, ARRAY(
            SELECT a.attname::text FROM pg_index AS x JOIN pg_attribute AS a
            ON a.attrelid = c.oid AND a.attnum = ANY((x.indkey::int2[])[0:x.indnkeyatts - 1])
            WHERE c.relreplident = 'i' AND x.indrelid = c.oid AND x.indisreplident
        ), c.reltoastrelid::int8, c.relpersistence::text, EXISTS (
            SELECT FROM pg_publication_rel AS m JOIN pg_publication AS p ON p.oid = m.prpubid
            WHERE m.prrelid = c.oid AND p.pubname = %(publication)s
        )
    FROM tree JOIN pg_class AS c ON c.oid = tree.oid JOIN pg_namespace AS n ON n.oid = c.relnamespace
    ORDER BY c.oid
"""
"""Ordered, so that of several partitions the same one is named each time."""

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
    ORDER BY a.attrelid, a.attnum
"""

# Whether anything in the columns of a table was written, whether it is called otherwise, has other keys.
_SHAPES: Final = """
    SELECT c.oid::int8, concat_ws(' ', quote_ident(n.nspname), quote_ident(c.relname), (
            SELECT sum(hashint8extended(a.xmin::text::int8, a.attnum::int8))
            FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attnum > 0
        ), (
            SELECT sum(hashint8extended(i.indexrelid::int8, i.xmin::text::int8))
            FROM pg_index AS i WHERE i.indrelid = c.oid AND i.indisunique
        ))
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.oid = ANY(%(oids)s::oid[])
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
    truncations: frozenset[tuple[int, int]] = frozenset()  # (table, transaction), of all that has arrived
    written: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    """By table that was truncated: by transaction, how many rows it has brought to it since."""
    parts: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """By (table, partition) of which changes came: the transaction that brought the first."""
    transactions: frozenset[int] = frozenset()

    def truncating(self, oid: int) -> frozenset[int]:
        """The transactions that have truncated a table."""
        return frozenset(xid for table, xid in self.truncations if table == oid)

    def refilled(self, oid: int) -> int | None:
        """The transaction that truncated a table and wrote to it."""
        return next((xid for xid in self.written.get(oid, {}) if (oid, xid) in self.truncations), None)


@dataclass(slots=True)
class Looked:
    """What came of a look."""

    until: int  # nothing that it shows is later in the log
    doubts: dict[str, Doubt]  # by table id: why it cannot go on
    kept: dict[str, Seen]  # what is to be kept of the others, where that is something else
    shapes: dict[int, str]  # by table: another one if it was renamed, or a column or key of it altered
    early: bool = False  # the stream may still have an explanation for one of the doubts


@dataclass(slots=True)
class Watch:
    """What is remembered between two looks beside what is kept; all of it may be lost."""

    publication: str
    columns_s: float = float("-inf")  # when columns were last asked for
    horizons: dict[str, int] = field(default_factory=dict)  # by table here: the last look's
    shapes: dict[int, str] = field(default_factory=dict)  # of tables that are known to be what was pinned

    def reshaped(self, looked: Looked, export: Export) -> bool:
        """Whether it must be compared with what was pinned: altered or gone, if only perhaps."""
        oid = export.pinned.reference["oid"]
        return oid not in looked.shapes or self.shapes.get(oid) != looked.shapes[oid]

    def look(
        self,
        connection: psycopg.Connection[Any],
        exports: Collection[Export],
        seen: Mapping[str, Seen],
        stretch: Callable[[Snapshot, int], Notes],
    ) -> Looked:
        """`stretch` is told what shows and where the log ends, and says what comes up to there."""
        with connection.transaction():
            begin(connection)
            view = _View.of(connection, self.publication, exports)
            notes = stretch(view.snapshot, view.until)
            now_s = SYSTEM_CLOCK.monotonic_s()
            due = now_s > self.columns_s + REFERENCE_CHECK_S
            asked = exports if due else [e for e in exports if view.doubtful(e, seen, notes)]
            if due:
                self.columns_s = now_s
            view.ask_columns(connection, asked)
            looked = Looked(view.until, {}, {}, view.shapes)
            for export in exports:
                id_, sight = export.table_id, view.sight(export)
                if sight is None:
                    continue  # it was dropped, or is not to be seen yet: not ours to say
                before = seen.get(id_, {})
                judging = _Judging(connection, export, before, sight, notes, self.horizons.get(id_, 0))
                doubt = judged(export, partial(judging.doubt, view.published, self.publication))
                if doubt is not None:
                    looked.doubts[id_] = doubt
                    looked.early |= judging.early
                else:
                    after = traces.remembered(before, sight, columns_of(export))
                    if after != before:
                        looked.kept[id_] = after
                    # Not of one in doubt: it may be looked at again, with rows that are older by then.
                    self.horizons[id_] = sight.horizon
        return looked


@dataclass(slots=True)
class _Judging:
    """One table at one look."""

    connection: psycopg.Connection[Any]
    export: Export
    seen: Seen
    sight: Sight
    notes: Notes
    horizon: int  # of the look before, if that is known
    early: bool = False

    def doubt(self, now: Published, publication: str) -> Doubt | None:
        """Why it cannot go on as it is."""
        oid = self.export.pinned.reference["oid"]
        before = self.seen.get("published")
        why = None if before is None else interrupted(before, oid, now, publication)
        why = why or self._beside()
        if why is not None:
            return Doubt(why)
        switched_to = _identity(self.export, self.sight, self.notes)
        return None if switched_to is None else Doubt(switched_to, heals=False)

    def _beside(self) -> str | None:
        """What has become of rows without a change in the stream."""
        seen, sight, table = self.seen, self.sight, _title(self.export)
        found = traces.differences(seen, sight.parts)
        for part in found.gone:
            return traces.left(part, table)
        for part in found.again:
            return traces.left(part, table, again=True)
        written = traces.rewritten(
            seen, sight, sight.parts[self.export.pinned.reference["oid"]], columns_of(self.export)
        )
        if found.refiled and written:
            return traces.changed_in_place(written, table)
        renamed = self._renamed_between()
        if renamed:
            return traces.renamed_between(renamed, table)
        other = traces.retyped(seen, sight, _texts_of(self.export))
        if other:
            return traces.printed_otherwise(other, table)
        words = traces.reworded(seen, sight)
        if words is not None:
            return traces.named_otherwise(*words, table)
        if not speaks_for_itself(self.export):  # of others the stream has all truncations
            why = self._of_partitions(found) or self._emptied(found)
            if why is not None:
                return why
        return self._unlogged(found)

    def _renamed_between(self) -> tuple[str, ...]:
        """Columns that may have had each other's names, or one that is not taken, while rows were written.

        The stream has values by the names of then.  If these are in the order of now, nothing was exchanged.
        """
        oid, columns = self.export.pinned.reference["oid"], self.sight.columns
        if columns is None:
            return ()
        told = [relation for relation in self.notes.relations if relation.oid == oid]
        if all(_in_order([column.name for column in relation.columns], columns) for relation in told):
            return ()
        taken = columns_of(self.export)
        before = {name: self.seen.get(f"column:{name}") for name in taken}
        return tuple(
            name
            for name in taken
            if name in columns and (was := before[name]) is not None and was[1] != columns[name].written
        )

    def _unlogged(self, found: Differences) -> str | None:
        """Whether changes may not have been logged, of tables that no publication names."""
        table = _title(self.export)
        for part in self.sight.parts.values():
            if part.full and part.persistence != traces.LOGGED:
                return traces.unlogged(part.name, table, now=True)
        for part in found.refiled:
            if part.full and not part.named and not self._was_logged(part):
                self.early = True
                return traces.unlogged(part.name, table, now=False)
        return None

    def _was_logged(self, part: Part) -> bool:
        """Whether it is sure that a part with another file was not written anew by ALTER TABLE.

        VACUUM FULL, CLUSTER and TRUNCATE leave the table for long values as it is.  VACUUM FULL and CLUSTER
        also leave rows their transactions; TRUNCATE leaves none, and is in the stream.
        """
        if traces.same_toast(self.seen, part) or self._has_older(part):
            return True
        return part.altered in self._said() and self._all_there(part.altered)

    def _all_there(self, xid: int) -> bool:
        """Whether the table has just those rows of a transaction, which truncated it, that the stream has.

        Only sure if nobody else has written to it since.
        """
        oid = self.export.pinned.reference["oid"]
        written = self.notes.written.get(oid, {})
        if xid in written and len(written) > 1:
            return False
        return _count_rows(self.connection, self.sight.parts[oid], xid) == written.get(xid, 0)

    def _of_partitions(self, found: Differences) -> str | None:
        """Partitions that came: without rows, and to stay."""
        table, oid = _title(self.export), self.export.pinned.reference["oid"]
        known = self.sight.parts.keys()
        if any(root == oid and leaf not in known for root, leaf in self.notes.parts):
            return traces.passed_by(table)
        refilled = self.notes.refilled(oid)
        if refilled is not None and not self._all_there(refilled):
            return traces.emptied_within(table)
        brought = _brought(self.connection, found.new, self.sight, table)
        within = [part.name for part in found.new if self._made_within(part)]
        return brought or (traces.made_within(within[0], table) if within else None)

    def _made_within(self, part: Part) -> bool:
        """Whether a partition may have been made by a transaction that wrote to it, if only in a savepoint.

        A savepoint has a number of its own, later than that of its transaction; the stream does not have it.
        """
        first = self.notes.parts.get((self.export.pinned.reference["oid"], part.oid))
        earlier = first is not None and 0 < (part.member - first) % _WRAP < _WRAP // 2
        return earlier or part.member in self.notes.transactions

    def _emptied(self, found: Differences) -> str | None:
        """Partitions with other files have their rows, or the stream says that all are gone."""
        touched = tuple(part for part in found.new if not part.untouched())
        writer = traces.emptied_by(self.seen, found.refiled, touched)
        said = self._said()
        if writer in said:
            return None
        for part in (*found.refiled, *touched):
            if part.altered in said:
                continue
            if traces.altered_columns(self.sight, part) and (
                _has_row(self.connection, part, _OF, part.altered)
                or (writer is not None and traces.defaulted(self.sight, part))
            ):
                continue  # written anew for the sake of its columns
            if part in touched or not self._has_older(part):
                self.early = True
                return traces.truncated(part.name, _title(self.export))
        return None

    def _said(self) -> frozenset[int]:
        return self.notes.truncating(self.export.pinned.reference["oid"])

    def _has_older(self, part: Part) -> bool:
        """Whether a part has a row of a transaction that had ended when its former file was there."""
        horizon = max(traces.horizon_of(self.seen, part), self.horizon)
        return bool(_has_row(self.connection, part, "age(xmin) > age(%s::text::xid)", horizon))


@dataclass(slots=True)
class _View:
    """What one look shows of all tables."""

    snapshot: Snapshot
    until: int  # nothing that it shows is later in the log
    published: Published
    parts: dict[int, dict[int, Part]]  # by table
    texts: dict[int, dict[str, list[str]]]  # by type
    shapes: dict[int, str]  # by table
    columns: dict[int, dict[str, ColumnSight]] = field(default_factory=dict)  # by table

    @staticmethod
    def of(connection: psycopg.Connection[Any], publication: str, exports: Collection[Export]) -> _View:
        (row,) = connection.execute(_NOW).fetchall()
        parts: defaultdict[int, dict[int, Part]] = defaultdict(dict)
        oids = sorted({export.pinned.reference["oid"] for export in exports})
        for root, oid, *facts in connection.execute(_PARTS, {"oids": oids, "publication": publication}):
            parts[root][oid] = Part(oid, *facts)
        return _View(
            Snapshot.from_text(row[0]),
            last_end(lsn_of(row[1])),
            published(connection, publication, oids),
            dict(parts),
            _texts(connection, exports),
            dict(connection.execute(_SHAPES, {"oids": oids}).fetchall()),
        )

    def doubtful(self, export: Export, seen: Mapping[str, Seen], notes: Notes) -> bool:
        """Whether the columns of a table must be asked for at this look."""
        oid, before = export.pinned.reference["oid"], seen.get(export.table_id, {})
        if _texts_of(export):
            return True  # another type may print the same file otherwise
        if any(f"column:{name}" not in before for name in columns_of(export)):
            return True
        if any(relation.oid == oid for relation in notes.relations):
            return True
        return bool(traces.differences(before, self.parts.get(oid, {})).refiled)

    def ask_columns(self, connection: psycopg.Connection[Any], exports: Iterable[Export]) -> None:
        oids = sorted({export.pinned.reference["oid"] for export in exports})
        if not oids:
            return
        self.columns = {oid: {} for oid in oids}
        for oid, name, *facts in connection.execute(_COLUMNS, {"oids": oids}):
            self.columns[oid][name] = ColumnSight(*facts)

    def sight(self, export: Export) -> Sight | None:
        oid = export.pinned.reference["oid"]
        parts = self.parts.get(oid)
        if parts is None:
            return None
        texts: dict[str, list[str]] = {}
        for type_oid in _own_types(export):
            texts |= self.texts.get(type_oid, {})
        return Sight(parts, self.columns.get(oid), texts, self.snapshot.xmin, self.published.identity(oid))


def _in_order(names: Iterable[str], there: Iterable[str]) -> bool:
    """Whether all names are there, one after the other."""
    rest = iter(there)
    return all(name in rest for name in names)


def begin(connection: psycopg.Connection[Any]) -> None:
    """One moment for all questions; who alters a table is not waited for long."""
    connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    connection.execute(
        "SELECT set_config('statement_timeout', %s, true), set_config('lock_timeout', %s, true),"
        " set_config('jit', 'off', true)",
        (f"{UPSTREAM_VALIDATE_S_MAX:.0f}s", f"{UPSTREAM_LOOK_LOCK_S_MAX:.0f}s"),
    )


def first_seen(
    connection: psycopg.Connection[Any], publication: str, exports: Collection[Export]
) -> dict[str, Seen]:
    """By table id: what tables begin with, in the transaction in which their rows are read."""
    view = _View.of(connection, publication, exports)
    view.ask_columns(connection, exports)
    sights = {export.table_id: (export, view.sight(export)) for export in exports}
    return {
        id_: traces.remembered({}, sight, columns_of(export))
        for id_, (export, sight) in sights.items()
        if sight is not None
    }


def columns_of(export: Export) -> tuple[str, ...]:
    """The upstream's names of the columns that a table takes."""
    return tuple(column["name"] for column in export.pinned.columns)


def _texts_of(export: Export) -> tuple[str, ...]:
    return tuple(column["name"] for column in export.pinned.columns if column["text"])


def _own_types(export: Export) -> set[int]:
    """Types of columns taken as text that users of the upstream have made."""
    columns = export.pinned.columns
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
            return switched(export.pinned, lacking, part.name)
    for relation in notes.relations:
        if relation.oid in sight.parts and relation.oid != export.pinned.reference["oid"]:
            lacking = unsent(export, relation)
            if relation.identity == "i" and lacking:
                return switched(export.pinned, lacking, f"{relation.namespace}.{relation.name}")
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


def _has_row(connection: psycopg.Connection[Any], part: Part, condition: str, xid: int) -> bool | None:
    """Whether a part has such a row of its own; None: that cannot be told."""
    found = _asked(connection, part, "SELECT EXISTS (SELECT FROM ONLY {} WHERE " + condition + ")", xid)
    return None if found is None else bool(found)


def _asked(connection: psycopg.Connection[Any], part: Part, query: str, xid: int) -> Any:
    """What a table says; None: it cannot be asked, or not in time."""
    schema_and_table = connection.execute(
        "SELECT n.nspname, c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace"
        " WHERE c.oid = %s",
        (part.oid,),
    ).fetchone()
    if schema_and_table is None:
        return None
    text = sql.SQL(query).format(sql.Identifier(*schema_and_table))
    try:
        with connection.transaction():
            row = connection.execute(text, (str(xid % _WRAP),)).fetchone()
    except (
        psycopg.errors.QueryCanceled,
        psycopg.errors.InsufficientPrivilege,
        psycopg.errors.LockNotAvailable,
    ):
        return None
    return None if row is None else row[0]


def _count_rows(connection: psycopg.Connection[Any], part: Part, xid: int) -> int | None:
    """How many rows of a transaction a table has, with its partitions; None: that cannot be told."""
    found: int | None = _asked(connection, part, "SELECT count(*) FROM {} WHERE " + _OF, xid)
    return found


def _title(export: Export) -> str:
    return f"source table {export.pinned.reference['table']} with oid {export.pinned.reference['oid']}"
