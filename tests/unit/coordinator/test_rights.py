"""Who may do what, statement by statement.

Goal: nobody does what they have no right to, whichever way they ask, and everybody does what they have.

Method: the table of rights is compared with the lists of statements.  Then an environment without a cluster,
real clients: for each kind of statement one that carries it out, with the grants that it takes; it is tried
by a role without any, with all but one of them for each, with all of them, and by the owner.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import pytest

from headwater.coordinator.dispatch import DDL, WITH_ROWS, WITHOUT_ROWS
from headwater.coordinator.rights import RIGHTS, nothing
from headwater.sql.parse import parse_statement
from headwater.sql.statements import STATEMENT_FILES
from headwater.sql.statements.subscribe import Subscribe
from tests.support.environment import Environment

Denied = psycopg.errors.InsufficientPrivilege


def test_every_statement_has_its_rights() -> None:
    assert RIGHTS.keys() == {*DDL, *WITH_ROWS, *WITHOUT_ROWS}
    assert len(RIGHTS) >= len(STATEMENT_FILES)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with Environment(tmp_path_factory.mktemp("rights")) as running:
        yield running


@dataclass(frozen=True)
class Tried:
    """A statement, what must be there for it, and the grants that it takes."""

    statement: str
    grants: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    within: bool = False  # a transaction block
    owned: str | None = None  # what its owner owns: `TABLE t`; or `SUPERUSER`, who owns everything
    fails: bool = False  # for another reason, which takes a cluster or an upstream to go away


TABLE = ("CREATE TABLE {s}.t (a int)", "INSERT INTO {s}.t VALUES (1)")
VIEW = (*TABLE, "CREATE VIEW {s}.v AS SELECT a FROM {s}.t")
SECRET = ("CREATE SECRET {s}.x AS 'hidden'",)
SOURCE = ("CREATE SOURCE {s}.src FROM LOAD GENERATOR COUNTER (UP TO 0)",)
CONNECTION = (
    "CREATE CONNECTION {s}.pg TO POSTGRES (HOST '127.0.0.1', PORT 1, USER 'u', DATABASE 'd')"
    " WITH (VALIDATE = false)",
)
KAFKA = (
    "CREATE CONNECTION {s}.k TO KAFKA (BROKER '127.0.0.1:1', SECURITY PROTOCOL PLAINTEXT) "
    " WITH (VALIDATE = false)",
    "CREATE CONNECTION {s}.csr TO CONFLUENT SCHEMA REGISTRY (URL 'http://127.0.0.1:1') "
    " WITH (VALIDATE = false)",
)
SCHEMA = "USAGE ON SCHEMA {s}"
MAKE = "CREATE ON SCHEMA {s}"
READ = "SELECT ON {s}.t"

TRIED = (
    Tried("SELECT * FROM {s}.t", (SCHEMA, READ), TABLE),
    Tried("SELECT * FROM {s}.v", (SCHEMA, "SELECT ON {s}.v"), VIEW),
    Tried("WITH c AS (SELECT 1 FROM {s}.t) SELECT (SELECT count(*) FROM c)", (SCHEMA, READ), TABLE),
    Tried("SELECT EXISTS (SELECT FROM {s}.t)", (SCHEMA, READ), TABLE),
    Tried("EXPLAIN SELECT * FROM {s}.t", (SCHEMA, READ), TABLE),
    Tried("EXPLAIN ANALYZE SELECT * FROM {s}.t", (SCHEMA, READ), TABLE),
    Tried("EXPLAIN TIMESTAMP FOR SELECT * FROM {s}.t", (SCHEMA, READ), TABLE),
    Tried("EXPLAIN PHYSICAL PLAN FOR SELECT * FROM {s}.t", (SCHEMA, READ), TABLE),
    Tried("COPY {s}.t TO STDOUT", (SCHEMA, READ), TABLE),
    Tried("DECLARE c CURSOR FOR SELECT * FROM {s}.t", (SCHEMA, READ), TABLE, within=True),
    Tried("DECLARE c CURSOR FOR SUBSCRIBE {s}.v", (SCHEMA, "SELECT ON {s}.v"), VIEW, within=True),
    Tried("LOCK TABLE {s}.t IN ACCESS SHARE MODE", (SCHEMA, READ), TABLE, within=True),
    Tried("INSERT INTO {s}.t VALUES (2)", (SCHEMA, "INSERT ON {s}.t"), TABLE),
    Tried("INSERT INTO {s}.t VALUES (2) RETURNING a", (SCHEMA, "INSERT ON {s}.t", READ), TABLE),
    Tried("INSERT INTO {s}.t SELECT a FROM {s}.v", (SCHEMA, "INSERT ON {s}.t", "SELECT ON {s}.v"), VIEW),
    Tried("UPDATE {s}.t SET a = 3", (SCHEMA, "UPDATE ON {s}.t", READ), TABLE),
    Tried("DELETE FROM {s}.t", (SCHEMA, "DELETE ON {s}.t", READ), TABLE),
    Tried("CREATE TABLE {s}.n (a int)", (MAKE,)),
    Tried("CREATE VIEW {s}.n AS SELECT a FROM {s}.t", (MAKE, SCHEMA), TABLE),
    Tried("CREATE SECRET {s}.n AS 'x'", (MAKE,)),
    Tried(
        "CREATE SOURCE {s}.n FROM LOAD GENERATOR COUNTER (UP TO 0)", (MAKE, "CREATE ON CLUSTER quickstart")
    ),
    Tried(
        "CREATE CONNECTION {s}.n TO POSTGRES (HOST 'h', USER 'u', DATABASE 'd', PASSWORD SECRET {s}.x)"
        " WITH (VALIDATE = false)",
        (MAKE, SCHEMA, "USAGE ON SECRET {s}.x"),
        SECRET,
    ),
    Tried("CREATE SCHEMA {s}_n", ("CREATE ON DATABASE materialize",)),
    Tried("CREATE DATABASE {s}_n", ("CREATEDB ON SYSTEM",)),
    Tried("CREATE CLUSTER {s}_n (SIZE 'default')", ("CREATECLUSTER ON SYSTEM",)),
    Tried("CREATE ROLE {s}_n", ("CREATEROLE ON SYSTEM",)),
    Tried("CREATE ROLE {s}_n CREATEDB", ("CREATEROLE ON SYSTEM", "CREATEDB ON SYSTEM")),
    Tried("ALTER ROLE {s}_r NOLOGIN", ("CREATEROLE ON SYSTEM",), ("CREATE ROLE {s}_r",)),
    Tried("DROP ROLE {s}_r", ("CREATEROLE ON SYSTEM",), ("CREATE ROLE {s}_r",)),
    Tried("GRANT {s}_r TO {s}_m", ("CREATEROLE ON SYSTEM",), ("CREATE ROLE {s}_r", "CREATE ROLE {s}_m")),
    Tried("REVOKE {s}_r FROM {s}_m", ("CREATEROLE ON SYSTEM",), ("CREATE ROLE {s}_r", "CREATE ROLE {s}_m")),
    Tried("COMMENT ON ROLE {s}_r IS 'x'", ("CREATEROLE ON SYSTEM",), ("CREATE ROLE {s}_r",)),
    Tried("DROP TABLE {s}.t", (SCHEMA,), TABLE, owned="TABLE {s}.t"),
    Tried("DROP SECRET {s}.x", (SCHEMA,), SECRET, owned="SECRET {s}.x"),
    Tried("DROP SOURCE {s}.src", (SCHEMA,), SOURCE, owned="SOURCE {s}.src"),
    Tried("ALTER TABLE {s}.t RENAME TO u", (SCHEMA, MAKE), TABLE, owned="TABLE {s}.t"),
    Tried("ALTER TABLE {s}.t SET (RETAIN HISTORY FOR '1h')", (SCHEMA,), TABLE, owned="TABLE {s}.t"),
    Tried("ALTER SECRET {s}.x AS 'other'", (SCHEMA,), SECRET, owned="SECRET {s}.x"),
    Tried("ALTER SOURCE {s}.src SET (TIMESTAMP INTERVAL '2s')", (SCHEMA,), SOURCE, owned="SOURCE {s}.src"),
    Tried("COMMENT ON TABLE {s}.t IS 'x'", (SCHEMA,), TABLE, owned="TABLE {s}.t"),
    Tried("COMMENT ON COLUMN {s}.t.a IS 'x'", (SCHEMA,), TABLE, owned="TABLE {s}.t"),
    Tried("GRANT SELECT ON {s}.t TO PUBLIC", (), TABLE, owned="TABLE {s}.t"),
    Tried("REVOKE SELECT ON {s}.t FROM PUBLIC", (), TABLE, owned="TABLE {s}.t"),
    Tried("DROP SCHEMA {s} CASCADE", (), TABLE, owned="SCHEMA {s}"),
    Tried("GRANT CREATEDB ON SYSTEM TO PUBLIC", owned="SUPERUSER"),
    Tried("CREATE ROLE {s}_n SUPERUSER", ("CREATEROLE ON SYSTEM",), owned="SUPERUSER"),
    Tried("ALTER ROLE materialize PASSWORD 'x'", ("CREATEROLE ON SYSTEM",), owned="SUPERUSER"),
    Tried("GRANT materialize TO {s}_r", owned="SUPERUSER", objects=("CREATE ROLE {s}_r",)),
    Tried(
        "ALTER CLUSTER {s}_c SET (SIZE 'x')", (), ("CREATE CLUSTER {s}_c (SIZE 'y')",), owned="CLUSTER {s}_c"
    ),
    Tried("ALTER SCHEMA {s} SWAP WITH {s}_b", objects=("CREATE SCHEMA {s}_b",), owned="SUPERUSER"),
    Tried("ALTER TABLE {s}.t ADD COLUMN b", (SCHEMA,), TABLE, owned="TABLE {s}.t", fails=True),
    Tried(
        "ALTER CONNECTION {s}.pg SET (PORT 1)", (SCHEMA,), CONNECTION, owned="CONNECTION {s}.pg", fails=True
    ),
    Tried("VALIDATE CONNECTION {s}.pg", (SCHEMA, "USAGE ON CONNECTION {s}.pg"), CONNECTION, fails=True),
    Tried("VERIFY TABLE {s}.t", (SCHEMA, READ), TABLE, fails=True),
    Tried(
        "CREATE SOURCE {s}.n FROM POSTGRES CONNECTION {s}.pg (PUBLICATION 'p')",
        (MAKE, SCHEMA, "CREATE ON CLUSTER quickstart", "USAGE ON CONNECTION {s}.pg"),
        CONNECTION,
        fails=True,
    ),
    Tried(
        "CREATE SOURCE {s}.n FROM MYSQL CONNECTION {s}.my",
        (MAKE, SCHEMA, "CREATE ON CLUSTER quickstart", "USAGE ON CONNECTION {s}.my"),
        ("CREATE CONNECTION {s}.my TO MYSQL (HOST '127.0.0.1', PORT 1, USER 'u') WITH (VALIDATE = false)",),
        fails=True,
    ),
    Tried(
        "CREATE SOURCE {s}.n FROM KAFKA CONNECTION {s}.k (TOPIC 't')"
        " FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION {s}.csr",
        (
            *(MAKE, SCHEMA, "CREATE ON CLUSTER quickstart"),
            *("USAGE ON CONNECTION {s}.k", "USAGE ON CONNECTION {s}.csr"),
        ),
        KAFKA,
        fails=True,
    ),
    Tried(
        "CREATE CONNECTION {s}.n TO KAFKA (BROKER 'h:1', SASL MECHANISMS 'PLAIN', SASL USERNAME 'u',"
        " SASL PASSWORD SECRET {s}.x) WITH (VALIDATE = false)",
        (MAKE, SCHEMA, "USAGE ON SECRET {s}.x"),
        SECRET,
    ),
    Tried(
        "ALTER CONNECTION {s}.pg SET (PASSWORD SECRET {s}.x) WITH (VALIDATE = false)",
        (SCHEMA, "USAGE ON SECRET {s}.x"),
        (*CONNECTION, *SECRET),
        owned="CONNECTION {s}.pg",
    ),
    Tried("CREATE OR REPLACE VIEW {s}.v AS SELECT 1 AS a", (MAKE,), VIEW, owned="VIEW {s}.v"),
    Tried("COPY (SELECT * FROM {s}.v) TO STDOUT", (SCHEMA, "SELECT ON {s}.v"), VIEW),
    Tried("EXPLAIN SELECT * FROM {s}.v", (SCHEMA, "SELECT ON {s}.v"), VIEW),
    Tried("CREATE TABLE {s}.n FROM SOURCE {s}.src", (MAKE, SCHEMA, "SELECT ON {s}.src"), SOURCE),
    Tried(
        "CREATE TABLE {s}.n FROM WEBHOOK BODY FORMAT TEXT CHECK (WITH (BODY, SECRET {s}.x AS k) body = k)",
        (MAKE, SCHEMA, "USAGE ON SECRET {s}.x"),
        SECRET,
    ),
    Tried(
        "CREATE SOURCE {s}.n FROM WEBHOOK BODY FORMAT TEXT CHECK (WITH (BODY, SECRET {s}.x AS k) body = k)",
        (MAKE, SCHEMA, "USAGE ON SECRET {s}.x", "CREATE ON CLUSTER quickstart"),
        SECRET,
    ),
    Tried("ALTER SOURCE {s}.src ADD SUBSOURCE x", (SCHEMA, MAKE), SOURCE, owned="SOURCE {s}.src", fails=True),
    Tried("ALTER SOURCE {s}.src DROP SUBSOURCE x", (SCHEMA,), SOURCE, owned="SOURCE {s}.src", fails=True),
    Tried("COPY {s}.t FROM STDIN", (SCHEMA, "INSERT ON {s}.t"), TABLE),
    Tried("EXECUTE p", (SCHEMA, READ), TABLE),
    Tried("DROP OWNED BY {s}_r", owned="SUPERUSER", objects=("CREATE ROLE {s}_r",)),
    Tried("REASSIGN OWNED BY {s}_r TO {s}_r", owned="SUPERUSER", objects=("CREATE ROLE {s}_r",)),
    Tried("ALTER DEFAULT PRIVILEGES FOR ALL ROLES GRANT SELECT ON TABLES TO PUBLIC", owned="SUPERUSER"),
    Tried("ALTER TABLE {s}.t OWNER TO {s}_r", objects=(*TABLE, "CREATE ROLE {s}_r"), owned="SUPERUSER"),
)

_numbers = itertools.count(1)


class World:
    """A schema and a role of their own, for one attempt."""

    def __init__(self, environment: Environment, tried: Tried) -> None:
        self.environment, self.tried = environment, tried
        self.name = f"w{next(_numbers)}"
        self.admin = environment.connect()
        self.admin.execute(f"CREATE USER {self.name}_me".encode())
        self.admin.execute(f"CREATE SCHEMA {self.name}".encode())
        for text in tried.objects:
            self.do(text)

    def do(self, text: str) -> None:
        self.admin.execute(text.format(s=self.name).encode())

    def grant(self, *grants: str) -> None:
        for grant in grants:
            self.do(f"GRANT {grant} TO {{s}}_me")

    def own(self) -> None:
        owned = self.tried.owned
        if owned == "SUPERUSER":
            self.do("ALTER ROLE {s}_me SUPERUSER")
        elif owned is not None:
            self.do(f"ALTER {owned} OWNER TO {{s}}_me")

    def attempt(self) -> None:
        with self.environment.connect(f"{self.name}_me") as session:
            if self.tried.within:
                session.execute("BEGIN")
            text = self.tried.statement.format(s=self.name)
            if text.startswith("COPY"):
                with session.cursor().copy(text.encode()) as copy:
                    if "STDIN" in text:
                        copy.write(b"7\n")
                    else:
                        list(copy)
            elif text.startswith("EXECUTE"):
                session.execute(f"PREPARE p AS SELECT * FROM {self.name}.t".encode())
                session.execute(text.encode()).fetchall()
            else:
                cursor = session.execute(text.encode())
                if cursor.description is not None:
                    cursor.fetchall()
            if text.startswith("DECLARE"):
                session.execute("FETCH 1 c WITH (timeout = '0s')" if "SUBSCRIBE" in text else "FETCH 1 c")
                session.execute("ROLLBACK")

    def close(self) -> None:
        self.admin.close()


@pytest.mark.parametrize("tried", TRIED, ids=[one.statement for one in TRIED])
def test_a_statement_takes_each_of_its_rights_and_no_other(environment: Environment, tried: Tried) -> None:
    world = World(environment, tried)
    with pytest.raises(Denied):
        world.attempt()
    world.close()
    for missing in tried.grants:
        world = World(environment, tried)
        world.own()
        world.grant(*(grant for grant in tried.grants if grant != missing))
        if tried.owned != "SUPERUSER":
            with pytest.raises(Denied):
                world.attempt()
        world.close()
    if tried.owned is not None:
        world = World(environment, tried)
        world.grant(*tried.grants)
        with pytest.raises(Denied):
            world.attempt()
        world.close()
    world = World(environment, tried)
    world.own()
    world.grant(*tried.grants)
    if tried.fails:
        with pytest.raises(psycopg.Error) as failed:
            world.attempt()
        assert failed.value.sqlstate != Denied.sqlstate
    else:
        world.attempt()
    world.close()


def test_the_table_is_walked() -> None:
    """Of each kind of statement that takes anything one is tried."""
    tried = {type(parse_statement(one.statement.format(s="s"))) for one in TRIED}
    tried.add(Subscribe)  # by a cursor
    open_to_all = {kind for kind, needs in RIGHTS.items() if needs is nothing}
    assert {kind.__name__ for kind in RIGHTS.keys() - tried - open_to_all} == set()


KINDS = {
    "TABLE": "CREATE TABLE {n} (a int)",
    "VIEW": "CREATE VIEW {n} AS SELECT 1 AS a",
    "SOURCE": "CREATE SOURCE {n} FROM LOAD GENERATOR COUNTER (UP TO 0)",
    "CONNECTION": "CREATE CONNECTION {n} TO KAFKA (BROKER 'h:9092', SECURITY PROTOCOL PLAINTEXT)"
    " WITH (VALIDATE = false)",
    "SECRET": "CREATE SECRET {n} AS 'x'",
    "SCHEMA": "CREATE SCHEMA {n}",
    "DATABASE": "CREATE DATABASE {n}",
    "CLUSTER": "CREATE CLUSTER {n} (SIZE 'default')",
}
OF_OWNERS = (
    "ALTER {k} {n} RENAME TO {n}_b",
    "ALTER {k} {n} OWNER TO me_too",
    "COMMENT ON {k} {n} IS 'x'",
    "GRANT ALL ON {o} {n} TO PUBLIC",
    "REVOKE ALL ON {o} {n} FROM PUBLIC",
    "DROP {k} {n}",
    "DROP {k} IF EXISTS {n} CASCADE",
)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_done_to_an_object_of_any_kind_takes_to_own_it(environment: Environment, kind: str) -> None:
    """Whoever may use it, and make others beside it, may not; its owner may."""
    granted = "TABLE" if kind in ("VIEW", "SOURCE") else kind
    all_of = {
        "TABLE": "SELECT, INSERT, UPDATE, DELETE",
        "SCHEMA": "USAGE, CREATE",
        "DATABASE": "USAGE, CREATE",
    }
    uses = {**all_of, "VIEW": "SELECT", "SOURCE": "SELECT", "CLUSTER": "USAGE, CREATE"}.get(kind, "USAGE")
    with environment.connect() as admin:
        me = f"me_{kind.lower()}"
        for text in ("CREATE ROLE IF NOT EXISTS me_too", f"CREATE USER {me}", f"GRANT me_too TO {me}"):
            admin.execute(text.encode())
        admin.execute(f"GRANT CREATE ON SCHEMA public TO {me}".encode())
        admin.execute(f"GRANT CREATE ON DATABASE materialize TO {me}".encode())
        with environment.connect(me) as mine:
            for number, template in enumerate(OF_OWNERS):
                if kind == "DATABASE" and "RENAME" in template:
                    continue  # there is no such statement
                name = f"{kind.lower()}_{number}"
                attempt = template.format(k=kind, o=granted, n=name).encode()
                admin.execute(KINDS[kind].format(n=name).encode())
                admin.execute(f"GRANT {uses} ON {granted} {name} TO {me}".encode())
                with pytest.raises(Denied, match="must be owner of"):
                    mine.execute(attempt)
                admin.execute(f"ALTER {kind} {name} OWNER TO {me}".encode())
                mine.execute(attempt)
