"""CREATE CONNECTION, CREATE SOURCE and CREATE TABLE over real servers: what is recorded, and every refusal.

Method: a Headwater server, a MySQL and a MariaDB; each test has a database upstream and a schema here of its
own.  Statements are sent as users send them; errors are compared with their detail and hint, and afterwards
nothing may be left here.
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.mysql.conftest import UNLOGGED
from tests.mysql.database import PASSWORD, Database
from tests.mysql.following import Following
from tests.support.server import HeadwaterServer

PREFIX = "MYSQL source validation: "
PROGRESS = {
    "mysql": [
        *(("source_id_lower", "uuid"), ("source_id_upper", "uuid")),
        *(("transaction_id", "uint8"), ("tag", "text")),
    ],
    "mariadb": [("domain_id", "uint4"), ("server_id", "uint4"), ("sequence_number", "uint8")],
}


@pytest.fixture
def client(server: HeadwaterServer, database: Database) -> Iterator[Following]:
    made = Following(server, database)
    yield made
    made.close()


@pytest.fixture
def source(client: Following) -> Following:
    """With a source `s` over a table `t`."""
    client.database.run("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL)")
    client.run("CREATE SOURCE s FROM MYSQL CONNECTION my")
    return client


def test_a_connection_is_shown_without_its_secrets(client: Following) -> None:
    full, port = f"materialize.{client.schema}", client.database.server.port
    assert client.rows("SHOW CREATE CONNECTION my") == [
        (
            f"{full}.my",
            f"CREATE CONNECTION {full}.my\nTO MYSQL (HOST = '127.0.0.1', PORT = {port},"
            f" USER = '{client.database.user}', PASSWORD = SECRET {full}.{client.database.secret});",
        )
    ]
    assert client.rows("SHOW CONNECTIONS") == [("my", "mysql", "")]
    client.run("VALIDATE CONNECTION my")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("USER 'u'", "HOST option is required"),
        ("HOST 'h'", "USER option is required"),
        ("HOST 'h', USER 'u', SSL MODE 'perhaps'", 'invalid CONNECTION: unknown SSL MODE "perhaps"'),
        (
            "HOST 'h', USER 'u', SSL MODE 'verify-ca'",
            "invalid CONNECTION: SSL MODE VERIFY_CA requires SSL CERTIFICATE AUTHORITY",
        ),
        (
            "HOST 'h', USER 'u', SSL MODE required, SSL CERTIFICATE 'c'",
            "invalid CONNECTION: both SSL KEY and SSL CERTIFICATE are required",
        ),
        (
            "HOST 'h', USER 'u', SSL CERTIFICATE AUTHORITY 'c'",
            "invalid CONNECTION: SSL CERTIFICATE AUTHORITY is of no use with SSL MODE DISABLED",
        ),
        ("HOST 'h', USER 'u', DATABASE 'd'", "MYSQL connections do not support DATABASE values"),
    ],
)
def test_a_connection_that_cannot_be_is_refused(server: HeadwaterServer, options: str, message: str) -> None:
    with server.connect() as session, pytest.raises(psycopg.Error) as error:
        session.execute(f"CREATE CONNECTION c TO MYSQL ({options})".encode())
    assert error.value.diag.message_primary == message


def test_a_connection_is_tried_when_it_is_made_and_when_it_is_changed(client: Following) -> None:
    user = client.database.user
    message, detail, hint = client.refusal(
        f"CREATE CONNECTION c TO MYSQL (HOST '127.0.0.1', PORT {client.database.server.port}, USER '{user}')"
    )
    assert message.startswith(f"Access denied for user '{user}'@")
    assert detail == f'The connection is to "127.0.0.1:{client.database.server.port}", as user "{user}".'
    assert str(hint).startswith("Check USER and PASSWORD")
    message, _, _ = client.refusal("ALTER CONNECTION my SET (PORT 1)")
    assert message == "error connecting to server: Connection refused"
    client.run("VALIDATE CONNECTION my")


def test_a_source_is_recorded_with_its_references(source: Following) -> None:
    full = f"materialize.{source.schema}"
    assert source.rows("SHOW CREATE SOURCE s") == [
        (f"{full}.s", f"CREATE SOURCE {full}.s\nIN CLUSTER quickstart\nFROM MYSQL CONNECTION {full}.my;")
    ]
    assert source.rows("SHOW SOURCES") == [("s", "mysql", "quickstart", "")]
    assert source.rows(
        "SELECT r.namespace, r.name, r.columns FROM mz_internal.mz_source_references r"
        " JOIN mz_catalog.mz_sources s ON s.id = r.source_id"
        f" JOIN mz_catalog.mz_schemas x ON x.id = s.schema_id WHERE x.name = '{source.schema}'"
    ) == [(source.schema, "t", ["id", "name"])]
    shown = [(name, type_) for name, _, type_, _ in source.rows("SHOW COLUMNS FROM s")]
    assert shown == PROGRESS[source.database.server.flavour]


def test_a_table_is_recorded_with_its_full_reference_and_can_be_made_again(source: Following) -> None:
    source.database.run(
        "CREATE TABLE u (id INT UNSIGNED PRIMARY KEY, `Mood` ENUM('sad'), gone SET('x'), n DECIMAL(8,3),"
        " big DECIMAL(65,30), hidden INT INVISIBLE, twice INT AS (n * 2) VIRTUAL, UNIQUE (n))"
    )
    source.run(
        'CREATE TABLE ours FROM SOURCE s (REFERENCE u) WITH (TEXT COLUMNS ("Mood"), EXCLUDE COLUMNS (gone))'
    )
    full = f"materialize.{source.schema}"
    ((name, text),) = source.rows("SHOW CREATE TABLE ours")
    assert (name, text) == (
        f"{full}.ours",
        f"CREATE TABLE {full}.ours\nFROM SOURCE {full}.s (REFERENCE = {source.schema}.u)\n"
        'WITH (TEXT COLUMNS = ("Mood"), EXCLUDE COLUMNS = (gone));',
    )
    columns = source.rows("SHOW COLUMNS FROM ours")
    assert [column[:3] for column in columns] == [
        ("id", False, "uint4"),
        ("Mood", True, "text"),
        ("n", True, "numeric"),
        ("big", True, "numeric"),
        ("hidden", True, "integer"),
        ("twice", True, "integer"),
    ]
    assert source.rows(
        "SELECT t.name, p.schema_name, p.table_name FROM mz_internal.mz_mysql_source_tables p"
        " JOIN mz_catalog.mz_tables t ON t.id = p.id JOIN mz_catalog.mz_schemas x ON x.id = t.schema_id"
        f" WHERE x.name = '{source.schema}'"
    ) == [("ours", source.schema, "u")]
    source.run("DROP TABLE ours", text)
    assert source.rows("SHOW COLUMNS FROM ours") == columns
    assert source.rows("SHOW TABLES ON s") == [("ours", "")]


def test_columns_may_be_listed_and_are_taken_in_that_order(source: Following) -> None:
    source.run("CREATE TABLE ours (name, id) FROM SOURCE s (REFERENCE t)")
    assert [row[0] for row in source.rows("SHOW COLUMNS FROM ours")] == ["name", "id"]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE TABLE x FROM SOURCE s", f"{PREFIX}missing TABLES specification"),
        ("CREATE TABLE x FROM SOURCE s (REFERENCE nothing)", "reference to nothing not found in source"),
        ("CREATE TABLE x FROM SOURCE s (REFERENCE user)", "reference to user not found in source"),
        (
            "CREATE TABLE x FROM SOURCE s (REFERENCE t) WITH (TEXT COLUMNS (nothing))",
            'invalid TEXT COLUMNS option value: column "t.nothing" does not exist',
        ),
        (
            "CREATE TABLE x FROM SOURCE s (REFERENCE t) WITH (TEXT COLUMNS (id))",
            f"{PREFIX}referenced tables use unsupported types",
        ),
        ("CREATE TABLE x FROM SOURCE s (REFERENCE odd)", f"{PREFIX}referenced tables use unsupported types"),
        ("CREATE TABLE x FROM SOURCE s (REFERENCE reserved)", 'column name "_op" is reserved'),
        ("CREATE TABLE s FROM SOURCE s (REFERENCE t)", "catalog item 's' already exists"),
    ],
)
def test_a_table_that_cannot_be_is_refused(source: Following, statement: str, message: str) -> None:
    source.database.run(
        "CREATE TABLE odd (a INT PRIMARY KEY, g GEOMETRY)",
        "CREATE TABLE reserved (a INT PRIMARY KEY, _op TEXT)",
    )
    assert source.refusal(statement)[0] == message
    assert source.names() == {"s"}


def test_what_is_no_table_or_cannot_be_followed_is_told_of(source: Following) -> None:
    source.database.run("CREATE VIEW seen AS SELECT 1", "CREATE TABLE files (a INT) ENGINE = MyISAM")
    message, detail, hint = source.refusal("CREATE TABLE x FROM SOURCE s (REFERENCE seen)")
    assert message == "reference to seen not found in source"
    assert detail == f"{source.schema}.seen is a view, and changes of tables alone are logged."
    assert hint == "Name the tables it is made of."
    message, _, hint = source.refusal("CREATE TABLE x FROM SOURCE s (REFERENCE files)")
    assert message == f"{PREFIX}table {source.schema}.files is kept by MyISAM"
    assert hint == f"In the upstream: ALTER TABLE `{source.schema}`.`files` ENGINE = InnoDB"


def test_a_short_name_that_several_databases_have_is_ambiguous(source: Following) -> None:
    other = f"{source.schema}_other"
    source.database.run(f"CREATE DATABASE {other}", f"CREATE TABLE {other}.t (a INT)")
    source.database.run(f"GRANT SELECT ON {other}.* TO {source.database.user}@'%'")
    try:
        message, _, _ = source.refusal("CREATE TABLE x FROM SOURCE s (REFERENCE t)")
        assert message.startswith("reference t is ambiguous, consider specifying an additional layer")
        message, detail, hint = source.refusal(f"CREATE TABLE x FROM SOURCE s (REFERENCE {other}.t)")
        assert message == f"{PREFIX}User lacks required MySQL privileges"
        assert detail == f"Missing MySQL privileges: 'LOCK TABLES' on '{other}.t'"
        source.database.run(str(hint).removeprefix("In the upstream: "))
        source.run(f"CREATE TABLE x FROM SOURCE s (REFERENCE {other}.t)", "DROP TABLE x")
    finally:
        source.database.run(f"DROP DATABASE {other}")


def test_a_source_needs_the_right_to_follow(client: Following) -> None:
    database = client.database
    database.run("CREATE TABLE t (a INT)", f"REVOKE REPLICATION SLAVE ON *.* FROM {database.user}@'%'")
    message, detail, hint = client.refusal("CREATE SOURCE s FROM MYSQL CONNECTION my")
    assert message == f"{PREFIX}User lacks required MySQL privileges"
    assert detail == "Missing MySQL privileges: 'REPLICATION SLAVE' on '*.*'"
    assert client.names() == set()
    database.run(str(hint).removeprefix("In the upstream: "))
    client.run("CREATE SOURCE s FROM MYSQL CONNECTION my")


def test_a_source_that_cannot_be_is_refused(client: Following) -> None:
    message, _, _ = client.refusal("CREATE SOURCE s FROM MYSQL CONNECTION my")
    assert message == f"{PREFIX}No tables found for provided reference"
    client.database.run("CREATE TABLE t (a INT)")
    message, _, _ = client.refusal("CREATE SOURCE s FROM MYSQL CONNECTION my (TEXT COLUMNS (t.a))")
    assert message == f"{PREFIX}TEXT COLUMNS option is unnecessary when no tables are added"
    message, _, _ = client.refusal("CREATE SOURCE s FROM POSTGRES CONNECTION my (PUBLICATION 'p')")
    assert message == "my is not a POSTGRES CONNECTION"
    assert client.names() == set()


def test_a_log_without_names_of_columns_is_for_the_legacy_syntax(
    client: Following, without_names: None
) -> None:
    client.database.run("CREATE TABLE t (a INT PRIMARY KEY)")
    client.run("CREATE SOURCE s FROM MYSQL CONNECTION my")
    assert client.notices == [
        "WARNING: binlog_row_metadata of the upstream is MINIMAL, so that"
        " CREATE TABLE .. FROM SOURCE cannot be used"
    ]
    message, _, hint = client.refusal("CREATE TABLE t FROM SOURCE s (REFERENCE t)")
    assert message == (
        "The MySQL system variable 'binlog_row_metadata' is set to an unsupported value: MINIMAL."
        " Materialize requires this variable to be set to 'FULL' to use the"
        ' "CREATE TABLE FROM SOURCE" syntax for MySQL sources.'
    )
    assert "binlog_row_metadata = 'FULL'" in str(hint)
    client.run("CREATE SOURCE o FROM MYSQL CONNECTION my FOR TABLES (t)")


def test_a_database_that_is_not_in_the_log_is_refused(source: Following) -> None:
    database = source.database
    database.run(f"CREATE DATABASE {UNLOGGED}", f"CREATE TABLE {UNLOGGED}.t2 (a INT)")
    try:
        database.run(f"GRANT SELECT, LOCK TABLES ON {UNLOGGED}.* TO {database.user}@'%'")
        message, detail, _ = source.refusal("CREATE SOURCE q FROM MYSQL CONNECTION my FOR TABLES (t2)")
        assert message == f"{PREFIX}changes of table unlogged.t2 are not in the upstream's binary log"
        assert detail == "The server leaves database unlogged out (binlog_ignore_db)."
    finally:
        database.run(f"DROP DATABASE {UNLOGGED}")


def test_cascades_that_are_not_logged_are_told_of(source: Following) -> None:
    source.database.run(
        "CREATE TABLE chi (a INT PRIMARY KEY, b INT,"
        " CONSTRAINT fk FOREIGN KEY (b) REFERENCES t (id) ON DELETE CASCADE)"
    )
    source.run("CREATE TABLE chi FROM SOURCE s (REFERENCE chi)")
    told = [
        f"NOTICE: what foreign keys of {source.schema}.chi do to its rows is not in the upstream's log (fk)"
    ]
    assert source.notices == (told if source.database.server.flavour == "mariadb" else [])


def test_a_password_that_is_changed_is_used_from_then_on(source: Following) -> None:
    database = source.database
    with database.session.cursor() as cursor:
        cursor.execute("ALTER USER %s@'%%' IDENTIFIED BY 'another'", (database.user,))
    assert source.refusal("CREATE TABLE x FROM SOURCE s (REFERENCE t)")[0].startswith("Access denied")
    source.run(f"ALTER SECRET {database.secret} AS 'another'", "CREATE TABLE x FROM SOURCE s (REFERENCE t)")
    with database.session.cursor() as cursor:
        cursor.execute("ALTER USER %s@'%%' IDENTIFIED BY %s", (database.user, PASSWORD))
