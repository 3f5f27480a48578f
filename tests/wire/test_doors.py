"""A server that asks for passwords: every driver logs in, nobody else does, and nothing secret leaks.

Method: one real server with a certificate and --auth password, and clients as users have them.  For what
leaks, values are planted wherever the product takes one, in what succeeds and in what fails, and
then all that the server has shown or left behind is searched for them.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import resource
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import asyncpg
import psycopg
import psycopg2
import pytest
import sqlalchemy

from headwater.options import Address
from headwater.running import find_server
from tests.support.certificates import Authority
from tests.support.server import QUICK_SPARK, HeadwaterServer, eventually

PASSWORD = "planted-admin-\u2168"
ADMIN = "materialize"


class Guarded:
    """The server and what its clients need."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.authority = Authority(directory, "authority")
        (directory / "ca.crt").write_text(self.authority.certificate)
        (directory / "password").write_text(f"{PASSWORD}\n")
        self.write("localhost", "server")
        self.write(ADMIN, "client")
        option = {
            "AUTH": "password",
            "ADMIN_PASSWORD_FILE": directory / "password",
            "TLS_CERTIFICATE": directory / "server.crt",
            "TLS_KEY": directory / "server.key",
            "TLS_CLIENT_CA": directory / "ca.crt",
        }
        environment = {f"HEADWATER_SERVER_{name}": str(value) for name, value in option.items()}
        resource.setrlimit(resource.RLIMIT_CORE, resource.getrlimit(resource.RLIMIT_CORE)[1:] * 2)
        self.server = HeadwaterServer(directory / "data", spark_conf=QUICK_SPARK, environment=environment)
        self.context = ssl.create_default_context(cafile=directory / "ca.crt")

    def write(self, subject: str, name: str) -> None:
        signed = self.authority.sign(subject, (subject,) if name == "server" else ())
        for suffix, text in (("key", signed.key), ("crt", signed.certificate)):
            path = self.directory / f"{name}.new"
            path.write_text(text)
            path.chmod(0o600)
            path.rename(self.directory / f"{name}.{suffix}")

    def dsn(self, **options: str) -> str:
        facts = {
            "host": "localhost",
            "hostaddr": "127.0.0.1",
            "port": str(self.server.sql_port),
            "user": ADMIN,
            "dbname": "materialize",
            "password": PASSWORD,
            "sslmode": "verify-full",
            "sslrootcert": str(self.directory / "ca.crt"),
            "sslcert": "/nowhere",
            **options,
        }
        return " ".join(f"{name}='{value}'" for name, value in facts.items())

    def connect(self, **options: str) -> psycopg.Connection[Any]:
        return psycopg.connect(self.dsn(**options), autocommit=True)

    def https(self, path: str, body: object = None, user: str | None = None, password: str = "") -> str:
        made = Request(f"https://localhost:{self.server.http_port}{path}")
        if body is not None:
            made.data = json.dumps(body).encode()
            made.add_header("content-type", "application/json")
        if user is not None:
            basic = base64.b64encode(f"{user}:{password}".encode()).decode()
            made.add_header("authorization", f"Basic {basic}")
        with urlopen(made, timeout=30, context=self.context) as answer:
            text: str = answer.read().decode()
            return text


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    made = Guarded(tmp_path_factory.mktemp("doors"))
    made.server.start()
    yield made
    made.server.stop()


@pytest.mark.parametrize("binding", ["disable", "require"])
def test_psycopg(guarded: Guarded, binding: str) -> None:
    with guarded.connect(channel_binding=binding) as connection:
        assert connection.execute("SELECT current_user").fetchone() == (ADMIN,)


def test_psycopg2(guarded: Guarded) -> None:
    connection = psycopg2.connect(guarded.dsn())
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        assert cursor.fetchone() == (ADMIN,)
    connection.close()


def test_asyncpg(guarded: Guarded) -> None:
    async def work() -> None:
        connection = await asyncpg.connect(
            host="localhost",
            port=guarded.server.sql_port,
            user=ADMIN,
            password=PASSWORD,
            database="materialize",
            ssl=guarded.context,
        )
        assert await connection.fetchval("SELECT current_user") == ADMIN
        await connection.close()

    asyncio.run(work())


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2"])
def test_sqlalchemy(guarded: Guarded, driver: str) -> None:
    connect = psycopg.connect if driver == "psycopg" else psycopg2.connect
    engine = sqlalchemy.create_engine(f"postgresql+{driver}://", creator=lambda: connect(guarded.dsn()))
    with engine.connect() as connection:
        assert connection.execute(sqlalchemy.text("SELECT current_user")).scalar() == ADMIN
    engine.dispose()


def psql(guarded: Guarded, *words: str, **options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["psql", "-X", "-w", "-At", "-d", guarded.dsn(**options), *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_psql(guarded: Guarded) -> None:
    assert psql(guarded, "-c", "SELECT current_user").stdout == f"{ADMIN}\n"
    assert "SSL connection" in psql(guarded, "-c", "\\conninfo").stdout


@pytest.mark.parametrize("user", [ADMIN, "nobody", "mz_system"])
def test_nobody_else_comes_in(guarded: Guarded, user: str) -> None:
    said = psql(guarded, "-c", "SELECT 1", user=user, password="planted-wrong")
    assert said.returncode == 2
    assert f'FATAL:  password authentication failed for user "{user}"' in said.stderr


def test_nothing_is_said_in_the_clear(guarded: Guarded) -> None:
    said = psql(guarded, "-c", "SELECT 1", sslmode="disable")
    assert "no encryption" in said.stderr


def test_a_certificate_will_do(guarded: Guarded) -> None:
    paths = {
        "sslcert": str(guarded.directory / "client.crt"),
        "sslkey": str(guarded.directory / "client.key"),
    }
    with guarded.connect(password="", **paths) as connection:
        assert connection.execute("SELECT current_user").fetchone() == (ADMIN,)


def test_http_asks_as_well(guarded: Guarded) -> None:
    assert "headwater_" in guarded.https("/metrics")
    body = {"query": "SELECT current_user"}
    assert ADMIN in guarded.https("/api/sql", body, ADMIN, PASSWORD)
    for user, password in ((None, ""), (ADMIN, "planted-wrong"), ("nobody", PASSWORD)):
        with pytest.raises(HTTPError) as raised:
            guarded.https("/api/sql", body, user, password)
        assert raised.value.code == 401
    with pytest.raises(HTTPError) as refused:
        urlopen(f"http://localhost:{guarded.server.http_port}/metrics", timeout=30)
    assert refused.value.code == 400


def test_the_operator_is_asked_for_nothing(guarded: Guarded) -> None:
    with guarded.server.connect_operator() as connection:
        assert connection.execute("SHOW is_superuser").fetchone() == ("on",)


def test_a_crash_would_leave_no_memory_behind(guarded: Guarded) -> None:
    server = guarded.server.process
    assert server is not None
    cluster = eventually(guarded.server.cluster_pid)
    for pid in (server.pid, cluster):
        limits = Path(f"/proc/{pid}/limits").read_text().splitlines()
        (core,) = [line for line in limits if line.startswith("Max core file size")]
        assert core.split()[4] == "0"


def test_a_certificate_is_renewed_while_the_server_runs(guarded: Guarded) -> None:
    def shown() -> str:
        return ssl.get_server_certificate(("localhost", guarded.server.http_port))

    before = shown()
    with guarded.connect() as connection:
        guarded.write("localhost", "server")
        eventually(lambda: shown() != before)
        guarded.connect(channel_binding="require").close()
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_where_the_operator_wants_it_connections_stay_outside(guarded: Guarded) -> None:
    guarded.server.operate("ALTER SYSTEM SET storage_enforce_external_addresses = on")
    try:
        with guarded.connect() as connection:
            for host in ("127.0.0.1", "localhost", "169.254.169.254", "[::1]"):
                for kind in (
                    f"POSTGRES (HOST '{host.strip('[]')}', USER 'u', DATABASE 'd')",
                    f"KAFKA (BROKER '{host}:9092', SECURITY PROTOCOL PLAINTEXT)",
                    f"CONFLUENT SCHEMA REGISTRY (URL 'http://{host}:8081')",
                ):
                    with pytest.raises(psycopg.Error, match="external addresses only"):
                        connection.execute(f"CREATE CONNECTION inside TO {kind}".encode())
    finally:
        guarded.server.operate("ALTER SYSTEM RESET storage_enforce_external_addresses")


def test_a_page_that_came_in_the_clear_is_a_foreign_one(guarded: Guarded) -> None:
    own = f"://localhost:{guarded.server.http_port}"
    for scheme, status in (("http", 403), ("https", 200)):
        asked = Request(f"https{own}/api/sql", json.dumps({"query": "SELECT 1"}).encode())
        basic = base64.b64encode(f"{ADMIN}:{PASSWORD}".encode()).decode()
        headers = {"content-type": "application/json", "authorization": f"Basic {basic}"}
        for name, value in {**headers, "origin": f"{scheme}{own}"}.items():
            asked.add_header(name, value)
        assert status_of(guarded, asked) == status


def status_of(guarded: Guarded, asked: Request) -> int:
    try:
        with urlopen(asked, timeout=30, context=guarded.context) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code


@pytest.fixture(scope="module")
def ann(guarded: Guarded) -> dict[str, str]:
    """A role that may log in, and nothing else."""
    with guarded.connect() as connection:
        connection.execute("CREATE ROLE ann LOGIN PASSWORD 'planted-ann' CONNECTION LIMIT 1")
    return {"user": "ann", "password": "planted-ann"}


def test_roles_log_in_with_passwords_of_their_own(guarded: Guarded, ann: dict[str, str]) -> None:
    with guarded.connect(**ann) as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("ann",)
        with pytest.raises(psycopg.OperationalError, match='too many connections for role "ann"'):
            guarded.connect(**ann)
    body = {"query": "SELECT current_user"}
    assert "ann" in eventually(lambda: _answered(guarded, body, "ann", "planted-ann"))
    with guarded.connect() as admin:
        admin.execute("ALTER ROLE ann PASSWORD 'planted-changed'")
        for way in (lambda: guarded.connect(**ann), lambda: guarded.https("/api/sql", body, *ann.values())):
            with pytest.raises((psycopg.OperationalError, HTTPError)):
                way()
        eventually(lambda: guarded.connect(**{**ann, "password": "planted-changed"}))
        admin.execute("ALTER ROLE ann NOLOGIN")
        with pytest.raises(psycopg.OperationalError, match='role "ann" is not permitted to log in'):
            guarded.connect(**{**ann, "password": "planted-changed"})
        admin.execute("ALTER ROLE ann LOGIN PASSWORD 'planted-ann' CONNECTION LIMIT -1")


def _answered(guarded: Guarded, body: object, user: str, password: str) -> str:
    try:
        return guarded.https("/api/sql", body, user, password)
    except HTTPError as error:
        if error.code != 503:  # the session before is still being closed
            raise
        return ""


def test_who_was_refused_what_is_written_down(guarded: Guarded, ann: dict[str, str]) -> None:
    with guarded.connect(**ann) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("CREATE DATABASE anns")
    log = guarded.server.log_path.read_text()
    (line,) = [line for line in log.splitlines() if "statement refused" in line]
    assert "user=ann" in line
    assert "client=127.0.0.1" in line
    asked = "SELECT statement, client_ip, count::int8 FROM mz_internal.mz_refusals WHERE \"user\" = 'ann'"
    with guarded.connect() as admin:
        assert ("CREATE DATABASE", "127.0.0.1", 1) in admin.execute(asked).fetchall()


def test_the_log_tells_who_came_and_what_they_changed(guarded: Guarded, ann: dict[str, str]) -> None:
    """In one place: logins by each protocol, good and bad, changes, and where from."""
    with guarded.connect() as admin:
        address = admin.info.get_parameters()["hostaddr"]
        admin.execute("CREATE TABLE told (a int)")
        admin.execute("DROP TABLE told")
    assert _answered(guarded, {"query": "SELECT 1"}, ann["user"], ann["password"])
    with suppress(HTTPError):
        guarded.https("/api/sql", {"query": "SELECT 1"}, ADMIN, "wrong")
    lines = [line for line in guarded.server.log_path.read_text().splitlines() if f"client={address}" in line]
    for facts in (
        ("login ", f"user={ADMIN}"),
        ("login ", "user=ann"),
        ("login failed", f"user={ADMIN}", "method=password"),
        ("catalog changed", f"user={ADMIN}", "change='create table'", '"item": "told"'),
        ("catalog changed", f"user={ADMIN}", "change='drop table'", '"item": "told"'),
    ):
        assert [line for line in lines if all(fact in line for fact in facts)], facts


def test_the_doctor_finds_it_well(guarded: Guarded) -> None:
    http = Address("127.0.0.1", guarded.server.http_port)

    def well() -> bool:
        found = find_server(guarded.server.data_dir, http)
        return found is not None and found.trouble is None

    eventually(well, within_s=60)


PLANTED = "planted-"
_TAKES_VALUES = (
    "CREATE SECRET kept AS 'planted-secret'",
    "CREATE SECRET kept AS 'planted-again'",
    "CREATE SECRET AS 'planted-syntax' oops",
    "ALTER SECRET kept AS 'planted-altered'",
    "ALTER SECRET nowhere AS 'planted-nowhere'",
    "CREATE SECRET other AS 'planted-' || 1/0",
    "CREATE CONNECTION c TO POSTGRES (HOST 'h', USER 'u', PASSWORD 'planted-inline', DATABASE 'd')",
    "CREATE CONNECTION c TO POSTGRES (HOST 'h', USER 'u', PASSWORD SECRET kept) WITH (VALIDATE = false)",
    "CREATE TABLE hook FROM WEBHOOK BODY FORMAT TEXT CHECK (WITH (BODY, SECRET kept) body::int = kept::int)",
    "EXPLAIN SELECT 1 WHERE EXISTS (SELECT FROM hook)",
    "SHOW CREATE TABLE hook",
    "CREATE ROLE planned LOGIN PASSWORD 'planted-role'",
    "CREATE ROLE planned LOGIN PASSWORD 'planted-twice'",
    "ALTER ROLE planned PASSWORD 'planted-new'",
    "ALTER ROLE nobody PASSWORD 'planted-nobody'",
    "EXPLAIN CREATE SECRET x AS 'planted-explained'",
    "PREPARE p AS CREATE SECRET y AS 'planted-prepared'",
    "SHOW CREATE SECRET kept",
    "SHOW CREATE CONNECTION c",
)


def test_nothing_secret_is_anywhere(guarded: Guarded) -> None:
    with guarded.connect() as connection:
        errors = []
        for statement in _TAKES_VALUES:
            try:
                errors.append(str(connection.execute(statement.encode()).statusmessage))
            except psycopg.Error as error:
                said = error.diag  # and not its text, in which libpq shows the statement again
                errors.append(
                    f"{said.message_primary} {said.message_detail} {said.message_hint} {said.context}"
                )
        with suppress(psycopg.Error):
            guarded.connect(password="planted-wrong").close()
        names = connection.execute(
            "SELECT s.name, o.name FROM mz_objects o JOIN mz_schemas s ON o.schema_id = s.id"
            " WHERE o.id LIKE 's%' AND o.type IN ('table', 'view', 'source', 'materialized-view')"
        ).fetchall()
        assert len(names) > 50
        relations = []
        for schema, name in names:
            with suppress(psycopg.Error):
                rows = connection.execute(f'SELECT * FROM "{schema}"."{name}"'.encode()).fetchall()
                relations.append(f"{name}: {rows}")
        dump = subprocess.run(
            ["pg_dumpall", "-d", guarded.dsn(), "--schema-only"], capture_output=True, text=True, check=False
        )
    with pytest.raises(HTTPError) as told:
        guarded.https("/api/webhook/materialize/public/hook", "not a number")
    errors.append(told.value.read().decode())
    assert told.value.code == 400
    metrics = guarded.https("/metrics")
    guarded.server.kill_environment()
    log = guarded.server.log_path.read_text()
    for where, text in (
        ("errors", "\n".join(errors)),
        ("relations", "\n".join(relations)),
        ("dump", dump.stdout + dump.stderr),
        ("metrics", metrics),
        ("log", log),
    ):
        assert PLANTED not in text, f"in {where}: {text[max(0, text.find(PLANTED) - 300) :][:600]}"
        assert "SCRAM-SHA-256$" not in text, where
    assert "login failed" in log
    left = [
        path
        for folder, _, files in os.walk(guarded.server.data_dir)
        for path in (Path(folder) / name for name in files)
        if path.is_file() and PLANTED.encode() in path.read_bytes()
    ]
    assert left == []
    guarded.server.start()
    guarded.connect().close()
