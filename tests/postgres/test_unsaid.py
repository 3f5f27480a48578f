"""What an upstream does to rows without a word in the stream is noticed: the table is read again.

Method: one reader over many tables of a real PostgreSQL, without the engine: each table is seen as by its
snapshot, has one thing done to it, and is looked at after the stream has come to its end.  Then a server: a
table of each kind, also while the cluster is down.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from headwater.core.errors import DefiniteError
from headwater.sources.contract import Export
from headwater.sources.postgres import reader as reader_module
from headwater.sources.postgres.decode import read
from headwater.sources.postgres.frontier import LsnFrontier, last_end, lsn_of
from headwater.sources.postgres.inspect import examine, pin
from headwater.sources.postgres.reader import PostgresReader
from headwater.sources.postgres.snapshot import PostgresPoint
from tests.postgres.asking import no_secrets
from tests.support.database import Database
from tests.support.following import following
from tests.support.server import HeadwaterServer, alive, eventually

PARTS = (
    "CREATE TABLE {t} (id int PRIMARY KEY, a int NOT NULL) PARTITION BY RANGE (id)",
    "CREATE TABLE {t}_low PARTITION OF {t} FOR VALUES FROM (0) TO (10)",
    "CREATE TABLE {t}_high PARTITION OF {t} FOR VALUES FROM (10) TO (20)",
    "CREATE TABLE {t}_sub PARTITION OF {t} FOR VALUES FROM (20) TO (40) PARTITION BY RANGE (id)",
    "CREATE TABLE {t}_subleaf PARTITION OF {t}_sub FOR VALUES FROM (20) TO (30)",
    "INSERT INTO {t} SELECT g, g FROM generate_series(1, 29) AS g",
)
PLAIN = (
    "CREATE TYPE {t}_mood AS ENUM ('sad', 'glad')",
    "CREATE TYPE {t}_pair AS (x int, y {t}_mood)",
    "CREATE DOMAIN {t}_name AS varchar(9)",
    "CREATE TABLE {t} (id int PRIMARY KEY, n int NOT NULL UNIQUE, c int, s varchar(9), m {t}_mood,"
    " p {t}_pair[], untaken int)",
    "INSERT INTO {t} SELECT g, g, g, g, 'sad', ARRAY[(g, 'sad')::{t}_pair], g"
    " FROM generate_series(1, 9) AS g",
    "ALTER TABLE {t} ADD lacking int DEFAULT 7",
)
KEYLESS = (
    "CREATE TABLE {t} (id int, c int)",
    "ALTER TABLE {t} REPLICA IDENTITY FULL",
    "INSERT INTO {t} SELECT g, g FROM generate_series(1, 9) AS g",
)
FILLED = (
    "CREATE TABLE {t} (id int PRIMARY KEY)",
    "INSERT INTO {t} SELECT g FROM generate_series(1, 9) AS g",
    "ALTER TABLE {t} ADD lacking int DEFAULT 7",
)
NO_DEFAULT = (*FILLED, "ALTER TABLE {t} ALTER lacking DROP DEFAULT")
COLUMNS: dict[tuple[str, ...], tuple[tuple[str, ...], tuple[str, ...]]] = {
    PLAIN: (("c", "s", "m", "p"), ("untaken",)),
    KEYLESS: (("c",), ()),
    FILLED: ((), ()),
    NO_DEFAULT: ((), ()),
    PARTS: ((), ()),
}
"""TEXT and EXCLUDE COLUMNS."""

ATTACH = "ALTER TABLE {t} ATTACH PARTITION {t}_new FOR VALUES FROM (50) TO (60)"
CREATE = "CREATE TABLE {t}_new PARTITION OF {t} FOR VALUES FROM (50) TO (60)"
LIKE = "CREATE TABLE {t}_new (LIKE {t} INCLUDING ALL)"

SWAP = "ALTER TABLE {t} RENAME c TO x; ALTER TABLE {t} RENAME n TO c; ALTER TABLE {t} RENAME x TO n"
SWAP_UNTAKEN = (
    "ALTER TABLE {t} RENAME c TO x; ALTER TABLE {t} RENAME untaken TO c; ALTER TABLE {t} RENAME x TO untaken"
)

HARMLESS: list[tuple[tuple[str, ...], str]] = [
    (PLAIN, f"{SWAP}; {SWAP}; INSERT INTO {{t}} (id, n, c) VALUES (77, 1001, 2002)"),
    (
        PLAIN,
        "ALTER TABLE {t} RENAME untaken TO x; INSERT INTO {t} (id, n, x) VALUES (77, 1001, 2002);"
        " ALTER TABLE {t} RENAME x TO untaken",
    ),
    (PLAIN, "GRANT SELECT (c) ON {t} TO public; INSERT INTO {t} (id, n, c) VALUES (77, 1001, 2002)"),
    (PARTS, f"{CREATE}; INSERT INTO {{t}} VALUES (55, 5)"),
    (PARTS, f"{CREATE}; GRANT SELECT ON {{t}}_new TO public; ALTER TABLE {{t}} ALTER a SET DEFAULT 5"),
    (PARTS, f"{LIKE}; {ATTACH}"),
    (PARTS, f"BEGIN; {LIKE}; {ATTACH}; COMMIT"),
    (PARTS, f"{LIKE}; INSERT INTO {{t}}_new VALUES (55, 5); TRUNCATE {{t}}_new; {ATTACH}"),
    (
        PARTS,
        f"{CREATE} PARTITION BY RANGE (id); CREATE TABLE {{t}}_newer PARTITION OF {{t}}_new DEFAULT;"
        " INSERT INTO {t} VALUES (55, 5)",
    ),
    (PARTS, "TRUNCATE {t}; INSERT INTO {t} VALUES (5, 5)"),
    (PARTS, "TRUNCATE {t}; INSERT INTO {t} VALUES (5, 5); TRUNCATE {t}"),
    (PARTS, f"{CREATE}; INSERT INTO {{t}} VALUES (55, 5); TRUNCATE {{t}}; INSERT INTO {{t}} VALUES (56, 6)"),
    (PARTS, "TRUNCATE {t}_low; TRUNCATE {t}"),
    (PARTS, "VACUUM FULL {t}; UPDATE {t} SET a = a + 1 WHERE id % 9 > 0"),
    (PARTS, "CLUSTER {t}_low USING {t}_low_pkey; DELETE FROM {t} WHERE id < 5"),
    (PLAIN, "BEGIN; TRUNCATE {t}; INSERT INTO {t} VALUES (10, 10); COMMIT"),
    *(
        (made, "BEGIN; TRUNCATE {t}; INSERT INTO {t} VALUES (10), (11), (12); COMMIT")
        for made in (KEYLESS, FILLED)
    ),
    (
        PARTS,
        "BEGIN; TRUNCATE {t}; INSERT INTO {t} SELECT g, g FROM generate_series(1, 29) AS g;"
        " UPDATE {t} SET id = 0 WHERE id = 15; DELETE FROM {t} WHERE id = 16; COMMIT",
    ),
    (PARTS, "ALTER TABLE {t}_low REPLICA IDENTITY FULL; UPDATE {t} SET id = 0 WHERE id = 1"),
    (PARTS, "ALTER TABLE {t}_low RENAME TO {t}_lower; INSERT INTO {t} VALUES (0, 0)"),
    (PLAIN, "VACUUM FULL {t}; ALTER TABLE {t} ALTER untaken SET DEFAULT 5; INSERT INTO {t} VALUES (10, 10)"),
    (PLAIN, "VACUUM FULL {t}; UPDATE {t} SET c = 5"),
    (PLAIN, "TRUNCATE {t}; INSERT INTO {t} VALUES (10, 10)"),
    (PLAIN, "ALTER TABLE {t} ALTER s TYPE text; ALTER TABLE {t} ALTER c SET DEFAULT 7"),
    (PLAIN, "ALTER TABLE {t} ALTER s TYPE {t}_name; UPDATE {t} SET s = 'x'"),
    (PLAIN, "ALTER TYPE {t}_mood ADD VALUE 'mad' BEFORE 'glad'"),
    (PLAIN, "ALTER TABLE {t} REPLICA IDENTITY FULL; UPDATE {t} SET id = -id; DELETE FROM {t} WHERE n = 1"),
    (
        PLAIN,
        "ALTER TABLE {t} REPLICA IDENTITY USING INDEX {t}_n_key; INSERT INTO {t} VALUES (10, 10);"
        " ALTER TABLE {t} REPLICA IDENTITY DEFAULT; UPDATE {t} SET id = -id",
    ),
    (KEYLESS, "VACUUM FULL {t}; DELETE FROM {t} WHERE id < 5"),
    (NO_DEFAULT, "VACUUM FULL {t}; UPDATE {t} SET lacking = 8 WHERE id = 1"),
    (FILLED, "VACUUM FULL {t}; ALTER TABLE {t} SET (fillfactor = 70); TRUNCATE {t}"),
    (KEYLESS, "ALTER TABLE {t} ADD more int DEFAULT 5; VACUUM FULL {t}"),
]

SWITCHED = "The replica identity of {of} with oid {oid} was switched and no longer has id"
EMPTIED = "partition public.{t}_low of source table {t} with oid {oid} was truncated on its own"
LEFT = "partition public.{t}_low of source table {t} with oid {oid} was detached or dropped"
BROUGHT = "partition public.{t}_new, which may have had rows, was attached to source table {t}"
WRITTEN = "in source table {t} with oid {oid} were written anew"
WITHIN = "was truncated and written to by one transaction"
MADE_WITHIN = "was made and written to by one transaction"
RENAMED = "columns of source table {t} with oid {oid} were renamed and named back while rows were written"
UNLOGGED = "was rewritten and may have been UNLOGGED"
FINAL = ("was switched", "has been altered")
"""What reading a table again does not fix."""

NOTICED: list[tuple[tuple[str, ...], str, str]] = [
    (PLAIN, f"BEGIN; {SWAP}; INSERT INTO {{t}} (id, n, c) VALUES (77, 1001, 2002); {SWAP}; COMMIT", RENAMED),
    (PLAIN, f"{SWAP}; UPDATE {{t}} SET n = n + 1000; {SWAP}", RENAMED),
    (PLAIN, f"{SWAP_UNTAKEN}; UPDATE {{t}} SET c = c + 1; {SWAP_UNTAKEN}", RENAMED),
    (PARTS, "TRUNCATE {t}_low", EMPTIED),
    (PARTS, "BEGIN; SAVEPOINT x; TRUNCATE {t}; RELEASE x; INSERT INTO {t} VALUES (5, 5); COMMIT", EMPTIED),
    (PARTS, "BEGIN; TRUNCATE {t}; INSERT INTO {t} VALUES (1, 1); TRUNCATE {t}_low; COMMIT", WITHIN),
    (PARTS, f"BEGIN; {CREATE}; INSERT INTO {{t}} VALUES (55, 5); TRUNCATE {{t}}_new; COMMIT", MADE_WITHIN),
    (
        PARTS,
        f"BEGIN; SAVEPOINT x; {CREATE}; INSERT INTO {{t}} VALUES (55, 5); TRUNCATE {{t}}_new; RELEASE x;"
        " COMMIT",
        MADE_WITHIN,
    ),
    # Nothing tells it from the one before.
    (
        PARTS,
        f"BEGIN; SAVEPOINT x; {CREATE}; INSERT INTO {{t}} VALUES (55, 5); RELEASE x; COMMIT",
        MADE_WITHIN,
    ),
    (
        PARTS,
        f"BEGIN; SAVEPOINT x; {CREATE}; RELEASE x; INSERT INTO {{t}} VALUES (55, 5); SAVEPOINT y;"
        " TRUNCATE {t}_new; RELEASE y; COMMIT",
        MADE_WITHIN,
    ),
    (
        PARTS,
        f"{LIKE}; INSERT INTO {{t}}_new VALUES (55, 5), (56, 6); {ATTACH};"
        " UPDATE {t} SET a = 9 WHERE id = 55; ALTER TABLE {t} DETACH PARTITION {t}_new",
        "a partition was attached to source table {t} with oid {oid} and detached again",
    ),
    (PARTS, "ALTER TABLE {t} ADD COLUMN more float DEFAULT random(); UPDATE {t} SET a = a + 1", UNLOGGED),
    (
        PARTS,
        "ALTER TABLE {t}_low SET UNLOGGED; DELETE FROM {t}_low; ALTER TABLE {t}_low SET LOGGED",
        EMPTIED,
    ),
    *(
        (
            made,
            "BEGIN; TRUNCATE {t}; ALTER TABLE {t} SET UNLOGGED; INSERT INTO {t} VALUES (70, 70);"
            " ALTER TABLE {t} SET LOGGED; COMMIT",
            UNLOGGED,
        )
        for made in (PLAIN, KEYLESS)
    ),
    (
        PLAIN,
        "ALTER TABLE {t} SET UNLOGGED; INSERT INTO {t} VALUES (70, 70); ALTER TABLE {t} SET LOGGED;"
        " ALTER TABLE {t} ADD more float DEFAULT random()",
        UNLOGGED,
    ),
    (PLAIN, "ALTER TABLE {t} ALTER untaken TYPE int8; INSERT INTO {t} VALUES (10, 10)", UNLOGGED),
    (KEYLESS, "ALTER TABLE {t} SET UNLOGGED; DELETE FROM {t}", "is UNLOGGED"),
    *(
        (
            made,
            "ALTER TABLE {t} SET UNLOGGED; INSERT INTO {t} VALUES (70, 70); ALTER TABLE {t} SET LOGGED",
            UNLOGGED,
        )
        for made in (PLAIN, KEYLESS, FILLED)
    ),
    (PARTS, "BEGIN; TRUNCATE {t}_low; INSERT INTO {t} VALUES (1, 1); COMMIT", EMPTIED),
    (
        PARTS,
        "TRUNCATE {t}; INSERT INTO {t} VALUES (1, 1), (11, 1), (21, 1);"
        " TRUNCATE {t}_low, {t}_high, {t}_subleaf",
        "was truncated on its own",
    ),
    (PARTS, "TRUNCATE {t}; INSERT INTO {t} VALUES (1, 1); TRUNCATE {t}_low", EMPTIED),
    (PARTS, "BEGIN; ALTER TABLE {t} ADD COLUMN more int; TRUNCATE {t}_low; COMMIT", EMPTIED),
    (PARTS, "TRUNCATE {t}; INSERT INTO {t} VALUES (1, 1); TRUNCATE {t}_low", EMPTIED),
    (PARTS, "TRUNCATE {t}_low, {t}_high, {t}_subleaf", EMPTIED),
    (PARTS, "TRUNCATE {t}_sub", EMPTIED.replace("_low", "_subleaf")),
    (
        PARTS,
        f"{CREATE}; INSERT INTO {{t}} VALUES (55, 5); TRUNCATE {{t}}_new",
        EMPTIED.replace("_low", "_new"),
    ),
    (PARTS, "ALTER TABLE {t} DETACH PARTITION {t}_low", LEFT),
    (PARTS, "ALTER TABLE {t} DETACH PARTITION {t}_low CONCURRENTLY", LEFT),
    (PARTS, "DROP TABLE {t}_low", LEFT),
    (PARTS, "ALTER TABLE {t}_sub DETACH PARTITION {t}_subleaf", LEFT.replace("_low", "_subleaf")),
    (
        PARTS,
        "BEGIN; ALTER TABLE {t} DETACH PARTITION {t}_low; DELETE FROM {t}_low;"
        " ALTER TABLE {t} ATTACH PARTITION {t}_low FOR VALUES FROM (0) TO (10); COMMIT",
        LEFT.replace("or dropped", "and attached again"),
    ),
    (PARTS, f"{LIKE}; INSERT INTO {{t}}_new VALUES (55, 5); {ATTACH}", BROUGHT),
    (PARTS, f"BEGIN; {LIKE}; INSERT INTO {{t}}_new VALUES (55, 5); {ATTACH}; COMMIT", BROUGHT),
    (
        PARTS,
        f"{LIKE} PARTITION BY RANGE (id); CREATE TABLE {{t}}_newer PARTITION OF {{t}}_new DEFAULT;"
        f" INSERT INTO {{t}}_new VALUES (55, 5); {ATTACH}",
        BROUGHT.replace("_new", "_newer"),
    ),
    (PARTS, "ALTER TABLE {t} ALTER a TYPE int USING a * 100", f"values of a {WRITTEN}"),
    (
        PARTS,
        "CREATE UNIQUE INDEX {t}_i ON {t}_low (a); ALTER TABLE {t}_low REPLICA IDENTITY USING INDEX {t}_i;"
        " UPDATE {t} SET id = 0 WHERE id = 1; ALTER TABLE {t}_low REPLICA IDENTITY DEFAULT",
        SWITCHED.replace("{of}", "partition public.{t}_low of source table {t}"),
    ),
    (
        PARTS,
        "CREATE UNIQUE INDEX {t}_i ON {t}_low (a); ALTER TABLE {t}_low REPLICA IDENTITY USING INDEX {t}_i",
        SWITCHED.replace("{of}", "partition public.{t}_low of source table {t}"),
    ),
    (
        PLAIN,
        "ALTER TABLE {t} REPLICA IDENTITY USING INDEX {t}_n_key; UPDATE {t} SET id = -id;"
        " ALTER TABLE {t} REPLICA IDENTITY DEFAULT",
        SWITCHED.replace("{of}", "source table {t}"),
    ),
    (
        PLAIN,
        "ALTER TABLE {t} DROP CONSTRAINT {t}_pkey, ADD PRIMARY KEY (id, n); INSERT INTO {t} VALUES (1, 10)",
        "has been altered",
    ),
    (
        PLAIN,
        "ALTER TABLE {t} ALTER n TYPE int USING n * 100",
        "has been altered",
    ),  # with its UNIQUE constraint
    (PLAIN, "ALTER TABLE {t} ALTER lacking TYPE int USING lacking * 2", f"values of lacking {WRITTEN}"),
    (NO_DEFAULT, "ALTER TABLE {t} ALTER lacking TYPE int USING lacking * 2", f"values of lacking {WRITTEN}"),
    (
        FILLED,
        "ALTER TABLE {t} ALTER lacking TYPE int USING lacking * 2;"
        " ALTER TABLE {t} ALTER lacking SET DEFAULT 5; VACUUM FULL {t}",
        f"values of lacking {WRITTEN}",
    ),
    (PLAIN, "ALTER TABLE {t} ALTER c TYPE int USING c * 100", f"values of c {WRITTEN}"),
    (
        PLAIN,
        "ALTER TYPE {t}_mood RENAME VALUE 'sad' TO 'blue'",
        "changed with their type, from 'sad' to 'blue'",
    ),
    (
        PLAIN,
        "ALTER TYPE {t}_mood RENAME VALUE 'sad' TO 'blue'; ALTER TYPE {t}_mood RENAME VALUE 'blue' TO 'sad'",
        "changed with their type, from 'sad' to 'sad'",
    ),
    (
        PLAIN,
        "ALTER TYPE {t}_pair ADD ATTRIBUTE z int",
        "from {t}_pair (1: integer, 2: public.{t}_mood)"
        " to {t}_pair (1: integer, 2: public.{t}_mood, 3: integer)",
    ),
    (PLAIN, "ALTER TABLE {t} ALTER c TYPE int8", f"values of c {WRITTEN}"),
    (PLAIN, "ALTER TABLE {t} ALTER c TYPE int8 USING c * 100", f"values of c {WRITTEN}"),
    (PLAIN, "ALTER TABLE {t} ALTER c TYPE oid", "c in source table {t} with oid {oid} got another type"),
    (KEYLESS, "ALTER TABLE {t} ALTER c TYPE int USING c * 100", f"values of c {WRITTEN}"),
    (KEYLESS, "ALTER TABLE {t} ALTER c TYPE numeric(12, 2)", f"values of c {WRITTEN}"),
]


@dataclass
class Tail:
    """A reader, and what was seen of tables up to where it stands."""

    database: Database
    reader: PostgresReader
    options: dict[str, Any]
    at: LsnFrontier
    exports: dict[str, Export] = field(default_factory=dict)
    seen: dict[str, Any] = field(default_factory=dict)

    def take(self, table: str, made: tuple[str, ...]) -> None:
        """As a backfill does."""
        facts = examine(self.options, no_secrets, table)
        (reference,) = facts.references
        pinned = pin(reference, *COLUMNS[made])
        columns = tuple(column["name"] for column in pinned.pinned.columns)
        export = Export(
            table, pinned.path(), pinned.relation, columns, pinned.discipline, pinned=pinned.pinned
        )
        point = PostgresPoint(self.options, no_secrets, (export,))
        try:
            self.seen[table] = point.take(self.at, {}, 1000).points[table].seen
        finally:
            point.close()
        self.exports[table] = export

    def tick(self) -> dict[str, DefiniteError]:
        """Read to the end of the log, and look; why tables cannot go on."""
        self.database.run("SELECT pg_current_xact_id()")
        wanted = last_end(lsn_of(self.database.value("SELECT pg_current_wal_insert_lsn()::text")))

        def come() -> LsnFrontier | None:
            end = self.reader.probe(0)
            assert isinstance(end, LsnFrontier)
            return end if end.lsn >= wanted else None

        end = eventually(come, within_s=30)
        assert end is not None
        exports = tuple(self.exports.values())
        looked = self.reader.look(exports, self.seen, end)
        well = tuple(export for export in exports if export.table_id not in looked.errors)
        reached, parts = self.reader.plan_read(self.at, looked.end, well, {}, 10**9)
        errors: dict[str, DefiniteError] = {}
        for part in parts:
            for export, item in read(part):
                if isinstance(item, DefiniteError):
                    errors.setdefault(export.table_id, item)
        assert isinstance(reached, LsnFrontier)
        self.at = reached
        self.seen |= looked.seen
        self.reader.acknowledge(reached)
        return {**looked.errors, **errors}


@contextmanager
def tail(database: Database, folder: Path) -> Iterator[Tail]:
    options: dict[str, Any] = {
        "connection": database.options(),
        "publication": "p",
        "slot": f"slot_{database.name}",
    }
    options["identity"] = examine(options, no_secrets).facts.identity()
    reader = PostgresReader(options, no_secrets, None, folder, lambda *_: False)
    try:
        start = reader.start
        assert isinstance(start, LsnFrontier)
        yield Tail(database, reader, options, start)
    finally:
        reader.close()


def do(database: Database, statements: str, table: str) -> None:
    database.run(*(text.strip() for text in statements.format(t=table).split(";")))


PUBLISHED = "CREATE PUBLICATION p FOR ALL TABLES WITH (publish_via_partition_root = true)"


def test_everything_that_is_not_said_is_noticed_or_does_no_harm(database: Database, tmp_path: Path) -> None:
    cases = [*((made, done, "") for made, done in HARMLESS), *NOTICED]
    tables = {f"t{number}": case for number, case in enumerate(cases)}
    for table, (made, _, _) in tables.items():
        database.run(*(text.format(t=table) for text in made))
    database.run(PUBLISHED)
    with tail(database, tmp_path) as reading:
        for table, (made, _, _) in tables.items():
            reading.take(table, made)
        assert reading.tick() == {}
        oids = {table: database.value(f"SELECT '{table}'::regclass::oid") for table in tables}
        found: dict[str, DefiniteError] = {}
        for table, (_, done, _) in tables.items():
            do(database, done, table)
        for _ in range(3):
            found |= reading.tick()
            reading.exports = {id_: export for id_, export in reading.exports.items() if id_ not in found}
        wrong = {}
        for table, (_, done, reason) in tables.items():
            error, wanted = str(found.get(table, "")), reason.format(t=table, oid=oids[table])
            if (not wanted and error) or wanted not in error:
                wrong[done] = error or "went on"
            elif error and found[table].heals == any(final in error for final in FINAL):
                wrong[done] = f"{'heals' if found[table].heals else 'does not heal'}: {error}"
        assert not wrong, "\n".join(map(str, wrong.items()))


def test_a_look_that_is_ahead_of_the_stream_waits_for_what_the_stream_says(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for table in ("whole", "each"):
        database.run(*(text.format(t=table) for text in PARTS))
    database.run(*(text.format(t="logged") for text in KEYLESS), PUBLISHED)
    with tail(database, tmp_path) as reading:
        for table in ("whole", "each"):
            reading.take(table, PARTS)
        reading.take("logged", KEYLESS)
        assert reading.tick() == {}
        held, exports = reading.reader.probe(0), tuple(reading.exports.values())
        with stopped(reading.reader):
            database.run("TRUNCATE whole", "TRUNCATE each_low, each_high, each_subleaf")
            database.run("ALTER TABLE logged SET UNLOGGED", "ALTER TABLE logged SET LOGGED")
            # Nobody says that it is the whole, in time.
            monkeypatch.setattr(reader_module, "STREAM_CATCH_UP_S_MAX", 0.1)
            looked = reading.reader.look(exports, reading.seen, held)
            assert looked.errors.keys() == {"whole", "each", "logged"}
        monkeypatch.setattr(reader_module, "STREAM_CATCH_UP_S_MAX", 30.0)
        looked = reading.reader.look(exports, reading.seen, held)
        assert looked.errors.keys() == {"each", "logged"}
        assert "was truncated on its own" in str(looked.errors["each"])
        assert UNLOGGED in str(looked.errors["logged"])
        del reading.exports["each"], reading.exports["logged"]
        assert reading.tick() == {}
        for statement in ("INSERT INTO whole VALUES (1, 1)", "VACUUM FULL whole_low"):
            database.run(statement)
            assert reading.tick() == {}
        database.run("TRUNCATE whole_low")
        assert list(reading.tick()) == ["whole"]


@contextmanager
def stopped(reader: PostgresReader) -> Iterator[None]:
    """Nothing arrives for a while."""
    pid = reader._control.execute(
        "SELECT active_pid FROM pg_replication_slots WHERE slot_name = %s", (reader._slot,)
    ).fetchone()
    assert pid is not None
    os.kill(pid[0], signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid[0], signal.SIGCONT)


def test_what_happens_while_nobody_looks_is_found_afterwards(
    server: HeadwaterServer, database: Database
) -> None:
    """Through a whole server: what was seen outlives the process that saw it."""
    tables = {"grows": PARTS, "shrinks": PARTS, "switched": PLAIN, "renamed": PLAIN, "fine": PARTS}
    statements = [text.format(t=table) for table, made in tables.items() for text in made]
    with following(server, database, *statements) as here:
        database.run("ALTER PUBLICATION p SET (publish_via_partition_root = true)")
        for table, made in tables.items():
            text = ", ".join(COLUMNS[made][0])
            here.create_table(table, options=f"TEXT COLUMNS ({text})" if text else "")
        do(database, CREATE, "fine")
        do(database, CREATE, "shrinks")
        database.run("INSERT INTO fine VALUES (55, 5)", "INSERT INTO shrinks VALUES (55, 5)")
        for table in ("grows", "shrinks", "fine"):
            here.follows(table)
        database.run("VACUUM FULL fine")  # of which rows are left that were there at the look before
        for table in ("switched", "renamed"):
            here.follows(table, columns="id, n, m", upstream="id, n, m::text")
        pid = server.cluster_pid()
        assert pid is not None
        os.kill(pid, 9)
        eventually(lambda: not alive(pid))
        do(database, f"{LIKE}; INSERT INTO {{t}}_new VALUES (55, 5); {ATTACH}", "grows")
        do(database, "DROP TABLE {t}_new", "shrinks")
        do(
            database,
            "ALTER TABLE {t} REPLICA IDENTITY USING INDEX {t}_n_key; UPDATE {t} SET id = -id",
            "switched",
        )
        do(database, "ALTER TYPE {t}_mood RENAME VALUE 'sad' TO 'blue'", "renamed")
        do(database, "TRUNCATE {t}; INSERT INTO {t} VALUES (1, 1), (51, 1)", "fine")
        here.read_again("grows", "public.grows_new, which may have had rows, was attached")
        here.read_again("shrinks", "partition public.shrinks_new of source table")
        here.read_again("renamed", "from 'sad' to 'blue'")
        assert "was switched and no longer has id" in here.error_of("switched")
        here.follows("renamed", columns="id, n, m", upstream="id, n, m::text")
        for table in ("grows", "shrinks", "fine"):
            here.follows(table)
        do(database, "TRUNCATE {t}_low", "fine")
        here.follows("fine")
        here.read_again("fine", "partition public.fine_low of source table")
        do(database, "BEGIN; TRUNCATE {t}; INSERT INTO {t} VALUES (1, 1); TRUNCATE {t}_low; COMMIT", "fine")
        here.follows("fine")
        assert here.rows("VERIFY TABLE fine")[0][0] == "equal"
