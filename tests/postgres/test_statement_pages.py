"""Every statement on the page of a statement can be typed.

Goal: no page in docs/user/sql shows a statement that fails, or has no statement at all.
Method: each page has a schema of its own, before one with what pages read.  What a page takes for granted is
made first (`FIRST`); then its blocks are run in order, in one session, with only the address of the upstream
put in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import psycopg
import pytest

from headwater.core.clock import unique_name
from headwater.sql.parse import parse_statements
from tests.support import pages
from tests.support.database import Database
from tests.support.pages import blocks
from tests.support.postgres import PostgresServer
from tests.support.server import HeadwaterServer, eventually

FOLDER = pages.FOLDER / "sql"
PAGES = sorted(path.stem for path in FOLDER.glob("*.md"))
SHARED = "pages"

UPSTREAM = (
    "CREATE TABLE orders (id int PRIMARY KEY, amount int, discount int, note text, mood text)",
    "CREATE TABLE visits (id int PRIMARY KEY, address inet)",
    "CREATE TABLE returns (id int PRIMARY KEY)",
    "INSERT INTO orders VALUES (1, 10, 1, 'first', 'good')",
    "CREATE PUBLICATION shop FOR ALL TABLES",
)
SETUP = (
    "CREATE SOURCE auction_house FROM LOAD GENERATOR AUCTION (TICK INTERVAL '100ms')",
    "CREATE TABLE bids FROM SOURCE auction_house (REFERENCE bids)",
    "CREATE SOURCE key_values FROM LOAD GENERATOR KEY VALUE (KEYS 8, PARTITIONS 2, BATCH SIZE 2,"
    " VALUE SIZE 8, SNAPSHOT ROUNDS 1, SEED 1)",
    "CREATE SOURCE shop_now FROM POSTGRES CONNECTION pg (PUBLICATION 'shop')",
    "CREATE TABLE orders FROM SOURCE shop_now (REFERENCE orders)",
)
RATES = "CREATE TABLE rates (currency text NOT NULL, rate numeric(12, 6) DEFAULT 1, valid_from timestamptz)"
CURSOR = ("BEGIN", "DECLARE c CURSOR FOR SELECT * FROM bids")
SAVEPOINT = ("CREATE TABLE t (n int)", "BEGIN", "INSERT INTO t VALUES (1)", "SAVEPOINT before_second")
PREPARED = "PREPARE bids_of (int8) AS SELECT * FROM bids WHERE auction_id = $1"
OLDER = "CREATE SOURCE shop FROM POSTGRES CONNECTION pg (PUBLICATION 'shop')"
ADDRESS = "'shop', TEXT COLUMNS (public.visits.address)"

FIRST: Final[dict[str, tuple[str, ...]]] = {
    "alter_cluster": ("CREATE CLUSTER ingest (SIZE = 'small')",),
    "alter_connection": (
        "CREATE CONNECTION pg TO POSTGRES (HOST 'db.example', DATABASE 'shop', USER 'reader')",
    ),
    "alter_rename": ("CREATE TABLE bids (n int)",),
    "alter_secret": ("CREATE SECRET pgpass AS 'horse'",),
    "alter_source": ("CREATE SOURCE auction_house FROM LOAD GENERATOR AUCTION",),
    "alter_source_add": (f"{OLDER} FOR TABLES (public.orders AS orders)",),
    "alter_source_drop": (
        f"{OLDER} FOR TABLES (public.orders AS orders, public.returns AS returned,"
        " public.visits AS visits)".replace("'shop'", ADDRESS),
    ),
    "alter_swap": ("CREATE TABLE bids (n int)", "CREATE TABLE bids_v2 (n int)"),
    "alter_table": ("CREATE TABLE bids (n int)",),
    "alter_table_add_column": (
        "CREATE TABLE orders FROM SOURCE shop_now (REFERENCE orders)"
        " WITH (EXCLUDE COLUMNS (discount, note, mood))",
    ),
    "close": CURSOR,
    "comment_on": ("CREATE TABLE bids (amount int)",),
    "commit": ("BEGIN",),
    "copy_from": (RATES,),
    "create_connection": ("CREATE SECRET pgpass AS 'any'",),
    "create_schema": ("CREATE DATABASE shop",),
    "deallocate": (PREPARED,),
    "delete": (RATES,),
    "drop": ("CREATE TABLE bids (n int)", "CREATE VIEW auctions_v AS SELECT n FROM bids"),
    "execute": (PREPARED,),
    "fetch": CURSOR,
    "insert": (RATES,),
    "release_savepoint": SAVEPOINT,
    "rollback": ("BEGIN",),
    "rollback_to": SAVEPOINT,
    "savepoint": ("CREATE TABLE t (n int)",),
    "set_variable": ("CREATE CLUSTER ingest (SIZE = 'small')",),
    "show_objects": (f"{OLDER} FOR TABLES (public.orders AS subsource)",),
    "update": (RATES, "INSERT INTO rates VALUES ('CHF', 1.04, now())"),
}
LAST: Final[dict[str, tuple[str, ...]]] = {
    "alter_cluster": ("DROP CLUSTER ingest CASCADE",),
    "alter_default_privileges": ("DROP OWNED BY viewers",),
    "create_cluster": ("DROP CLUSTER ingest CASCADE",),
    "set_variable": ("RESET cluster", "DROP CLUSTER ingest CASCADE"),
    "alter_system": ("ALTER SYSTEM RESET ALL",),
    "create_database": ("DROP DATABASE shop",),
    "create_schema": ("DROP DATABASE shop",),
}
REFUSED: Final = {"create_subsource": "CREATE SUBSOURCE statements"}
"""What the page itself says nobody can type."""


@pytest.fixture(scope="module")
def shop(server: HeadwaterServer, postgres: PostgresServer) -> Iterator[Database]:
    """The upstream of these pages, and what several of them read."""
    name = f"d{unique_name()[:12]}"
    with psycopg.connect(postgres.dsn(), autocommit=True) as session:
        session.execute(f"CREATE DATABASE {name}".encode())
    made = Database(postgres, name)
    made.run(*UPSTREAM)
    with server.connect() as session:
        session.execute(f"CREATE SCHEMA {SHARED}".encode())
        session.execute(f"SET search_path = {SHARED}".encode())
        for text in (made.connection_sql("pg"), *SETUP):
            session.execute(text.encode())
        yield made
        session.execute(f"DROP SCHEMA {SHARED} CASCADE".encode())
    made.connection.close()
    with psycopg.connect(postgres.dsn(), autocommit=True) as session:
        slots = "SELECT count(*) FROM pg_replication_slots WHERE database = %s"
        eventually(lambda: session.execute(slots, (name,)).fetchall() == [(0,)], within_s=60)
        session.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.mark.parametrize("page", PAGES)
def test_every_statement_of_the_page_runs(server: HeadwaterServer, shop: Database, page: str) -> None:
    shown = blocks(FOLDER / f"{page}.md", "sql")
    schema = f"page_{page}"
    server.query(f"CREATE SCHEMA {schema}")
    port = server.internal_port if page == "alter_system" else server.sql_port
    user = "mz_system" if page == "alter_system" else "materialize"
    dsn = f"host=127.0.0.1 port={port} user={user} dbname=materialize"
    with psycopg.connect(dsn, autocommit=True) as session:
        session.execute(f"SET search_path = {schema}, {SHARED}".encode())
        session.execute(b"SET statement_timeout = '60s'")
        for text in FIRST.get(page, ()):
            session.execute(_addressed(text, shop).encode())
        for _, block in shown:
            for statement in parse_statements(_addressed(block, shop)):
                if page in REFUSED:
                    with pytest.raises(psycopg.Error, match=REFUSED[page]):
                        session.execute(statement.text.encode())
                else:
                    _type(session, statement.text)
        if session.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            session.execute(b"ROLLBACK")
        for text in LAST.get(page, ()):
            session.execute(text.encode())
    server.query(f"DROP SCHEMA {schema} CASCADE")


def _addressed(text: str, shop: Database) -> str:
    """With the upstream of the tests in place of the page's."""
    text = re.sub(r"HOST '[a-z.]+'(, PORT \d+)?", f"HOST '127.0.0.1', PORT {shop.server.port}", text)
    text = text.replace("DATABASE 'shop'", f"DATABASE '{shop.name}'").replace("'reader'", "'postgres'")
    return text.replace("SSL MODE 'require'", "SSL MODE 'disable'")


def _type(session: psycopg.Connection[Any], text: str) -> None:
    """Run a statement; one without an end until it has told something."""
    cursor = session.cursor()
    if text.startswith("COPY") and "FROM STDIN" in text:
        with cursor.copy(text.encode()) as copy:
            copy.write("currency,rate\nEUR,1\n")
    elif text.startswith("COPY"):
        with suppress(psycopg.errors.QueryCanceled), cursor.copy(text.encode()) as copy:
            assert copy.read()
            session.cancel()
            while copy.read():
                pass
    elif text.startswith("SUBSCRIBE"):
        with suppress(psycopg.errors.QueryCanceled):
            rows = cursor.stream(text.encode())
            assert next(rows)
            session.cancel()
            for _ in rows:
                pass
    else:
        cursor.execute(text.encode())
