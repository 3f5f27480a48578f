"""Values that cannot be stored: an error belongs to its row, and goes when the row does.

Method: rows with years after those that Parquet has, by themselves and in arrays, in the snapshot and in
the stream, in tables with and without a key; what reads, subscriptions, VERIFY and the relation that
lists such values say, while the rows are there and after.
"""

from __future__ import annotations

import psycopg
import pytest

from tests.support.database import Database
from tests.support.following import Following, following
from tests.support.here import EQUAL_S_MAX
from tests.support.server import HeadwaterServer, eventually

FAR = "294276-12-31 23:59:59.5"
LISTED = (
    'SELECT n.name, e.key, e."column", e.value FROM mz_internal.mz_source_value_errors e'
    " JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = e.table_id"
    " WHERE n.schema_name = '{schema}' ORDER BY 1, 2, 3"
)


def listed(here: Following, wanted: list[tuple[str, ...]]) -> None:
    """Wait until just these values are listed."""

    def same() -> bool:
        assert here.rows(LISTED.format(schema=here.schema)) == wanted
        return True

    eventually(same, within_s=EQUAL_S_MAX)


def test_a_row_with_a_value_that_cannot_be_stored_fails_reads_until_it_is_gone(
    server: HeadwaterServer, database: Database
) -> None:
    with following(
        server,
        database,
        "CREATE TABLE far (id int PRIMARY KEY, at timestamp, a timestamp[], t text)",
        "CREATE TABLE beside (id int PRIMARY KEY)",
        f"INSERT INTO far VALUES (1, '2024-01-01', '{{now}}', 'x'), (2, '{FAR}', '{{}}', 'y')",
    ) as here:
        here.create_table("far")
        here.create_table("beside")
        assert here.value_error_of("far") == (
            f'Source error: value "{FAR}" of column "at" in row (id)=(2) of table'
            f' "materialize.{here.schema}.far" cannot be stored: timestamp out of range'
        )
        with pytest.raises(psycopg.errors.DataException) as told:
            here.rows("SELECT 1 FROM far")
        assert "with TEXT COLUMNS (at) or with EXCLUDE COLUMNS (at)" in str(told.value.diag.message_hint)
        listed(here, [("far", "(id)=(2)", "at", FAR)])
        eventually(lambda: here.status_of("far")[0] == "stalled", within_s=EQUAL_S_MAX)
        # Statuses are for everybody, who may read the table or not.
        shown = here.value("SELECT error FROM mz_internal.mz_source_statuses WHERE name = 'far'")
        assert shown == "Source error: 1 row has a value that cannot be stored"
        database.run("INSERT INTO beside VALUES (1)")
        here.follows("beside")
        database.run("UPDATE far SET at = '2025-01-01' WHERE id = 2")
        here.follows("far")
        listed(here, [])
        eventually(lambda: here.status_of("far")[0] == "running", within_s=EQUAL_S_MAX)

        database.run(
            f"INSERT INTO far VALUES (3, NULL, '{{{FAR}}}', 'z')", "UPDATE far SET t = 'w' WHERE id = 1"
        )
        assert f'value "{{"{FAR}"}}" of column "a" in row (id)=(3)' in here.value_error_of("far")
        assert here.rows("VERIFY TABLE far")[0][0] == "equal"
        database.run("UPDATE far SET t = 'v' WHERE id = 3")
        here.value_error_of("far")
        database.run("DELETE FROM far WHERE id = 3")
        here.follows("far")
        assert here.rows("VERIFY TABLE far")[0][0] == "equal"


def test_of_rows_without_a_key_each_copy_counts(server: HeadwaterServer, database: Database) -> None:
    with following(
        server,
        database,
        "CREATE TABLE bag (n int, at timestamptz)",
        "ALTER TABLE bag REPLICA IDENTITY FULL",
        f"INSERT INTO bag VALUES (1, '{FAR}+00'), (1, '{FAR}+00'), (2, '2024-01-01')",
    ) as here:
        here.create_table("bag")
        here.value_error_of("bag")
        one = "DELETE FROM bag WHERE ctid = (SELECT min(ctid) FROM bag WHERE n = {})"
        database.run(one.format(1), "INSERT INTO bag VALUES (3, now())")
        here.value_error_of("bag")
        listed(here, [("bag", "(n, at)=(1, NULL)", "at", f"{FAR}+00")])
        database.run(one.format(1))
        here.follows("bag")
        database.run(*[f"INSERT INTO bag VALUES (4, '{FAR}+00')"] * 2, one.format(4))
        here.value_error_of("bag")
        database.run(one.format(4))
        here.follows("bag")


def test_long_values_that_are_not_sent_again_keep_their_errors(
    server: HeadwaterServer, database: Database
) -> None:
    long = f"(SELECT array_agg(timestamp '{FAR}') FROM generate_series(1, 1000))"
    with following(
        server,
        database,
        "CREATE TABLE toast (id int PRIMARY KEY, at timestamp, a timestamp[], t text, n int)",
        "ALTER TABLE toast ALTER a SET STORAGE EXTERNAL, ALTER t SET STORAGE EXTERNAL",
        f"INSERT INTO toast VALUES (1, '{FAR}', NULL, repeat('x', 4000)), (2, NULL, {long}, NULL)",
    ) as here:
        here.create_table("toast")
        here.value_error_of("toast")
        # What is sent is right again, what is not is as it was.
        database.run("UPDATE toast SET at = '2024-01-01' WHERE id = 1")
        eventually(lambda: "(id)=(2)" in here.value_error_of("toast"), within_s=EQUAL_S_MAX)
        database.run("UPDATE toast SET n = 1 WHERE id = 2", "UPDATE toast SET id = 3 WHERE id = 2")
        eventually(lambda: "(id)=(3)" in here.value_error_of("toast"), within_s=EQUAL_S_MAX)
        database.run("UPDATE toast SET a = '{now}' WHERE id = 3")
        here.follows("toast")


def test_the_owner_of_a_table_may_want_null_instead(server: HeadwaterServer, database: Database) -> None:
    with following(
        server,
        database,
        "CREATE TABLE odd (id int PRIMARY KEY, at timestamp NOT NULL, a timestamp[], t text)",
        f"INSERT INTO odd VALUES (1, '{FAR}', '{{{FAR}}}', 'x'), (2, '2024-01-01', NULL, 'y')",
    ) as here:
        here.create_table("nulled", "odd", "ON VALUE ERROR = NULL")
        here.create_table("told", "odd", "ON VALUE ERROR = COLUMN lost")
        assert here.rows("SELECT id, at, a, t FROM nulled ORDER BY 1")[0] == (1, None, None, "x")
        assert here.value("SELECT lost::text FROM told WHERE id = 1") == (
            f'{{"a": "{{\\"{FAR}\\"}}", "at": "{FAR}"}}'
        )
        assert here.value("SELECT lost->>'at' FROM told WHERE id = 1") == FAR
        assert here.value("SELECT count(*) FROM told WHERE lost IS NULL") == 1
        here.run("SET read_engine = spark")
        with pytest.raises(psycopg.errors.FeatureNotSupported) as refused:
            here.rows("SELECT 1 FROM told")
        assert "after such rows are corrected" in str(refused.value.diag.message_hint)
        here.run("SET read_engine = auto")
        assert "ON VALUE ERROR = COLUMN lost" in str(here.rows("SHOW CREATE TABLE told")[0][1])
        database.run("UPDATE odd SET at = '2025-01-01' WHERE id = 1")

        def fixed() -> bool:
            assert here.value("SELECT lost::text FROM told WHERE id = 1") == f'{{"a": "{{\\"{FAR}\\"}}"}}'
            return True

        eventually(fixed, within_s=EQUAL_S_MAX)
        here.follows("nulled", "odd", "id, at, t")
        with pytest.raises(psycopg.errors.DuplicateColumn):
            here.create_table("twice", "odd", "ON VALUE ERROR = COLUMN at")


def test_whoever_follows_a_table_is_told_of_the_row(server: HeadwaterServer, database: Database) -> None:
    with following(
        server,
        database,
        "CREATE TABLE said (id int PRIMARY KEY, at timestamp)",
        "INSERT INTO said VALUES (1, '2024-01-01')",
    ) as here:
        here.create_table("said")
        here.follows("said")
        follower = here.connect()
        follower.execute(b"BEGIN")
        follower.execute(b"DECLARE c CURSOR FOR SUBSCRIBE said")
        seen: list[int] = []

        def more() -> bool:
            seen.extend(row[2] for row in follower.execute(b"FETCH ALL c WITH (TIMEOUT '1s')").fetchall())
            return 2 in seen

        database.run("INSERT INTO said VALUES (2, NULL)")
        eventually(more, within_s=EQUAL_S_MAX)
        database.run(f"INSERT INTO said VALUES (3, '{FAR}')")

        def told() -> str:
            try:
                more()
            except psycopg.errors.DataException as error:
                return str(error)
            return ""

        assert "in row (id)=(3)" in eventually(told, within_s=EQUAL_S_MAX)
        follower.close()
        assert sorted(seen) == [1, 2]


def test_a_table_with_such_rows_gets_columns_and_is_read_again(
    server: HeadwaterServer, database: Database
) -> None:
    with following(
        server,
        database,
        "CREATE TABLE wide (id int PRIMARY KEY, at timestamp, n int)",
        f"INSERT INTO wide VALUES (1, '{FAR}', 1), (2, NULL, 2)",
    ) as here:
        here.create_table("wide", options="EXCLUDE COLUMNS (n)")
        here.value_error_of("wide")
        here.run("ALTER TABLE wide ADD COLUMN n")
        here.value_error_of("wide")
        database.run("UPDATE wide SET at = NULL")
        here.follows("wide")
        # The other way round: the column that is added has the value.
        here.create_table("narrow", "wide", "EXCLUDE COLUMNS (at)")
        here.follows("narrow", "wide", "id, n")
        database.run(f"UPDATE wide SET at = '{FAR}' WHERE id = 2")
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match=r"\(id\)=\(2\)"):
            here.run("ALTER TABLE narrow ADD COLUMN at")
        here.follows("narrow", "wide", "id, n")
        database.run("DELETE FROM wide WHERE id = 2")
        here.run("ALTER TABLE narrow ADD COLUMN at")
        here.follows("narrow", "wide", "id, n, at")


def test_a_table_that_has_failed_has_no_rows_that_a_change_could_heal(
    server: HeadwaterServer, database: Database
) -> None:
    with following(
        server,
        database,
        "CREATE TABLE far (id int PRIMARY KEY, at timestamp)",
        f"INSERT INTO far VALUES (2, '{FAR}')",
    ) as here:
        here.create_table("far")
        listed(here, [("far", "(id)=(2)", "at", FAR)])
        database.run("ALTER TABLE far DROP COLUMN at")
        eventually(lambda: here.status_of("far")[0] == "failed", within_s=EQUAL_S_MAX)
        listed(here, [])
