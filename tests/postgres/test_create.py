"""CREATE SOURCE and CREATE TABLE over a real upstream: what is recorded, and every refusal.

Method: a Headwater server and a PostgreSQL; each test has a database upstream and a schema
here of its own.  Statements are sent as users send them; errors are compared with their
detail and hint, and afterwards neither side may have anything left.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from headwater.core.clock import SYSTEM_CLOCK
from tests.support.database import Database
from tests.support.following import Following
from tests.support.server import HeadwaterServer, eventually

PREFIX = "POSTGRES source validation: "


@pytest.fixture
def client(server: HeadwaterServer, database: Database) -> Iterator[Following]:
    made = Following(server, database)
    yield made
    made.close()


@pytest.fixture
def source(client: Following) -> Following:
    """With a source `s` over a table `t`."""
    client.database.run(
        "CREATE TABLE t (id int PRIMARY KEY, name text NOT NULL)", "CREATE PUBLICATION p FOR ALL TABLES"
    )
    client.run("CREATE SOURCE s FROM POSTGRES CONNECTION pg (PUBLICATION 'p')")
    return client


def test_a_source_is_recorded_with_its_slot_and_its_references(source: Following) -> None:
    full = f"materialize.{source.schema}"
    assert source.rows("SHOW CREATE SOURCE s") == [
        (
            f"{full}.s",
            f"CREATE SOURCE {full}.s\nIN CLUSTER quickstart\n"
            f"FROM POSTGRES CONNECTION {full}.pg (PUBLICATION = 'p');",
        )
    ]
    assert source.rows("SHOW SOURCES") == [("s", "postgres", "quickstart", "")]
    ((type_, same, envelope, key, value, slot, timeline),) = source.rows(
        "SELECT s.type, s.connection_id = c.id, s.envelope_type, s.key_format, s.value_format,"
        " p.replication_slot, p.timeline_id"
        " FROM mz_catalog.mz_sources s JOIN mz_internal.mz_postgres_sources p ON p.id = s.id"
        " JOIN mz_catalog.mz_connections c ON c.id = s.connection_id"
        f" JOIN mz_catalog.mz_schemas x ON x.id = s.schema_id WHERE x.name = '{source.schema}'"
    )
    assert (type_, same, envelope, key, value) == ("postgres", True, None, None, None)
    assert slot.startswith("materialize_")
    assert len(slot) == len("materialize_") + 32
    assert str(timeline) == "1"
    assert source.rows(
        "SELECT r.namespace, r.name, r.columns FROM mz_internal.mz_source_references r"
        " JOIN mz_internal.mz_postgres_sources p ON p.id = r.source_id"
        f" WHERE p.replication_slot = '{slot}'"
    ) == [("public", "t", ["id", "name"])]
    assert [(name, type_) for name, _, type_, _ in source.rows("SHOW COLUMNS FROM s")] == [("lsn", "uint8")]


def test_a_table_is_recorded_with_its_full_reference_and_can_be_made_again(source: Following) -> None:
    source.database.run("CREATE TYPE mood AS ENUM ('sad')")
    source.database.run('CREATE TABLE u (id int PRIMARY KEY, "M" mood, gone int, n numeric(8,3))')
    source.run(
        'CREATE TABLE ours FROM SOURCE s (REFERENCE u) WITH (TEXT COLUMNS ("M"), EXCLUDE COLUMNS (gone))'
    )
    full = f"materialize.{source.schema}"
    ((name, text),) = source.rows("SHOW CREATE TABLE ours")
    assert (name, text) == (
        f"{full}.ours",
        f"CREATE TABLE {full}.ours\nFROM SOURCE {full}.s (REFERENCE = {source.database.name}.public.u)\n"
        'WITH (TEXT COLUMNS = ("M"), EXCLUDE COLUMNS = (gone));',
    )
    columns = source.rows("SHOW COLUMNS FROM ours")
    assert [column[:3] for column in columns] == [
        ("id", False, "integer"),
        ("M", True, "text"),
        ("n", True, "numeric"),
    ]
    assert source.rows(
        "SELECT t.name, p.schema_name, p.table_name FROM mz_internal.mz_postgres_source_tables p"
        " JOIN mz_catalog.mz_tables t ON t.id = p.id JOIN mz_catalog.mz_schemas x ON x.id = t.schema_id"
        f" WHERE x.name = '{source.schema}'"
    ) == [("ours", "public", "u")]
    source.run("DROP TABLE ours", text)
    assert source.rows("SHOW COLUMNS FROM ours") == columns
    assert source.rows("SHOW TABLES ON s") == [("ours", "")]


def test_references_are_asked_for_live_and_listed_when_refreshed(source: Following) -> None:
    source.database.run("CREATE TABLE later (id int PRIMARY KEY)")
    known = (
        "SELECT r.name FROM mz_internal.mz_source_references r JOIN mz_catalog.mz_sources s"
        " ON s.id = r.source_id JOIN mz_catalog.mz_schemas x ON x.id = s.schema_id"
        f" WHERE x.name = '{source.schema}' ORDER BY 1"
    )
    source.run("CREATE TABLE later FROM SOURCE s (REFERENCE later)")
    assert source.rows(known) == [("t",)]
    source.run("ALTER SOURCE s REFRESH REFERENCES")
    assert source.rows(known) == [("later",), ("t",)]


def test_several_tables_of_one_block_are_made_together(source: Following) -> None:
    source.run(
        "BEGIN",
        "CREATE TABLE a FROM SOURCE s (REFERENCE t)",
        "CREATE TABLE b FROM SOURCE s (REFERENCE public.t) WITH (EXCLUDE COLUMNS (name))",
        "COMMIT",
    )
    assert source.names() == {"s", "a", "b"}


def test_a_block_may_make_the_connection_too(client: Following) -> None:
    client.database.run("CREATE TABLE t (id int PRIMARY KEY)", "CREATE PUBLICATION p FOR TABLE t")
    client.run(
        "BEGIN",
        client.database.connection_sql("again"),
        "CREATE SOURCE s FROM POSTGRES CONNECTION again (PUBLICATION p)",
        "CREATE TABLE t FROM SOURCE s (REFERENCE t)",
        "COMMIT",
    )
    assert client.names() == {"s", "t"}


def test_a_source_needs_its_connection(source: Following) -> None:
    message, _, hint = source.refusal("DROP CONNECTION pg")
    assert message == 'cannot drop connection "pg": still depended upon by source "s"'
    assert hint == "Use DROP ... CASCADE to drop the dependent objects too."
    source.run("ALTER CONNECTION pg RENAME TO gate")
    ((_, text),) = source.rows("SHOW CREATE SOURCE s")
    assert f"POSTGRES CONNECTION materialize.{source.schema}.gate (" in text
    assert source.rows(
        "SELECT count(*) FROM mz_internal.mz_object_dependencies d JOIN mz_catalog.mz_connections c"
        " ON c.id = d.referenced_object_id JOIN mz_catalog.mz_sources s ON s.id = d.object_id"
        f" JOIN mz_catalog.mz_schemas x ON x.id = s.schema_id WHERE x.name = '{source.schema}'"
    ) == [(1,)]
    source.run("DROP CONNECTION gate CASCADE")
    assert source.names() == set()


def test_a_publication_that_leaves_out_operations_is_warned_of(client: Following) -> None:
    client.database.run("CREATE TABLE t (id int PRIMARY KEY)")
    client.database.run("CREATE PUBLICATION p FOR TABLE t WITH (publish = 'insert')")
    client.run("CREATE SOURCE s FROM POSTGRES CONNECTION pg (PUBLICATION 'p')")
    assert client.notices == ['WARNING: publication "p" does not publish update, delete, truncate']
    client.notices.clear()
    client.run("CREATE TABLE t FROM SOURCE s (REFERENCE t)")
    assert client.notices == ["NOTICE: the publication does not publish update, delete, truncate of public.t"]


@pytest.mark.parametrize(
    ("statement", "message", "detail"),
    [
        ("FROM POSTGRES CONNECTION pg", f"{PREFIX}CONNECTION must specify PUBLICATION", None),
        (
            "FROM POSTGRES CONNECTION pg (PUBLICATION 'nothing')",
            "failed to connect to PostgreSQL database",
            'publication "nothing" does not exist',
        ),
        ("FROM POSTGRES CONNECTION pg (PUBLICATION 'empty')", f"{PREFIX}PUBLICATION empty is empty", None),
        (
            "FROM POSTGRES CONNECTION pg (PUBLICATION 'empty', TEXT COLUMNS (public.t.a))",
            f"{PREFIX}TEXT COLUMNS option is unnecessary when no tables are added",
            None,
        ),
        (
            "FROM POSTGRES CONNECTION pg (PUBLICATION 'empty', EXCLUDE COLUMNS (t.a))",
            f"{PREFIX}EXCLUDE COLUMNS option is unnecessary when no tables are added",
            None,
        ),
        (
            "FROM POSTGRES CONNECTION pg (PUBLICATION 'p', DETAILS 'aa')",
            "CREATE SOURCE specifies DETAILS option",
            None,
        ),
        ("FROM POSTGRES CONNECTION plain (PUBLICATION 'p')", "plain is a table not a connection", None),
        ("FROM POSTGRES CONNECTION nothing (PUBLICATION 'p')", "unknown catalog item 'nothing'", None),
    ],
)
def test_a_source_that_cannot_be_is_refused(
    client: Following, statement: str, message: str, detail: str | None
) -> None:
    client.run("CREATE TABLE plain (a int)")
    client.database.run("CREATE PUBLICATION empty")
    assert client.refusal(f"CREATE SOURCE s {statement}")[:2] == (message, detail)
    assert client.names() == {"plain"}
    slots = "SELECT count(*) FROM pg_replication_slots WHERE database = current_database()"
    assert client.database.value(slots) == 0


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE TABLE x FROM SOURCE s", f"{PREFIX}missing TABLES specification"),
        ("CREATE TABLE x FROM SOURCE s (REFERENCE nothing)", "reference to nothing not found in source"),
        ("CREATE TABLE x FROM SOURCE s (REFERENCE other.t)", "reference to other.t not found in source"),
        (
            "CREATE TABLE x FROM SOURCE s (REFERENCE twice)",
            "reference twice is ambiguous, consider specifying an additional layer of qualification",
        ),
        ("CREATE TABLE s FROM SOURCE s (REFERENCE t)", "catalog item 's' already exists"),
        (
            "CREATE TABLE x FROM SOURCE s (REFERENCE t) WITH (TEXT COLUMNS (nothing))",
            'invalid TEXT COLUMNS option value: column "t.nothing" does not exist',
        ),
        (
            "CREATE TABLE x FROM SOURCE s (REFERENCE no_key)",
            f"{PREFIX}referenced items not tables with REPLICA IDENTITY FULL",
        ),
        ("CREATE TABLE x FROM SOURCE s (REFERENCE cash)", f"{PREFIX}referenced tables use unsupported types"),
        (
            "CREATE TABLE x FROM SOURCE s (REFERENCE class)",
            "table class contains column c of type regclass which Materialize cannot currently ingest",
        ),
        ("CREATE TABLE x FROM SOURCE s (REFERENCE cases)", 'columns "a" and "A" differ only by case'),
        ("CREATE TABLE x FROM SOURCE s (REFERENCE reserved)", 'column name "_op" is reserved'),
    ],
)
def test_a_table_that_cannot_be_is_refused(source: Following, statement: str, message: str) -> None:
    source.database.run(
        "CREATE SCHEMA other",
        "CREATE TABLE twice (a int PRIMARY KEY)",
        "CREATE TABLE other.twice (a int PRIMARY KEY)",
        "CREATE TABLE no_key (a int)",
        "CREATE TABLE cash (a int PRIMARY KEY, m money)",
        "CREATE TABLE class (a int PRIMARY KEY, c regclass)",
        'CREATE TABLE cases (a int PRIMARY KEY, "A" int)',
        "CREATE TABLE reserved (a int PRIMARY KEY, _op text)",
    )
    assert source.refusal(statement)[0] == message
    assert source.names() == {"s"}


def test_rights_that_lack_are_told_of_when_the_table_is_made(client: Following) -> None:
    client.database.run(
        "CREATE SCHEMA hidden",
        "CREATE TABLE hidden.t (a int PRIMARY KEY)",
        'CREATE TABLE "Other" (a int PRIMARY KEY)',
        "CREATE PUBLICATION p FOR ALL TABLES",
    )
    client.run(
        client.database.connection_sql("weak", client.database.role),
        "CREATE SOURCE s FROM POSTGRES CONNECTION weak (PUBLICATION 'p')",
    )
    message, detail, hint = client.refusal("CREATE TABLE x FROM SOURCE s (REFERENCE t)")
    assert message == f"{PREFIX}insufficient privileges"
    assert detail == (
        "user lacks USAGE privileges for schemas hidden and user lacks SELECT privileges for tables hidden.t"
    )
    older = "CREATE SOURCE o FROM POSTGRES CONNECTION weak (PUBLICATION 'p') FOR ALL TABLES"
    _, together, _ = client.refusal(older)
    assert str(together).endswith('user lacks SELECT privileges for tables hidden.t, public."Other"')
    for statement in str(hint).partition(": ")[2].split("; "):
        client.database.run(statement)
    client.run("CREATE TABLE x FROM SOURCE s (REFERENCE t)")


def test_what_the_upstream_has_and_does_not_publish_is_told_of(client: Following) -> None:
    upstream = client.database
    upstream.run(
        "CREATE TABLE published (a int PRIMARY KEY)",
        'CREATE TABLE "Alone" (a int PRIMARY KEY)',
        "CREATE VIEW seen AS SELECT 1",
        "CREATE UNLOGGED TABLE quick (a int PRIMARY KEY)",
        "CREATE TABLE whole (a int PRIMARY KEY) PARTITION BY RANGE (a)",
        "CREATE TABLE part PARTITION OF whole FOR VALUES FROM (0) TO (10)",
        "CREATE PUBLICATION p FOR TABLE published, whole",
    )
    client.run("CREATE SOURCE s FROM POSTGRES CONNECTION pg (PUBLICATION 'p')")
    create, path = "CREATE TABLE x FROM SOURCE s (REFERENCE {})", f"{upstream.name}.public"
    for reference, why, hint in (
        ('"Alone"', f"{path}.Alone is not in publication p", 'ALTER PUBLICATION p ADD TABLE public."Alone"'),
        ("seen", f"{path}.seen is a view", "the tables it is made of"),
        ("public.quick", f"{path}.quick is UNLOGGED", "SET LOGGED"),
        ("whole", f"{path}.whole is partitioned", "SET (publish_via_partition_root = true)"),
    ):
        message, detail, hinted = client.refusal(create.format(reference))
        assert message == f"reference to {reference.strip(chr(34))} not found in source"
        assert str(detail).startswith(why)
        assert hint in str(hinted)
    assert "Did you mean" in str(client.refusal(create.format("publish"))[2])
    upstream.run("ALTER PUBLICATION p SET (publish_via_partition_root = true)")
    _, detail, hinted = client.refusal(create.format("part"))
    assert str(detail).startswith(
        f"{path}.part is a partition of public.whole, and publication p publishes it"
    )
    assert str(hinted).startswith("Take all of it: (REFERENCE public.whole).")


def test_an_upstream_that_is_gone_fails_the_statement(source: Following) -> None:
    source.run("ALTER CONNECTION pg SET (PORT 1) WITH (VALIDATE = false)")
    message, _, hint = source.refusal("CREATE TABLE x FROM SOURCE s (REFERENCE t)")
    assert message.startswith("error connecting to server: Connection refused")
    assert hint is not None
    assert source.names() == {"s"}


def test_a_statement_that_waits_for_its_upstream_can_be_cancelled(source: Following) -> None:
    """The upstream takes connections and never answers; other sessions go on meanwhile."""
    with _Silence() as port:
        source.run(f"ALTER CONNECTION pg SET (PORT {port}) WITH (VALIDATE = false)")
        outcome: list[str] = []

        def create() -> None:
            outcome.append(source.refusal("CREATE TABLE x FROM SOURCE s (REFERENCE t)")[0])

        waiting = threading.Thread(target=create)
        waiting.start()
        eventually(
            lambda: source.server.query(
                "SELECT 1 FROM pg_catalog.pg_stat_activity WHERE query LIKE 'CREATE TABLE x%'"
                " AND state = 'active'"
            )
        )
        started = SYSTEM_CLOCK.monotonic_s()
        source.server.query("SELECT 1")
        source.session.cancel()
        waiting.join()
        assert outcome == ["canceling statement due to user request"]
        assert SYSTEM_CLOCK.monotonic_s() - started < 5


class _Silence:
    """A server that takes connections and says nothing."""

    def __enter__(self) -> int:
        self._listener = socket.create_server(("127.0.0.1", 0))
        return int(self._listener.getsockname()[1])

    def __exit__(self, *_: object) -> None:
        self._listener.close()
