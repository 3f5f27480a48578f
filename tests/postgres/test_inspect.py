"""What an upstream is asked and what is made of the answers, on a real PostgreSQL.

Method: tables and publications are made upstream with plain SQL, then looked at with
`inspect`; references are pinned and what comes out (or the refusal with its detail and
hint) is compared with what the statement that made the table says.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import TransientError, UserError
from headwater.core.types import RANGES, SqlType, array_of, format_type, numeric
from headwater.sources.postgres.connection import connect
from headwater.sources.postgres.inspect import check_room, inspect, pin
from headwater.sources.postgres.pin import check_access
from tests.postgres.asking import listed, look, no_secrets
from tests.support.database import Database

PREFIX = "POSTGRES source validation: "


def refused(call: Any, *arguments: Any) -> UserError:
    with pytest.raises(UserError) as error:
        call(*arguments)
    return error.value


def test_server_and_publication_are_described(database: Database) -> None:
    database.run("CREATE TABLE t (a int PRIMARY KEY)")
    database.run("CREATE PUBLICATION p FOR TABLE t WITH (publish = 'insert, update')")
    facts = look(database)
    assert facts.database == database.name
    assert facts.user == "postgres"
    assert facts.system_id == database.value("SELECT system_identifier::text FROM pg_control_system()")
    assert facts.timeline == 1
    assert facts.version // 10_000 == 15
    assert (facts.wal_level, facts.recovering) == ("logical", False)
    assert facts.publication is not None
    assert facts.publication.left_out() == ("delete", "truncate")


def test_a_pinned_table_has_what_the_upstream_declares(database: Database) -> None:
    database.run(
        """CREATE TABLE "Odd name" (
            id int8 PRIMARY KEY, code varchar(5) NOT NULL UNIQUE, "größe ''x" numeric(10,2), gone int,
            twice int GENERATED ALWAYS AS (1) STORED,
            at timestamptz(3) NOT NULL, tags text[], maybe int UNIQUE
        )""",
        'ALTER TABLE "Odd name" DROP COLUMN gone',
        "CREATE PUBLICATION p FOR ALL TABLES",
    )
    reference = pin(listed(database)["Odd name"])
    assert reference.path() == (database.name, "public", "Odd name")
    assert [(c.name, format_type(c.type), c.nullable) for c in reference.relation.columns] == [
        ("id", "bigint", False),
        ("code", "character varying(5)", False),
        ("größe ''x", "numeric(39,2)", True),
        ("at", "timestamp(3) with time zone", False),
        ("tags", "text[]", True),
        ("maybe", "integer", True),
    ]
    # A unique constraint over a column that may be NULL makes no row unique.
    assert reference.relation.keys == ((0,), (1,))
    assert reference.discipline == "keyed"
    pinned = reference.pinned
    details = pinned.reference
    assert details["oid"] == database.value("""SELECT '"Odd name"'::regclass::oid::int8""")
    assert (details["relkind"], details["identity"], details["row_filter"]) == ("r", "d", None)
    assert pinned.columns[3] == {
        "name": "at",
        "attnum": 6,
        "type_oid": 1184,
        "typmod": 3,
        "not_null": True,
        "text": False,
    }
    assert set(details) == {
        *("oid", "database", "schema", "table", "relkind", "identity", "row_filter"),
        "left_out",
    }


def test_names_of_sixty_three_bytes_are_kept(database: Database) -> None:
    name = "ü" * 31 + "x"
    database.run(f'CREATE SCHEMA "{name}"', f'CREATE TABLE "{name}"."{name}" ("{name}" int PRIMARY KEY)')
    database.run("CREATE PUBLICATION p FOR ALL TABLES")
    reference = pin(listed(database)[name])
    assert reference.path() == (database.name, name, name)
    assert reference.relation.column_names() == (name,)


@pytest.mark.parametrize(
    ("declared", "altered", "discipline", "key"),
    [
        ("a int PRIMARY KEY, b int", "", "keyed", ("a",)),
        ("a int, b int PRIMARY KEY", "REPLICA IDENTITY FULL", "keyed", ("b",)),
        ("a int, b int", "REPLICA IDENTITY FULL", "counted", ()),
        (
            "a int PRIMARY KEY, b int CONSTRAINT u UNIQUE NOT NULL",
            "REPLICA IDENTITY USING INDEX u",
            "keyed",
            ("b",),
        ),
        ("a int, b int NOT NULL UNIQUE", "REPLICA IDENTITY FULL", "counted", ("b",)),
        ("a int PRIMARY KEY DEFERRABLE, b int", "REPLICA IDENTITY FULL", "counted", ("a",)),
        ("a int, b int, PRIMARY KEY (b, a)", "", "keyed", ("b", "a")),
    ],
)
def test_the_replica_identity_decides_how_a_table_is_kept(
    database: Database, declared: str, altered: str, discipline: str, key: tuple[str, ...]
) -> None:
    database.run(f"CREATE TABLE t ({declared})", "CREATE PUBLICATION p FOR TABLE t")
    if altered:
        database.run(f"ALTER TABLE t {altered}")
    reference = pin(listed(database)["t"])
    assert (reference.discipline, reference.relation.key_names()) == (discipline, key)


@pytest.mark.parametrize(
    ("declared", "altered"),
    [
        ("a int", ""),
        ("a int PRIMARY KEY", "REPLICA IDENTITY NOTHING"),
        ("a int PRIMARY KEY DEFERRABLE", ""),
        ("a int NOT NULL UNIQUE", ""),
    ],
)
def test_a_table_whose_changes_name_no_row_is_refused(
    database: Database, declared: str, altered: str
) -> None:
    database.run(f'CREATE TABLE "T" ({declared})', 'CREATE PUBLICATION p FOR TABLE "T"')
    if altered:
        database.run(f'ALTER TABLE "T" {altered}')
    error = refused(pin, listed(database)["T"])
    assert error.message == f"{PREFIX}referenced items not tables with REPLICA IDENTITY FULL"
    assert error.detail == "referenced items: public.T"
    assert error.hint == 'In the upstream: ALTER TABLE public."T" REPLICA IDENTITY FULL'
    database.run(str(error.hint).partition(": ")[2])
    assert pin(listed(database)["T"]).name == "T"


def test_excluding_a_column_of_the_key_needs_whole_rows(database: Database) -> None:
    database.run("CREATE TABLE t (a int PRIMARY KEY, b int)", "CREATE PUBLICATION p FOR TABLE t")
    error = refused(pin, listed(database)["t"], (), ("a",))
    assert error.message == f"{PREFIX}referenced items not tables with REPLICA IDENTITY FULL"
    database.run("ALTER TABLE t REPLICA IDENTITY FULL")
    reference = pin(listed(database)["t"], (), ("a",))
    assert (reference.discipline, reference.relation.keys) == ("counted", ())
    assert reference.relation.column_names() == ("b",)


def test_a_constraint_with_an_excluded_column_is_left_out(database: Database) -> None:
    database.run(
        "CREATE TABLE t (a int PRIMARY KEY, b int NOT NULL, c int NOT NULL, UNIQUE (b, c), UNIQUE (c))",
        "CREATE PUBLICATION p FOR TABLE t",
    )
    assert pin(listed(database)["t"]).relation.keys == ((0,), (1, 2), (2,))
    assert pin(listed(database)["t"], (), ("b",)).relation.keys == ((0,), (1,))


def test_columns_that_are_not_published_are_not_there(database: Database) -> None:
    database.run("CREATE TABLE t (a int PRIMARY KEY, b int, c int)")
    database.run("CREATE PUBLICATION p FOR TABLE t (c, a) WHERE (a > 7)")
    reference = pin(listed(database)["t"])
    assert reference.relation.column_names() == ("a", "c")
    assert reference.pinned.reference["row_filter"] == "(a > 7)"
    error = refused(pin, listed(database)["t"], ("b",))
    assert error.message == 'invalid TEXT COLUMNS option value: column "t.b" does not exist'


def test_partitions_are_listed_one_by_one_or_as_their_root(database: Database) -> None:
    database.run(
        "CREATE TABLE root (a int PRIMARY KEY, b text) PARTITION BY RANGE (a)",
        "CREATE TABLE low PARTITION OF root FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE high (b text, a int NOT NULL)",
        "ALTER TABLE root ATTACH PARTITION high FOR VALUES FROM (10) TO (20)",
        "CREATE PUBLICATION p FOR TABLE root",
        "CREATE PUBLICATION via_root FOR TABLE root WITH (publish_via_partition_root = true)",
    )
    assert set(listed(database)) == {"low", "high"}
    assert pin(listed(database)["high"]).relation.column_names() == ("b", "a")
    found = listed(database, publication="via_root")
    assert set(found) == {"root"}
    root = pin(found["root"])
    assert (root.pinned.reference["relkind"], root.discipline, root.relation.keys) == ("p", "keyed", ((0,),))


def test_the_identity_of_a_root_is_that_of_its_partitions(database: Database) -> None:
    database.run(
        "CREATE TABLE root (a int, b text) PARTITION BY RANGE (a)",
        "CREATE TABLE low PARTITION OF root FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE high PARTITION OF root FOR VALUES FROM (10) TO (20)",
        "CREATE PUBLICATION p FOR TABLE root WITH (publish_via_partition_root = true)",
        "ALTER TABLE root REPLICA IDENTITY FULL",
        "ALTER TABLE low REPLICA IDENTITY FULL",
    )
    error = refused(pin, listed(database)["root"])
    assert error.message == f"{PREFIX}referenced items not tables with REPLICA IDENTITY FULL"
    database.run("ALTER TABLE high REPLICA IDENTITY FULL")
    assert pin(listed(database)["root"]).discipline == "counted"


def test_children_of_an_inheritance_are_tables_of_their_own(database: Database) -> None:
    database.run(
        "CREATE TABLE parent (a int PRIMARY KEY)",
        "CREATE TABLE child (b int, PRIMARY KEY (a)) INHERITS (parent)",
        "CREATE PUBLICATION p FOR TABLE parent",
    )
    found = listed(database)
    assert set(found) == {"parent", "child"}
    assert pin(found["child"]).relation.column_names() == ("a", "b")


def test_a_missing_publication_is_named_in_the_detail(database: Database) -> None:
    error = refused(listed, database, "postgres", "nothing")
    assert error.message == "failed to connect to PostgreSQL database"
    assert error.detail == 'publication "nothing" does not exist'


def test_an_empty_publication_is_refused(database: Database) -> None:
    database.run("CREATE PUBLICATION p")
    assert refused(listed, database).message == f"{PREFIX}PUBLICATION p is empty"


def test_privileges_that_lack_are_listed_and_the_hint_mends_it(database: Database) -> None:
    database.run(
        "CREATE SCHEMA s", "CREATE TABLE s.t (a int PRIMARY KEY, b int)", "CREATE PUBLICATION p FOR TABLE s.t"
    )
    error = refused(pin, listed(database, database.role)["t"])
    assert error.message == f"{PREFIX}insufficient privileges"
    assert error.detail == (
        "user lacks USAGE privileges for schemas s and user lacks SELECT privileges for tables s.t"
    )
    for statement in str(error.hint).partition(": ")[2].split("; "):
        database.run(statement)
    assert pin(listed(database, database.role)["t"]).name == "t"


def test_a_partition_that_may_not_be_read_is_told_of_with_the_others(database: Database) -> None:
    database.run(
        "CREATE SCHEMA s",
        "CREATE TABLE root (a int PRIMARY KEY, b text) PARTITION BY RANGE (a)",
        'CREATE TABLE "Low" PARTITION OF root FOR VALUES FROM (0) TO (10)',
        "CREATE TABLE s.high (b text, a int NOT NULL)",
        "ALTER TABLE root ATTACH PARTITION s.high FOR VALUES FROM (10) TO (20)",
        "CREATE TABLE t (a int PRIMARY KEY)",
        "CREATE PUBLICATION p FOR TABLE root, t WITH (publish_via_partition_root = true)",
        f'GRANT SELECT ON root TO {database.role}; GRANT SELECT (a) ON "Low" TO {database.role}',
    )
    error = refused(pin, listed(database, database.role)["root"])
    assert error.detail == (
        "user lacks USAGE privileges for schemas s and"
        ' user lacks SELECT privileges for tables public."Low", s.high'
    )
    found = listed(database, database.role)
    error = refused(check_access, [(found["t"], ()), (found["root"], ("b",))])
    assert str(error.detail).endswith("for tables public.t, s.high")
    for statement in str(error.hint).partition(": ")[2].split("; "):
        database.run(statement)
    assert pin(listed(database, database.role)["root"], (), ("b",)).name == "root"


def test_a_server_without_room_for_another_source_is_told_of(database: Database) -> None:
    database.run("CREATE TABLE t (a int PRIMARY KEY)", "CREATE PUBLICATION p FOR TABLE t")
    before = look(database)
    check_room(before, database.options(), ())
    slot = f"room_{database.name}"
    database.run(f"SELECT pg_create_physical_replication_slot('{slot}')")
    try:
        assert look(database).slots_left == before.slots_left - 1
    finally:
        database.run(f"SELECT pg_drop_replication_slot('{slot}')")
    senders = database.value("SHOW max_wal_senders")
    assert 0 < before.senders_left <= int(senders)
    for facts, what in (
        (replace(before, slots_left=0), "replication slot"),
        (replace(before, senders_left=0), "WAL sender"),
    ):
        error = refused(check_room, facts, database.options(), ())
        assert error.message == f"{PREFIX}server has no {what} left"


def test_privileges_on_the_columns_that_are_taken_suffice(database: Database) -> None:
    database.run(
        "CREATE TABLE t (a int PRIMARY KEY, b int)",
        "CREATE PUBLICATION p FOR TABLE t",
        f"GRANT SELECT (a) ON t TO {database.role}",
    )
    error = refused(pin, listed(database, database.role)["t"])
    assert error.detail == "user lacks SELECT privileges for tables public.t"
    assert pin(listed(database, database.role)["t"], (), ("b",)).relation.column_names() == ("a",)


def test_row_security_needs_a_role_that_bypasses_it(database: Database) -> None:
    database.run(
        "CREATE TABLE t (a int PRIMARY KEY)",
        "ALTER TABLE t ENABLE ROW LEVEL SECURITY",
        "CREATE PUBLICATION p FOR TABLE t",
        f"GRANT SELECT ON t TO {database.role}",
    )
    error = refused(pin, listed(database, database.role)["t"])
    assert error.message == f"{PREFIX}one or more tables requires BYPASSRLS"
    assert error.detail == "user must have BYPASSRLS attribute to read tables public.t"
    assert str(error.hint).startswith("Add the BYPASSRLS attribute to the Materialize user")
    assert pin(listed(database)["t"]).name == "t"
    database.run(f"ALTER ROLE {database.role} BYPASSRLS")
    assert pin(listed(database, database.role)["t"]).name == "t"


def test_unsupported_types_are_listed_by_name_and_taken_as_text(database: Database) -> None:
    database.run("CREATE TYPE pair AS (a int, b int)")
    database.run('CREATE TABLE t (id int PRIMARY KEY, "P" pair, i inet, b bit(3)[])')
    database.run("CREATE PUBLICATION p FOR TABLE t")
    error = refused(pin, listed(database)["t"])
    assert error.message == f"{PREFIX}referenced tables use unsupported types"
    assert str(error.detail).splitlines() == [
        "the following columns contain unsupported types:",
        f"{database.name}.public.t.P (public.pair)",
        f"{database.name}.public.t.i (inet)",
        f"{database.name}.public.t.b (bit(3)[])",
    ]
    assert error.hint == (
        'Use TEXT COLUMNS ("P", i, b) to ingest their text, or EXCLUDE COLUMNS ("P", i, b) to leave them out.'
    )
    reference = pin(listed(database)["t"], ("P", "b"), ("i",))
    assert [(c.name, format_type(c.type)) for c in reference.relation.columns] == [
        ("id", "integer"),
        ("P", "text"),
        ("b", "text"),
    ]
    assert [column["text"] for column in reference.pinned.columns] == [False, True, True]


def test_enums_and_domains_are_text_without_being_asked_for(database: Database) -> None:
    database.run(
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE DOMAIN small AS int",
        "CREATE DOMAIN smaller AS small[]",
        'CREATE TABLE t (id int PRIMARY KEY, m mood, "S" small, ms mood[], ss small[][], d smaller, n name)',
        "CREATE PUBLICATION p FOR TABLE t",
    )
    reference = pin(listed(database)["t"])
    columns = [(c.name, format_type(c.type)) for c in reference.relation.columns]
    assert columns == [
        ("id", "integer"),
        *((name, "text") for name in ("m", "S", "ms", "ss", "d")),
        ("n", "name"),
    ]
    asked = pin(listed(database)["t"], ("m", "S"))
    assert asked.pinned == reference.pinned


def test_names_of_objects_are_refused_in_their_own_words(database: Database) -> None:
    database.run("CREATE TABLE t (id int PRIMARY KEY, c regclass)", "CREATE PUBLICATION p FOR TABLE t")
    error = refused(pin, listed(database)["t"])
    assert error.message == (
        "table t contains column c of type regclass which Materialize cannot currently ingest"
    )
    assert error.hint == "Remove the table or use TEXT COLUMNS (c, ..) to ingest this column as text"
    assert format_type(pin(listed(database)["t"], ("c",)).relation.columns[1].type) == "text"


@pytest.mark.parametrize(
    ("text", "excluded", "message"),
    [
        (("x",), (), 'invalid TEXT COLUMNS option value: column "t.x" does not exist'),
        ((), ("x",), 'invalid EXCLUDE COLUMNS option value: column "t.x" does not exist'),
        (
            ("b", "b"),
            (),
            "invalid TEXT COLUMNS option value: unexpected multiple references to {d}.public.t.b",
        ),
        (
            (),
            ("b", "b"),
            "invalid EXCLUDE COLUMNS option value: unexpected multiple references to {d}.public.t.b",
        ),
        (("b",), ("b",), PREFIX + 'duplicated column name references: ["{d}.public.t.b"]'),
        ((), ("a", "b"), PREFIX + "table public.t has no columns to ingest"),
    ],
)
def test_options_about_columns_are_checked(
    database: Database, text: tuple[str, ...], excluded: tuple[str, ...], message: str
) -> None:
    database.run("CREATE TABLE t (a int PRIMARY KEY, b int)", "CREATE PUBLICATION p FOR TABLE t")
    assert refused(pin, listed(database)["t"], text, excluded).message == message.format(d=database.name)


def test_every_type_of_the_table_of_types_is_mapped_by_its_real_oid(database: Database) -> None:
    mapped: dict[str, SqlType] = {
        "bool": SqlType("bool"),
        '"char"': SqlType('"char"'),
        "char(3)": SqlType("char", length=3),
        "varchar(7)": SqlType("varchar", length=7),
        "varchar": SqlType("varchar"),
        "text": SqlType("text"),
        "name": SqlType("name"),
        "bytea": SqlType("bytea"),
        "int2": SqlType("int2"),
        "int4": SqlType("int4"),
        "bigserial": SqlType("int8"),
        "oid": SqlType("oid"),
        "float4": SqlType("float4"),
        "float8": SqlType("float8"),
        "numeric": SqlType("numeric"),
        "numeric(38,10)": numeric(10),
        "numeric(5)": numeric(0),
        "numeric(3,-2)": numeric(0),
        "numeric(2,4)": numeric(4),
        "numeric(39,3)": SqlType("numeric"),
        "numeric(40,2)": SqlType("numeric"),
        "numeric(39,-1)": SqlType("numeric"),
        "numeric(40,2)[]": array_of(SqlType("numeric")),
        "date": SqlType("date"),
        "time": SqlType("time"),
        "time(2)": SqlType("time", scale=2),
        "timestamp": SqlType("timestamp"),
        "timestamp(0)": SqlType("timestamp", scale=0),
        "timestamptz(6)": SqlType("timestamptz", scale=6),
        "interval": SqlType("interval"),
        "interval day to second(3)": SqlType("interval"),
        "uuid": SqlType("uuid"),
        "json": SqlType("jsonb"),
        "jsonb": SqlType("jsonb"),
        "int2vector": SqlType("int2vector"),
        "int4[]": array_of(SqlType("int4")),
        "varchar(4)[][]": array_of(SqlType("varchar", length=4)),
        "numeric(6,2)[]": array_of(numeric(2)),
        "json[]": array_of(SqlType("jsonb")),
        **{kind: SqlType(kind) for kind in RANGES},
        "int4range[]": array_of(SqlType("int4range")),
    }
    columns = ", ".join(f"c{place} {name}" for place, name in enumerate(mapped))
    database.run(f"CREATE TABLE t (id int PRIMARY KEY, {columns})", "CREATE PUBLICATION p FOR TABLE t")
    relation = pin(listed(database)["t"]).relation
    assert dict(zip(mapped, (column.type for column in relation.columns[1:]), strict=True)) == mapped


UNSUPPORTED = (
    *("money", "point", "line", "lseg", "box", "path", "polygon", "circle", "inet", "cidr", "macaddr"),
    *("macaddr8", "timetz", "bit(3)", "varbit", "tsvector", "tsquery", "xml", "pg_lsn", "int4multirange"),
    "oidvector",
    *(
        "composite",
        "own_range",
        "money[]",
        "tid",
    ),
    *("xid", "xid8", "txid_snapshot", "jsonpath", "int2vector[]", "own"),
)


def test_every_other_type_is_unsupported_and_can_be_taken_as_text(database: Database) -> None:
    database.run(
        "CREATE TYPE composite AS (x int)",
        "CREATE TYPE own_range AS RANGE (subtype = float8)",
        "CREATE TABLE own (x int)",
        f"CREATE TABLE t (id int PRIMARY KEY, {', '.join(f'c{n} {t}' for n, t in enumerate(UNSUPPORTED))})",
        "CREATE PUBLICATION p FOR TABLE t",
    )
    error = refused(pin, listed(database)["t"])
    assert len(str(error.detail).splitlines()) == 1 + len(UNSUPPORTED)
    names = tuple(f"c{n}" for n in range(len(UNSUPPORTED)))
    relation = pin(listed(database)["t"], names).relation
    assert {column.type.kind for column in relation.columns[1:]} == {"text"}


OBJECTS = (
    "proc",
    "procedure",
    "oper",
    "operator",
    "class",
    "type",
    "config",
    "dictionary",
    "namespace",
    "role",
)


def test_every_type_that_names_objects_is_known(database: Database) -> None:
    names = [f"reg{word}{array}" for word in (*OBJECTS, "collation") for array in ("", "[]")]
    for place, name in enumerate(names):
        database.run(f"CREATE TABLE t{place} (id int PRIMARY KEY, c {name})")
    database.run("CREATE PUBLICATION p FOR ALL TABLES")
    found = listed(database)
    for place, name in enumerate(names):
        assert f"of type {name} which" in refused(pin, found[f"t{place}"]).message


def test_a_thousand_tables_are_listed_in_a_second_or_two(database: Database) -> None:
    database.run(
        """DO $$ BEGIN FOR i IN 1..1000 LOOP
            EXECUTE format('CREATE TABLE t%s (id int8 PRIMARY KEY, a text, b text, c int, d int,
                e timestamptz, f numeric(10,2), g jsonb, h text[], i bool)', i);
        END LOOP; END $$""",
        "CREATE PUBLICATION p FOR ALL TABLES",
    )
    started = SYSTEM_CLOCK.monotonic_s()
    found = listed(database)
    assert SYSTEM_CLOCK.monotonic_s() - started < 5
    assert len(found) == 1000
    assert all(len(reference.relation.columns) == 10 for reference in found.values())


def test_a_table_of_sixteen_hundred_columns_is_pinned_fast(database: Database) -> None:
    columns = ", ".join(f"c{place} bool" for place in range(1599))
    database.run(f"CREATE TABLE t (id int PRIMARY KEY, {columns})", "CREATE PUBLICATION p FOR TABLE t")
    started = SYSTEM_CLOCK.monotonic_s()
    reference = pin(listed(database)["t"], tuple(f"c{place}" for place in range(1000)))
    assert SYSTEM_CLOCK.monotonic_s() - started < 2
    assert len(reference.relation.columns) == 1600


def test_only_the_tables_that_are_asked_for_are_looked_at(database: Database) -> None:
    database.run("CREATE TABLE a (x int PRIMARY KEY)", "CREATE TABLE b (x int PRIMARY KEY)")
    database.run("CREATE PUBLICATION p FOR ALL TABLES")
    oid = database.value("SELECT 'b'::regclass::oid::int8")
    with connect(database.options(), no_secrets) as connection:
        assert [table.name for table in inspect(connection, "p", [oid]).tables.values()] == ["b"]
        assert inspect(connection, "p", []).tables == {}


def test_looking_leaves_nothing_behind(database: Database) -> None:
    database.run("CREATE TABLE t (a int PRIMARY KEY)", "CREATE PUBLICATION p FOR TABLE t")
    listed(database)
    assert (
        database.value("SELECT count(*) FROM pg_replication_slots WHERE database = current_database()") == 0
    )
    with connect(database.options(), no_secrets) as connection:
        inspect(connection, "p")
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        row = connection.execute("SHOW statement_timeout").fetchone()
        assert row == ("0",)


def test_a_server_that_goes_away_is_a_passing_trouble(database: Database) -> None:
    database.run("CREATE PUBLICATION p")
    with connect(database.options(), no_secrets) as connection:
        database.run(f"SELECT pg_terminate_backend({connection.info.backend_pid})")
        with pytest.raises(TransientError, match="sql client error"):
            inspect(connection, "p")


def test_tables_that_come_and_go_meanwhile_do_not_disturb(database: Database) -> None:
    database.run("CREATE TABLE kept (a int PRIMARY KEY)", "CREATE PUBLICATION p FOR ALL TABLES")
    over = threading.Event()

    def churn() -> None:
        with psycopg.connect(database.server.dsn(database.name), autocommit=True) as connection:
            while not over.is_set():
                connection.execute("CREATE TABLE passing (a int PRIMARY KEY, b text UNIQUE)")
                connection.execute("DROP TABLE passing")

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _ in range(40):
            facts = look(database)
            assert "kept" in {table.name for table in facts.tables.values()}
            assert all(table.columns for table in facts.tables.values())
    finally:
        over.set()
        thread.join()
