"""What an upstream may do to a table that is ingested, and what it may not, on a real PostgreSQL.

Method: a table is pinned, then altered upstream, and `changed` is asked about the facts
of then.  Each row of the list is one alteration and whether the table survives it.
"""

from __future__ import annotations

from dataclasses import replace

import psycopg
import pytest

from headwater.sources.contract import Pinned
from headwater.sources.postgres.inspect import changed, inspect, moved, pin
from headwater.sources.postgres.publication import interrupted, published
from tests.postgres.asking import listed, look
from tests.support.database import Database

TABLE = """CREATE TABLE t (
    id int PRIMARY KEY, code varchar(10) NOT NULL CONSTRAINT codes UNIQUE, amount numeric(10,2), label text,
    mood text, excluded int
)"""

HARMLESS = [
    "ALTER TABLE t ADD COLUMN later int DEFAULT 5 NOT NULL",
    "ALTER TABLE t DROP COLUMN excluded",
    "ALTER TABLE t RENAME COLUMN excluded TO still_excluded",
    "ALTER TABLE t ALTER excluded TYPE text",
    "ALTER TABLE t ALTER amount SET NOT NULL",
    "ALTER TABLE t ALTER mood TYPE varchar(40)",
    "ALTER TABLE t ADD CONSTRAINT labels UNIQUE (label)",
    "CREATE INDEX ON t (amount)",
    "ALTER TABLE t ALTER label SET DEFAULT 'x'",
    "ALTER TABLE t ALTER label SET STORAGE EXTERNAL",
    "ALTER TABLE t REPLICA IDENTITY FULL",
    "REINDEX TABLE CONCURRENTLY t",
    "CLUSTER t USING t_pkey",
    "VACUUM FULL t",
    "TRUNCATE t",
    "ALTER TABLE t RENAME CONSTRAINT codes TO other_name",
    "ALTER TABLE t OWNER TO CURRENT_USER",
    "CREATE TABLE u (a int)",
    "ALTER TABLE t ADD COLUMN later int; ALTER TABLE t DROP COLUMN later",
    "CREATE TABLE u (a int); ALTER PUBLICATION p ADD TABLE u; ALTER PUBLICATION p DROP TABLE u",
    "CREATE TABLE u (a int); ALTER PUBLICATION p SET TABLE u, t",
    "ALTER PUBLICATION p ADD TABLES IN SCHEMA public",
    "CREATE TABLE parent (LIKE t) PARTITION BY RANGE (id); ALTER TABLE parent ATTACH PARTITION t DEFAULT",
    "VACUUM FULL pg_publication; VACUUM FULL pg_publication_rel; VACUUM FREEZE pg_publication",
]

ALTERED_PUBLICATION = [
    "ALTER PUBLICATION p SET (publish = 'insert')",
    "ALTER PUBLICATION p SET (publish = 'insert');"
    " ALTER PUBLICATION p SET (publish = 'insert, update, delete, truncate')",
    "ALTER PUBLICATION p SET (publish_via_partition_root = true);"
    " ALTER PUBLICATION p SET (publish_via_partition_root = false)",
    "DROP PUBLICATION p; CREATE PUBLICATION p FOR TABLE t",
    "ALTER PUBLICATION p RENAME TO q; ALTER PUBLICATION q RENAME TO p",
]

TAKEN_OUT = [
    "ALTER PUBLICATION p DROP TABLE t; ALTER PUBLICATION p ADD TABLE t",
    "BEGIN; ALTER PUBLICATION p DROP TABLE t; ALTER PUBLICATION p ADD TABLE t; COMMIT",
    "ALTER PUBLICATION p SET TABLE t WHERE (id > 3); ALTER PUBLICATION p SET TABLE t",
    "ALTER PUBLICATION p SET TABLE t (id, code, amount, label, mood)",
    "ALTER PUBLICATION p DROP TABLE t; ALTER PUBLICATION p ADD TABLES IN SCHEMA public",
    "ALTER PUBLICATION p DROP TABLE t; ALTER TABLE t SET UNLOGGED; ALTER TABLE t SET LOGGED;"
    " ALTER PUBLICATION p ADD TABLE t",
]

ALTERED = {
    "ALTER TABLE t DROP COLUMN label": "column label was dropped",
    "ALTER TABLE t DROP COLUMN label; ALTER TABLE t ADD COLUMN label text": "column label was dropped",
    "ALTER TABLE t RENAME COLUMN label TO tag": "column label is called tag now",
    "ALTER TABLE t RENAME COLUMN label TO x; ALTER TABLE t RENAME COLUMN mood TO label": (
        "column label is called x now"
    ),
    "ALTER TABLE t RENAME TO u": "it is called public.u now",
    "CREATE SCHEMA s; ALTER TABLE t SET SCHEMA s": "it is called s.t now",
    "ALTER TABLE t ALTER code TYPE varchar(20)": (
        "column code has type character varying(20) instead of character varying(10)"
    ),
    "ALTER TABLE t ALTER amount TYPE numeric(12,2)": (
        "column amount has type numeric(12,2) instead of numeric(10,2)"
    ),
    "ALTER TABLE t ALTER id TYPE int8": "column id has type bigint instead of integer",
    "ALTER TABLE t ALTER label TYPE varchar": "column label has type character varying instead of text",
    "ALTER TABLE t ALTER code DROP NOT NULL": "column code may be NULL now",
    "ALTER TABLE t DROP CONSTRAINT t_pkey": "its key (id) was dropped",
    "ALTER TABLE t DROP CONSTRAINT codes": "its key (code) was dropped",
    "ALTER TABLE t DROP CONSTRAINT codes; ALTER TABLE t ADD CONSTRAINT codes UNIQUE (code)": (
        "its key (code) was dropped"
    ),
    "ALTER TABLE t DROP CONSTRAINT t_pkey; ALTER TABLE t ADD PRIMARY KEY (id)": "its key (id) was dropped",
    "ALTER TABLE t RENAME COLUMN mood TO humour": "column mood is called humour now",
    "ALTER PUBLICATION p SET TABLE t (id, code)": "column amount is no longer published",
    "ALTER PUBLICATION p SET TABLE t WHERE (id > 3)": (
        "the publication has the row filter (id > 3) for it now"
    ),
}

DROPPED = [
    "DROP TABLE t",
    f"DROP TABLE t; {TABLE}; ALTER PUBLICATION p ADD TABLE t",
    "ALTER PUBLICATION p DROP TABLE t",
    "DROP PUBLICATION p; CREATE TABLE u (a int); CREATE PUBLICATION p FOR TABLE u",
]


def pinned(database: Database) -> Pinned:
    database.run(TABLE, "CREATE PUBLICATION p FOR TABLE t")
    known = pin(listed(database)["t"], ("mood",), ("excluded",)).pinned
    assert why(known, database) is None
    return known


def why(known: Pinned, database: Database) -> str | None:
    """Why the table cannot be kept; what is said here no reading of it again would fix."""
    doubt = changed(known, look(database))
    assert doubt is None or not doubt.heals
    return None if doubt is None else doubt.message


def unpublished(known: Pinned, before: list[str], database: Database) -> str | None:
    """Why changes of the table may be missing."""
    with psycopg.connect(database.server.dsn(database.name), autocommit=True) as connection:
        return interrupted(
            before, known.reference["oid"], published(connection, "p", [known.reference["oid"]]), "p"
        )


def identity(known: Pinned, database: Database) -> list[str]:
    with psycopg.connect(database.server.dsn(database.name), autocommit=True) as connection:
        return published(connection, "p", [known.reference["oid"]]).identity(known.reference["oid"])


def alter(database: Database, statements: str) -> None:
    database.run(*statements.split("; "))


@pytest.mark.parametrize("statements", HARMLESS)
def test_a_table_survives_what_does_not_concern_it(database: Database, statements: str) -> None:
    known = pinned(database)
    before = identity(known, database)
    alter(database, statements)
    assert why(known, database) is None
    assert unpublished(known, before, database) is None


@pytest.mark.parametrize(("statements", "what"), ALTERED.items())
def test_a_table_whose_columns_or_keys_become_others_is_lost(
    database: Database, statements: str, what: str
) -> None:
    known = pinned(database)
    alter(database, statements)
    assert why(known, database) == (
        f"incompatible schema change: source table t with oid {known.reference['oid']}"
        f" has been altered: {what}"
    )


@pytest.mark.parametrize("statements", DROPPED)
def test_a_table_that_is_no_longer_published_was_dropped(database: Database, statements: str) -> None:
    known = pinned(database)
    alter(database, statements)
    assert why(known, database) == "table was dropped"


@pytest.mark.parametrize("statements", ALTERED_PUBLICATION)
def test_a_publication_that_was_altered_and_perhaps_back_is_noticed(
    database: Database, statements: str
) -> None:
    known = pinned(database)
    before = identity(known, database)
    alter(database, statements)
    assert 'publication "p" was altered' in str(unpublished(known, before, database))


@pytest.mark.parametrize("statements", TAKEN_OUT)
def test_a_table_that_was_out_of_its_publication_for_a_while_is_noticed(
    database: Database, statements: str
) -> None:
    known = pinned(database)
    before = identity(known, database)
    alter(database, statements)
    assert 'taken out of publication "p" and added again' in str(unpublished(known, before, database))


def test_a_table_that_is_unlogged_is_not_said_to_be_dropped(database: Database) -> None:
    database.run(TABLE, "CREATE PUBLICATION p FOR ALL TABLES")
    known = pin(listed(database)["t"]).pinned
    database.run("ALTER TABLE t SET UNLOGGED")
    with psycopg.connect(database.server.dsn(database.name), autocommit=True) as connection:
        facts = inspect(connection, "p", [known.reference["oid"]])
    doubt = changed(known, facts)
    assert doubt is not None
    assert doubt.heals
    assert doubt.message.startswith("table is UNLOGGED")


def test_a_partition_that_is_published_by_its_root_must_stay_where_it_is(database: Database) -> None:
    database.run(
        "CREATE TABLE t (a int PRIMARY KEY) PARTITION BY RANGE (a)",
        "CREATE TABLE low PARTITION OF t FOR VALUES FROM (0) TO (10)",
        "CREATE PUBLICATION p FOR TABLE t",
    )
    known = pin(listed(database)["low"]).pinned
    before = identity(known, database)
    database.run("CREATE TABLE high PARTITION OF t FOR VALUES FROM (10) TO (20)")
    assert unpublished(known, before, database) is None
    database.run("ALTER TABLE t DETACH PARTITION low", "INSERT INTO low VALUES (1)")
    database.run("ALTER TABLE t ATTACH PARTITION low FOR VALUES FROM (0) TO (10)")
    assert "taken out" in str(unpublished(known, before, database))


def test_without_its_publication_nothing_is_left(database: Database) -> None:
    known = pinned(database)
    database.run("DROP PUBLICATION p")
    assert why(known, database) == 'publication "p" does not exist'


def test_an_identity_by_index_needs_the_index_but_not_its_role(database: Database) -> None:
    database.run(
        "CREATE TABLE t (a int NOT NULL, b int)",
        "CREATE UNIQUE INDEX i ON t (a)",
        "ALTER TABLE t REPLICA IDENTITY USING INDEX i",
        "CREATE PUBLICATION p FOR TABLE t",
    )
    known = pin(listed(database)["t"]).pinned
    assert why(known, database) is None
    database.run("REINDEX INDEX CONCURRENTLY i")
    assert why(known, database) is None
    database.run("ALTER TABLE t REPLICA IDENTITY FULL")
    assert why(known, database) is None
    database.run("DROP INDEX i")
    assert "has been altered" in str(why(known, database))


def test_partitions_of_a_root_come_and_go(database: Database) -> None:
    database.run(
        "CREATE TABLE t (a int PRIMARY KEY) PARTITION BY RANGE (a)",
        "CREATE TABLE low PARTITION OF t FOR VALUES FROM (0) TO (10)",
        "CREATE PUBLICATION p FOR TABLE t WITH (publish_via_partition_root = true)",
    )
    known = pin(listed(database)["t"]).pinned
    database.run("CREATE TABLE high PARTITION OF t FOR VALUES FROM (10) TO (20)")
    assert why(known, database) is None
    database.run("DROP TABLE low")
    assert why(known, database) is None
    database.run("ALTER PUBLICATION p SET (publish_via_partition_root = false)")
    assert why(known, database) == "table was dropped"
    database.run("ALTER PUBLICATION p SET (publish_via_partition_root = true)")
    assert why(known, database) is None


def test_a_server_that_became_another_one_is_noticed(database: Database) -> None:
    facts = look(database)
    identity = facts.identity()
    assert moved(identity, facts) is None
    assert moved({"system_id": facts.system_id, "timeline": facts.timeline}, facts) is None
    assert moved(identity, replace(facts, timeline=2)) == (
        "unsupported action: database restored from point-in-time backup. Expected timeline ID 1 but got 2"
    )
    assert str(moved(identity, replace(facts, recovering=True))).startswith(
        "unsupported action: upstream physical replica status changed"
    )
    assert "another database system" in str(moved(identity, replace(facts, system_id="7")))
