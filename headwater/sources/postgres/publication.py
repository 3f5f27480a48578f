"""Whether a table has been published all the time: what the stream does not say.

A publication may be narrowed and widened again, a table may be taken out and put back, or be UNLOGGED for a
while.  The changes of that time are not in the stream, and nothing in it tells.  The catalog does:

    identity    the rows of the catalog by which a table is published, each as oid.xmin.  A row that is the
                same row in the same version has been there all the time; one that was altered, or dropped and
                made again, is another one.  It is pinned when the table is made.
    file        a table becomes UNLOGGED, and LOGGED again, by being written anew.  Whoever is named in a
                publication cannot; others get another file by it, as by VACUUM FULL or TRUNCATE.  These are
                told apart by what they leave behind: the same table for long values (ALTER TABLE makes
                another), rows older than the last look, or a TRUNCATE in the stream by the transaction that
                last changed the table.

A `Look` is taken after the end of what is to be read next is known, so that what it shows is as late as that.
`Published` compares it with what was pinned, and with the last look that was good.  In doubt a table ends:
changes that are missing would never be noticed again.

Not here: what a table looks like (facts.py), asking for all of it (inspect.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg

from headwater.core.errors import TransientError
from headwater.core.limits import REWRITE_CHECK_S_MAX, SNAPSHOT_YIELD_S_MAX
from headwater.sources.contract import Export
from headwater.sources.postgres.frontier import last_end, lsn_of
from headwater.sources.postgres.trouble import AGAIN

VERSION_SCHEMAS: Final = 150_000
"""Publications of schemas came with 15."""
_WRAP: Final = 2**32
_LOGGED: Final = "p"
_OF_ANCESTORS: Final = "ARN"


@dataclass(frozen=True, slots=True)
class Stored:
    """A table with rows of its own that could have been UNLOGGED: an export's, or a partition of it."""

    oid: int
    schema: str
    name: str
    persistence: str
    file: int
    toast: int  # the table of its long values; 0: it can have none
    xid: int  # of the transaction that last changed what the catalog says of it
    older: bool  # that was over when we last looked
    reshaped: bool = False  # the same transaction has changed columns of it


@dataclass(frozen=True, slots=True)
class Look:
    """What the catalog says of tables, at one moment."""

    xid: int  # transactions before this one are over
    lsn: int  # whatever it shows was written before
    via_root: bool = False
    identities: Mapping[int, frozenset[str]] = field(default_factory=dict)  # by table
    stored: Mapping[int, Sequence[Stored]] = field(default_factory=dict)  # by table

    def identity(self, oid: int) -> list[str]:
        """As a table pins it."""
        return sorted(self.identities.get(oid, ()))

    def unlogged(self, oid: int) -> bool:
        """Whether some rows of the table are not logged now."""
        return any(stored.persistence != _LOGGED for stored in self.stored.get(oid, ()))

    def files(self, oid: int) -> tuple[int, int] | None:
        """The table's own file and that of its long values, if it could be UNLOGGED."""
        found = (stored for stored in self.stored.get(oid, ()) if stored.oid == oid)
        return next(((stored.file, stored.toast) for stored in found), None)


# One statement, since it is asked with every tick: one way to the server and back, one moment of the catalog.
# Rows of it, by the letter they begin with: p the publication; r, n the table or its schema is named in it;
# R, N that of a table above it; A its place below that.  A table that is named cannot become UNLOGGED.
_LOOK: Final = """
    WITH RECURSIVE pub AS (
        SELECT oid, xmin, pubviaroot, puballtables AND NOT pubviaroot AS each
        FROM pg_publication WHERE pubname = %(publication)s
    ), wanted AS (
        SELECT t AS oid FROM unnest(%(oids)s::oid[]) AS t
    ), above (oid, rel, link) AS (
        SELECT oid, oid, NULL FROM wanted
        UNION ALL
        SELECT above.oid, i.inhparent, format('A%%s.%%s.%%s', i.inhrelid, i.inhparent, i.xmin)
        FROM above JOIN pg_inherits AS i ON i.inhrelid = above.rel
        JOIN pg_class AS c ON c.oid = i.inhrelid AND c.relispartition
        WHERE NOT (SELECT each FROM pub)
    ), identity (oid, part) AS (
        SELECT wanted.oid, format('p%%s.%%s', pub.oid, pub.xmin) FROM wanted, pub
        UNION ALL SELECT oid, link FROM above WHERE link IS NOT NULL
        UNION ALL
        SELECT above.oid,
            format('%%s%%s.%%s', CASE WHEN above.oid = above.rel THEN 'r' ELSE 'R' END, m.oid, m.xmin)
        FROM pub JOIN pg_publication_rel AS m ON m.prpubid = pub.oid JOIN above ON above.rel = m.prrelid
        {by_schema}
    ), below (oid, rel) AS (
        SELECT oid, oid FROM wanted
        UNION ALL
        SELECT below.oid, i.inhrelid
        FROM below JOIN pg_inherits AS i ON i.inhparent = below.rel
        JOIN pg_class AS c ON c.oid = i.inhrelid AND c.relispartition
    ), stored AS (
        SELECT below.oid AS root, c.oid, n.nspname, c.relname, c.relpersistence, c.relfilenode,
            c.reltoastrelid, c.xmin, coalesce(age(c.xmin) > age(%(since)s::text::xid), true) AS older,
            EXISTS (
                SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attnum > 0 AND a.xmin = c.xmin
            ) AS reshaped
        FROM below JOIN pg_class AS c ON c.oid = below.rel AND c.relkind = 'r'
        JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE NOT EXISTS (
            SELECT FROM pub JOIN pg_publication_rel AS m ON m.prpubid = pub.oid WHERE m.prrelid = c.oid
        )
    )
    SELECT pg_snapshot_xmin(pg_current_snapshot())::text,
        (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
              ELSE pg_current_wal_insert_lsn() END)::text,
        coalesce((SELECT pubviaroot FROM pub), false),
        (SELECT json_agg(json_build_array(oid::int8, part)) FROM identity),
        (SELECT json_agg(json_build_array(root::int8, oid::int8, nspname, relname, relpersistence,
            relfilenode::int8, reltoastrelid::int8, xmin::text::int8, older, reshaped)) FROM stored)
"""
_BY_SCHEMA: Final = """
        UNION ALL
        SELECT above.oid,
            format('%%s%%s.%%s', CASE WHEN above.oid = above.rel THEN 'n' ELSE 'N' END, m.oid, m.xmin)
        FROM pub JOIN pg_publication_namespace AS m ON m.pnpubid = pub.oid
        JOIN pg_class AS c ON c.relnamespace = m.pnnspid JOIN above ON above.rel = c.oid
"""


def look(
    connection: psycopg.Connection[Any], publication: str, oids: Iterable[int], since: int | None = None
) -> Look:
    """How tables are published now; `since`: the transaction of an earlier look."""
    by_schema = connection.info.server_version >= VERSION_SCHEMAS
    row = connection.execute(
        _LOOK.format(by_schema=_BY_SCHEMA if by_schema else "").encode(),
        {
            "publication": publication,
            "oids": list(oids),
            "since": None if since is None else str(since % _WRAP),
        },
    ).fetchone()
    if row is None:
        raise TransientError("postgres: the server told nothing about its catalog", AGAIN)
    xid, lsn, via_root, identity, listed = row
    identities: dict[int, set[str]] = {}
    for oid, part in identity or ():
        identities.setdefault(oid, set()).add(part)
    stored: dict[int, list[Stored]] = {}
    for oid, *facts in listed or ():
        stored.setdefault(oid, []).append(Stored(*facts))
    frozen = {oid: frozenset(parts) for oid, parts in identities.items()}
    return Look(int(xid), last_end(lsn_of(lsn)), via_root, frozen, stored)


_RESHAPED: Final = """
    SELECT coalesce(bool_or(xmin = '{xid}'::xid), true) FROM (SELECT xmin FROM ONLY {name} LIMIT 1000) AS f
"""


def has_older_rows(connection: psycopg.Connection[Any], stored: Stored, since: int) -> bool:
    """Whether the table has a row from before we last looked: then it was not written anew by ALTER TABLE.

    VACUUM FULL and CLUSTER keep the transactions of rows.  Nor has it become LOGGED if it was written anew
    for the sake of its columns: its rows are then of the transaction that changed these.  False also when the
    rows may not be seen, or there are too many to find one within the statement's time.
    """
    name = ".".join('"' + part.replace('"', '""') + '"' for part in (stored.schema, stored.name))
    query = f"SELECT EXISTS (SELECT FROM ONLY {name} WHERE age(xmin) > age('{since % _WRAP}'::xid))"
    try:
        with connection.transaction():
            connection.execute(f"SET LOCAL lock_timeout = '{SNAPSHOT_YIELD_S_MAX}s'")
            connection.execute(f"SET LOCAL statement_timeout = '{REWRITE_CHECK_S_MAX}s'")
            row = connection.execute(query.encode()).fetchone()
            if stored.reshaped and row is not None and not row[0]:
                row = connection.execute(_RESHAPED.format(name=name, xid=stored.xid).encode()).fetchone()
    except psycopg.errors.LockNotAvailable as error:
        raise TransientError(
            f"postgres: table {stored.schema}.{stored.name} was rewritten, and is locked",
            hint="A statement upstream holds a lock on the table; see pg_locks there.",
        ) from error
    except psycopg.OperationalError:
        if connection.closed:
            raise
        return False
    except psycopg.Error:
        return False
    return row is not None and bool(row[0])


def interrupted(pinned: Sequence[str], oid: int, now: Look, publication: str) -> str | None:
    """Why some changes of a table with this pinned identity may not have been published; None: all were."""
    was, is_ = frozenset(pinned), now.identities.get(oid, frozenset())
    if not {part for part in was if part[0] == "p"} <= is_:
        return f'publication "{publication}" was altered{_MISSING}'
    # What comes above a table takes it out of its place, if a publication publishes roots.
    risen = {part for part in is_ - was if part[0] in _OF_ANCESTORS} if now.via_root else set()
    if was <= is_ and not risen:
        return None
    return f'table was taken out of publication "{publication}" and added again{_MISSING}'


_MISSING: Final = ", so that changes may be missing; create the table again"
UNLOGGED: Final = f"table is or was UNLOGGED{_MISSING}"
REWRITTEN: Final = f"table was rewritten and may have been UNLOGGED meanwhile{_MISSING}"


class Published:
    """The last good look, and what it takes for the next one to be good."""

    def __init__(self, publication: str, since: int | None, recent: tuple[tuple[int, int], ...] = ()) -> None:
        self.since = since  # transactions before this one were over when all was well
        self.recent = recent  # (table, file) that came later than that, and were good: a transaction was open
        self._publication = publication
        # By table: file and toast at the last good look.
        self._files: dict[int, tuple[int, int]] = {oid: (file, 0) for oid, file in recent}
        self._first: dict[str, Sequence[str]] = {}  # identities of exports that have pinned none
        self._doubted: dict[tuple[int, int], int] = {}  # by table and file: where the log was then

    def judge(
        self,
        exports: Iterable[Export],
        now: Look,
        received: int,
        truncated: Mapping[int, int],
        older_rows: Callable[[Stored, int], bool],
    ) -> dict[str, str]:
        """By table id: why changes may be missing.

        `received`: how much of the stream has arrived; `truncated`: by table, who truncated it last in that.
        Nobody is judged for a file before what explains it could have arrived.
        """
        errors: dict[str, str] = {}
        waiting = False
        for export in exports:
            details = export.details
            pinned = details.get("published") or self._first.setdefault(
                export.table_id, now.identity(details["oid"])
            )
            message = interrupted(pinned, details["oid"], now, self._publication)
            for stored in () if message else now.stored.get(details["oid"], ()):
                if stored.persistence != _LOGGED:
                    message = UNLOGGED
                elif not self._explained(export, stored, truncated, older_rows):
                    since_lsn = self._doubted.setdefault((stored.oid, stored.file), now.lsn)
                    if received >= since_lsn:
                        message = REWRITTEN
                    else:
                        waiting = True
            if message is not None:
                errors[export.table_id] = message
        if not waiting:
            self.since = now.xid
            listed = [stored for found in now.stored.values() for stored in found]
            later = {
                stored.oid: stored.file for stored in listed if (stored.xid - now.xid) % _WRAP < _WRAP // 2
            }
            self.recent = tuple(sorted(later.items()))
            self._files = {stored.oid: (stored.file, stored.toast) for stored in listed}
            self._doubted.clear()
        return errors

    def _explained(
        self,
        export: Export,
        stored: Stored,
        truncated: Mapping[int, int],
        older_rows: Callable[[Stored, int], bool],
    ) -> bool:
        """Whether it is sure that the table has been LOGGED since the last good look."""
        if self.since is None or stored.older:
            return True
        nothing = (0, 0)
        of_table = stored.oid == export.details["oid"]
        known = (
            self._files.get(stored.oid, nothing),
            (of_table and export.details.get("files")) or nothing,
            (stored.oid, 0),  # a table's first file has its own number
        )
        if any(stored.file == file or (toast and stored.toast == toast) for file, toast in known):
            return True
        by = {truncated.get(stored.oid), truncated.get(export.details["oid"])}
        return stored.xid in by or older_rows(stored, self.since)
