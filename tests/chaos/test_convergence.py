"""Whoever dies right after a COMMIT: what the catalog has is ingested, what it has not leaves nothing behind.

Method: one server with a source over a real PostgreSQL and one over a generator.  Tables and sources are
created, replaced and dropped in transactions, and right after each of them a process dies: the environment
when the catalog is durable and nobody has been told (a failpoint), the environment when the client has been
told, the cluster, both.  Or the cluster is away while all of it is typed.  Then both sides must agree again
without help: every table equals its upstream, and the ledger, the folder of tables, the upstream's slots and
the relations that show what runs know no id that the catalog does not have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import psycopg
import pytest

from headwater.persist.ledger import TABLES
from tests.support.dying import DyingServer
from tests.support.expected import check_equals_upstream, fed
from tests.support.faulty import Faulty, faulty
from tests.support.files import check_files, rows_about
from tests.support.metadata import metadata_rows
from tests.support.postgres import running
from tests.support.server import eventually

CONVERGE_S_MAX = 300.0
Death = Literal["environment, nobody told", "environment", "cluster", "both"]
DEATHS: tuple[Death, ...] = ("environment, nobody told", "environment", "cluster", "both")
KEY_VALUE = (
    "CREATE SOURCE {name} FROM LOAD GENERATOR KEY VALUE (KEYS 100, SNAPSHOT ROUNDS 1, VALUE SIZE 8, SEED 1,"
    " PARTITIONS 2, BATCH SIZE 5, TRANSACTIONAL SNAPSHOT true, TICK INTERVAL '50ms')"
    " WITH (TIMESTAMP INTERVAL '200ms')"
)
LEDGER = {
    **dict.fromkeys(("collection", "change_file", "state", "state_file", "chunk", "error"), "collection_id"),
    **dict.fromkeys(("writer", "binding"), "writer_id"),
}
"""The tables of the ledger, and whose id a row has."""
SHOWN = {
    "mz_internal.mz_source_statuses": "id",
    "mz_internal.mz_hydration_statuses": "object_id",
    "mz_internal.mz_frontiers": "object_id",
    "mz_internal.mz_source_statistics": "id",
}


def remembered(data_dir: Path) -> dict[str, set[str]]:
    """The ids that are about, by where."""
    found = {
        table: {row[0] for row in metadata_rows(data_dir, f"SELECT DISTINCT {column} FROM ledger_{table}")}
        for table, column in LEDGER.items()
    }
    return {**found, "folders": {folder.name for folder in data_dir.glob("tables/*")}}


@dataclass
class World:
    """The server, its upstream, and what must be in the catalog."""

    server: DyingServer
    upstream: Faulty
    tables: dict[str, str] = field(default_factory=dict)  # over PostgreSQL: name -> reference
    pairs: set[str] = field(default_factory=set)  # over the generator
    numbers: Iterator[int] = field(default_factory=lambda: iter(range(1, 1_000_000)))

    def commit(self, *statements: str) -> None:
        """All of it in one transaction."""
        with self.server.connect() as session:
            for text in ("BEGIN", *statements, "COMMIT"):
                session.execute(text.encode())

    def commit_and_die(self, death: Death, *statements: str) -> None:
        """The catalog is durable, and then it happens."""
        if death in ("environment, nobody told", "both"):
            self.server.arm("catalog.after_commit")
            with pytest.raises(psycopg.OperationalError):
                self.commit(*statements)
        else:
            self.commit(*statements)
        if death in ("cluster", "both"):
            self.server.kill_cluster()
        if death != "cluster":
            self.server.kill_environment()
            self.server.start()

    def check(self) -> bool:
        """Both sides agree; to be tried again until they do."""
        with self.server.connect() as session:
            session.execute("SET statement_timeout = '60s'")
            listed = session.execute("SELECT name, id FROM mz_tables WHERE id LIKE 'u%'").fetchall()
            assert {name for name, _ in listed} == {*self.tables, *self.pairs}
            for name, reference in self.tables.items():
                here = Counter(session.execute(f"SELECT * FROM {name}".encode()).fetchall())
                there = Counter(self.upstream.connection.execute(f"SELECT * FROM {reference}".encode()))
                assert here == there, f"{name} is not what {reference} is"
            check_equals_upstream(session, [fed(self.server.data_dir, name) for name in sorted(self.pairs)])
            self._check_nothing_else(session)
        return True

    def _check_nothing_else(self, session: psycopg.Connection[tuple[str]]) -> None:
        rows = session.execute("SELECT id, type FROM mz_objects WHERE id LIKE 'u%'").fetchall()
        known = {row[0] for row in rows} | {TABLES}
        for where, ids in remembered(self.server.data_dir).items():
            assert ids <= known, f"{where} remembers {ids - known}"
        for relation, column in SHOWN.items():
            shown = session.execute(f"SELECT {column} FROM {relation} WHERE {column} LIKE 'u%'".encode())
            left = {row[0] for row in shown.fetchall()} - known
            assert not left, f"{relation} shows {left}"
        sources = session.execute("SELECT count(*) FROM mz_sources WHERE type = 'postgres'").fetchall()
        slots = self.upstream.value(
            "SELECT count(*) FROM pg_replication_slots WHERE database = current_database()"
        )
        assert slots == sources[0][0]

    def converged(self) -> None:
        number = next(self.numbers)
        self.upstream.run(*(f"UPDATE {name} SET n = {number} WHERE id = {number % 50 + 1}" for name in "ab"))
        eventually(self.check, within_s=CONVERGE_S_MAX)


def fed_by_postgres(name: str, reference: str, source: str = "src") -> str:
    return f"CREATE TABLE {name} FROM SOURCE {source} (REFERENCE {reference})"


def fed_by_generator(name: str, source: str = "kv") -> str:
    return f"CREATE TABLE {name} FROM SOURCE {source} (REFERENCE key_value)"


def over_postgres(name: str) -> str:
    return (
        f"CREATE SOURCE {name} FROM POSTGRES CONNECTION pg (PUBLICATION 'p')"
        " WITH (TIMESTAMP INTERVAL '200ms')"
    )


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    server = DyingServer(tmp_path_factory.mktemp("convergence"))
    filled = [f"CREATE TABLE {name} (id int PRIMARY KEY, n int)" for name in "ab"]
    filled += [f"INSERT INTO {name} SELECT g, 0 FROM generate_series(1, 50) AS g" for name in "ab"]
    with running() as postgres, faulty(postgres, *filled) as upstream:
        try:
            server.start()
            server.query(upstream.direct_sql("pg"))
            server.query(over_postgres("src"))
            server.query(KEY_VALUE.format(name="kv"))
            made = World(server, upstream, {"kept": "a"}, {"kept_pairs"})
            made.commit(fed_by_postgres("kept", "a"), fed_by_generator("kept_pairs"))
            made.converged()
            yield made
            made.tables, made.pairs = {}, set()
            server.query("DROP SOURCE src CASCADE")
            server.query("DROP SOURCE kv CASCADE")
            made.converged()
            server.stop()
            check_files(server.data_dir)
        finally:
            server.stop()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("death", DEATHS)
def test_tables_come_and_go_whoever_dies_right_after_the_commit(world: World, death: Death) -> None:
    """Two are made, then two others in their place, then nothing is left of those."""
    world.tables["one"] = "b"
    world.pairs.add("one_pairs")
    world.commit_and_die(death, fed_by_postgres("one", "b"), fed_by_generator("one_pairs"))
    world.converged()

    del world.tables["one"]
    world.tables["two"] = "a"
    world.pairs ^= {"one_pairs", "two_pairs"}
    world.commit_and_die(
        death,
        "DROP TABLE one",
        fed_by_postgres("two", "a"),
        "DROP TABLE one_pairs",
        fed_by_generator("two_pairs"),
    )
    # Once more at once, while the new ones are being filled: they have not joined yet, or are about to.
    del world.tables["two"]
    world.pairs.remove("two_pairs")
    world.commit_and_die(death, "DROP TABLE two", "DROP TABLE two_pairs")
    world.converged()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("death", DEATHS)
def test_sources_come_and_go_whoever_dies_right_after_the_commit(world: World, death: Death) -> None:
    world.tables["more"] = "b"
    world.pairs.add("more_pairs")
    world.commit_and_die(
        death,
        over_postgres("more_src"),
        fed_by_postgres("more", "b", "more_src"),
        KEY_VALUE.format(name="more_kv"),
        fed_by_generator("more_pairs", "more_kv"),
    )
    world.converged()
    del world.tables["more"]
    world.pairs.remove("more_pairs")
    world.commit_and_die(death, "DROP SOURCE more_src CASCADE", "DROP SOURCE more_kv CASCADE")
    world.converged()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("death", DEATHS)
def test_names_that_have_changed_places_stay_so_whoever_dies(world: World, death: Death) -> None:
    """And views are with the names, wholly or not at all."""
    view = "CREATE VIEW over_blue AS SELECT n, id FROM blue"
    world.commit(fed_by_postgres("blue", "a"), fed_by_postgres("green", "b"), view)
    world.tables |= {"blue": "a", "green": "b"}
    world.converged()
    world.commit_and_die(death, "ALTER TABLE blue SWAP WITH green")
    world.tables |= {"blue": "b", "green": "a"}
    world.converged()
    eventually(lambda: over_blue(world) == table_of(world, "b"), within_s=CONVERGE_S_MAX)
    world.commit_and_die(death, "ALTER TABLE blue SWAP WITH green", "DROP TABLE green")
    world.tables["blue"] = "a"
    del world.tables["green"]
    world.converged()
    eventually(lambda: over_blue(world) == table_of(world, "a"), within_s=CONVERGE_S_MAX)
    world.commit("DROP TABLE blue CASCADE")
    del world.tables["blue"]
    world.converged()


def over_blue(world: World) -> Counter[tuple[int, ...]]:
    return Counter((id_, n) for n, id_ in world.server.query("SELECT n, id FROM over_blue"))


def table_of(world: World, reference: str) -> Counter[tuple[int, ...]]:
    return Counter(world.upstream.connection.execute(f"SELECT id, n FROM {reference}".encode()).fetchall())


def connections_made(world: World) -> int:
    return world.server.log_path.read_text(errors="replace").count("cluster connected")


@pytest.mark.timeout(900)
def test_what_is_typed_while_the_cluster_is_away_is_done_when_it_is_back(world: World) -> None:
    """Also what came and went meanwhile, of which the cluster never hears."""
    world.commit(fed_by_postgres("early", "b"), fed_by_generator("early_pairs"))
    world.tables["early"] = "b"
    world.pairs.add("early_pairs")
    world.converged()
    world.server.kill_cluster()
    met = connections_made(world)
    world.commit("DROP TABLE early", "DROP TABLE early_pairs")
    world.commit(fed_by_postgres("late", "b"), fed_by_generator("late_pairs"))
    world.commit(over_postgres("brief_src"), fed_by_postgres("brief", "a", "brief_src"))
    world.commit("DROP SOURCE brief_src CASCADE")
    assert connections_made(world) == met, "the cluster came back before everything was typed"
    world.tables["late"] = world.tables.pop("early")
    world.pairs ^= {"early_pairs", "late_pairs"}
    world.converged()
    world.commit("DROP TABLE late", "DROP TABLE late_pairs")
    del world.tables["late"]
    world.pairs.remove("late_pairs")
    world.converged()


@pytest.mark.timeout(900)
def test_a_dropped_table_that_is_still_read_outlives_the_cluster(world: World) -> None:
    world.commit(fed_by_postgres("read", "b"))
    world.tables["read"] = "b"
    world.converged()
    id_ = str(world.server.query("SELECT id FROM mz_tables WHERE name = 'read'")[0][0])
    with world.server.connect() as reader:
        reader.execute("BEGIN")
        reader.execute("DECLARE c CURSOR FOR SELECT id FROM read")
        got = reader.execute("FETCH 5 c").fetchall()
        world.commit("DROP TABLE read")
        del world.tables["read"]
        world.server.kill_cluster()
        # A cluster that is there and has been told everything: the table beside it goes on.
        newest = next(world.numbers) + 1_000_000
        world.upstream.run(f"UPDATE a SET n = {newest} WHERE id = 1")
        wanted = f"SELECT 1 FROM kept WHERE n = {newest}"
        eventually(lambda: world.server.query(wanted), within_s=CONVERGE_S_MAX)
        assert rows_about(world.server.data_dir, id_) > 0
        got += reader.execute("FETCH ALL c").fetchall()
        assert sorted(row[0] for row in got) == list(range(1, 51))
        reader.execute("COMMIT")
    world.converged()


@pytest.mark.timeout(600)
def test_a_table_that_joins_while_the_environment_is_away_is_dropped_all_the_same(tmp_path: Path) -> None:
    server = DyingServer(tmp_path)
    try:
        server.start()
        server.query(KEY_VALUE.format(name="kv"))
        server.query(fed_by_generator("kept"))
        server.query("SELECT count(*) FROM kept")
        joins = server.arm("ingestion.before_join", "sleep(15000)")
        server.query(fed_by_generator("brief"))
        id_ = str(server.query("SELECT id FROM mz_tables WHERE name = 'brief'")[0][0])
        eventually(lambda: not joins.exists(), within_s=CONVERGE_S_MAX)
        server.arm("catalog.after_commit")
        with pytest.raises(psycopg.OperationalError):
            server.query("DROP TABLE brief")
        server.kill_environment()
        server.start()
        # Ticks go on after the join, so the description without the table has been heard by then.
        server.query(fed_by_generator("later"))
        server.query("SELECT count(*) FROM later")
        eventually(lambda: rows_about(server.data_dir, id_) == 0, within_s=CONVERGE_S_MAX)
    finally:
        server.stop()
