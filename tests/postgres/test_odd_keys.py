"""Values in a key that cannot be stored: an error belongs to its row, which changes and goes like others.

Method: as in test_value_errors.py, with years after those that Parquet has and bytes that are no text as
parts of keys: in the snapshot and in the stream, several in a table that only such values tell apart, under
changes of the key with long values that are not sent again, while columns are added, and after a new slot.
"""

from __future__ import annotations

import psycopg
import pytest

from tests.support.database import Database
from tests.support.following import Following, following
from tests.support.here import EQUAL_S_MAX
from tests.support.server import HeadwaterServer, eventually

FAR, FARTHER = "294276-12-31 23:59:59.5", "294276-12-31 23:59:59.6"


def keys(here: Following, table: str) -> list[str]:
    """Those of rows with values that are listed."""
    query = (
        "SELECT e.key FROM mz_internal.mz_source_value_errors e"
        " JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = e.table_id"
        f" WHERE n.schema_name = '{here.schema}' AND n.name = '{table}' ORDER BY 1"
    )
    return [row[0] for row in here.rows(query)]


def listed(here: Following, table: str, *wanted: str) -> None:
    """Wait until rows with just these keys are listed."""

    def same() -> bool:
        assert keys(here, table) == list(wanted)
        return True

    eventually(same, within_s=EQUAL_S_MAX)


def verified(here: Following, table: str) -> None:
    assert here.rows(f"VERIFY TABLE {table}")[0][0] == "equal"


def test_a_row_whose_key_cannot_be_stored_fails_reads_until_it_is_gone(
    server: HeadwaterServer, database: Database
) -> None:
    with following(
        server,
        database,
        "CREATE TABLE far (at timestamp, id int, t text, PRIMARY KEY (at, id))",
        "CREATE TABLE beside (id int PRIMARY KEY)",
        f"INSERT INTO far VALUES ('2024-01-01', 1, 'x'), ('{FAR}', 1, 'y'), ('{FARTHER}', 1, 'z')",
    ) as here:
        here.create_table("far")
        here.create_table("beside")
        assert here.value_error_of("far") == (
            f'Source error: value "{FAR}" of column "at" in row (at, id)=({FAR}, 1) of table'
            f' "materialize.{here.schema}.far" cannot be stored: timestamp out of range'
        )
        with pytest.raises(psycopg.errors.DataException) as told:
            here.rows("SELECT 1 FROM far")
        assert str(told.value.diag.message_hint).endswith(
            "WITH (ON VALUE ERROR = NULL) or with TEXT COLUMNS (at)."
        )
        listed(here, "far", f"(at, id)=({FAR}, 1)", f"(at, id)=({FARTHER}, 1)")
        verified(here, "far")
        # One goes, and the other stays.
        database.run(f"DELETE FROM far WHERE at = '{FAR}'", "INSERT INTO beside VALUES (1)")
        here.follows("beside")
        listed(here, "far", f"(at, id)=({FARTHER}, 1)")
        here.value_error_of("far")
        # A change of the key is the end of it, another change is not.
        database.run(f"UPDATE far SET t = 'w' WHERE at = '{FARTHER}'")
        here.value_error_of("far")
        database.run(f"UPDATE far SET at = '2025-01-01' WHERE at = '{FARTHER}'")
        here.follows("far")
        listed(here, "far")
        # The same in the stream, several times in a transaction.
        with database.connection.transaction():
            database.run(
                f"UPDATE far SET at = '{FAR}' WHERE at = '2025-01-01'",
                f"INSERT INTO far VALUES ('{FARTHER}', 1, 'a'), ('{FARTHER}', 2, 'b')",
                f"UPDATE far SET id = 3 WHERE at = '{FARTHER}' AND id = 1",
                f"UPDATE far SET at = '{FARTHER}' WHERE at = '{FAR}'",
            )
        listed(here, "far", *(f"(at, id)=({FARTHER}, {n})" for n in (1, 2, 3)))
        verified(here, "far")
        database.run("DELETE FROM far WHERE id > 1")
        listed(here, "far", f"(at, id)=({FARTHER}, 1)")
        database.run("TRUNCATE far", f"INSERT INTO far VALUES ('{FAR}', 7, 'v')")
        listed(here, "far", f"(at, id)=({FAR}, 7)")
        database.run("UPDATE far SET at = now()")
        here.follows("far")
        verified(here, "far")


def test_long_values_come_along_with_such_keys(server: HeadwaterServer, database: Database) -> None:
    with following(
        server,
        database,
        "CREATE TABLE toast (at timestamptz PRIMARY KEY, n int, t text)",
        "ALTER TABLE toast ALTER t SET STORAGE EXTERNAL",
        f"INSERT INTO toast VALUES ('{FAR}+00', 1, repeat('x', 4000))",
        f"INSERT INTO toast VALUES ('{FARTHER}+00', 2, repeat('y', 5000))",
    ) as here:
        here.create_table("toast")
        here.value_error_of("toast")
        database.run("UPDATE toast SET n = n + 1", "UPDATE toast SET at = '2024-01-01' WHERE n = 2")
        listed(here, "toast", f"(at)=({FARTHER}+00)")
        database.run(
            f"UPDATE toast SET at = '{FAR}+00' WHERE n = 3",
            f"UPDATE toast SET at = '{FARTHER}+00' WHERE n = 2",
        )
        listed(here, "toast", f"(at)=({FAR}+00)", f"(at)=({FARTHER}+00)")
        database.run("UPDATE toast SET at = timestamptz '2024-01-01' + n * interval '1 day'")
        here.follows("toast")
        verified(here, "toast")


def test_columns_are_added_and_slots_replaced_under_such_rows(
    server: HeadwaterServer, database: Database
) -> None:
    with following(
        server,
        database,
        "CREATE TABLE wide (at timestamp PRIMARY KEY, n int, m int)",
        f"INSERT INTO wide VALUES ('{FAR}', 1, 1), ('{FARTHER}', 2, 2), ('2024-01-01', 3, 3)",
    ) as here:
        here.create_table("wide", options="EXCLUDE COLUMNS (m)")
        here.value_error_of("wide")
        here.run("ALTER TABLE wide ADD COLUMN m")
        listed(here, "wide", f"(at)=({FAR})", f"(at)=({FARTHER})")
        database.run(f"DELETE FROM wide WHERE at = '{FAR}'")
        listed(here, "wide", f"(at)=({FARTHER})")
        # What happened without a slot is found by difference.
        slot = here.slots()[0]
        database.run(
            f"SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '{slot}'"
        )

        def dropped() -> bool:
            database.run(f"SELECT pg_drop_replication_slot('{slot}')")
            return True

        eventually(dropped, within_s=EQUAL_S_MAX)
        database.run(f"DELETE FROM wide WHERE at = '{FARTHER}'", f"INSERT INTO wide VALUES ('{FAR}', 4, 4)")
        here.error_of("wide")
        here.run("ALTER SOURCE src RESYNC")
        listed(here, "wide", f"(at)=({FAR})")
        database.run("UPDATE wide SET at = '2025-01-01' WHERE n = 4")
        here.follows("wide")
        verified(here, "wide")
        # A table without such rows gets columns beside us, and such a row comes later.
        here.create_table("narrow", "wide", "EXCLUDE COLUMNS (m)")
        here.follows("narrow", "wide", "at, n")
        here.run("ALTER TABLE narrow ADD COLUMN m")
        here.follows("narrow", "wide")
        database.run(f"UPDATE wide SET at = '{FAR}' WHERE n = 4")
        listed(here, "narrow", f"(at)=({FAR})")
        database.run("DELETE FROM wide WHERE n = 4")
        here.follows("narrow", "wide")


def test_the_owner_of_a_table_may_want_null_in_the_key(server: HeadwaterServer, database: Database) -> None:
    with following(
        server,
        database,
        "CREATE TABLE odd (at timestamp PRIMARY KEY, t text)",
        f"INSERT INTO odd VALUES ('{FAR}', 'x'), ('{FARTHER}', 'y'), ('2024-01-01', 'z')",
    ) as here:
        here.create_table("nulled", "odd", "ON VALUE ERROR = NULL")
        here.create_table("told", "odd", "ON VALUE ERROR = COLUMN lost")
        assert here.rows("SELECT * FROM nulled WHERE at IS NULL ORDER BY t") == [(None, "x"), (None, "y")]
        assert here.rows("SELECT lost->>'at', t FROM told WHERE lost IS NOT NULL ORDER BY t") == [
            (FAR, "x"),
            (FARTHER, "y"),
        ]
        database.run(f"DELETE FROM odd WHERE at = '{FAR}'", "UPDATE odd SET t = t || t")
        here.follows("nulled", "odd", "t")
        here.follows("told", "odd", "t")
        verified(here, "nulled")
        database.run(f"UPDATE odd SET at = '2025-01-01' WHERE at = '{FARTHER}'")
        here.follows("nulled", "odd")
        here.follows("told", "odd", "at, t")


def test_bytes_that_are_no_text_may_be_in_a_key(server: HeadwaterServer, bytes_database: Database) -> None:
    with following(
        server,
        bytes_database,
        "CREATE TABLE named (name text PRIMARY KEY, n int)",
        "INSERT INTO named VALUES (E'caf\\351', 1), (E'\\\\xff\\377', 2), (E'\\377\\\\xff', 3), ('fine', 4)",
    ) as here:
        here.create_table("named")
        listed(here, "named", *sorted(("(name)=(caf\\xe9)", *["(name)=(\\xff\\xff)"] * 2)))
        bytes_database.run("DELETE FROM named WHERE n = 2")
        listed(here, "named", *sorted(("(name)=(caf\\xe9)", "(name)=(\\xff\\xff)")))
        bytes_database.run("UPDATE named SET name = 'better' WHERE n IN (3)", "DELETE FROM named WHERE n = 1")
        here.follows("named")
        verified(here, "named")
