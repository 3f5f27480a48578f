"""Secrets and connections as values: what DDL about them changes, and what it asks for first.

Method: a catalog in memory takes statements as the server does: the question is asked of an upstream that
only notes what it was asked, then the statement is planned with the catalog of then.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from headwater.catalog import updates
from headwater.catalog.apply import apply
from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.details import Connection, Secret
from headwater.catalog.state import CatalogState, Database, Item, Role, Schema
from headwater.coordinator.ddl import DdlScope, Outcome, StagedDdl
from headwater.coordinator.dispatch import DDL, EVALUATED, QUESTIONS
from headwater.core.errors import UserError
from headwater.sources.dialects import CONNECTION_KINDS
from headwater.sql.parse import parse_statement
from tests.unit.catalog.builtin.facts import rows
from tests.unit.coordinator.scopes import scope_of

VALUE = b"the value"


class Catalog:
    """A catalog that takes statements; `asked` are the options that were tried out."""

    def __init__(self) -> None:
        self.state = CatalogState(
            roles={"u1": Role("u1", 20_000, "materialize")},
            databases={"u1": Database("u1", 20_001, "materialize")},
            schemas={"u1": Schema("u1", 20_002, "u1", "public")},
        )
        self.asked: list[dict[str, Any]] = []
        self._numbers = itertools.count(1)

    def scope(self) -> DdlScope:
        return scope_of(self.state, self._numbers)

    def plan(self, text: str, meanwhile: Callable[[], object] = lambda: None) -> Outcome:
        statement = parse_statement(text)
        answer: Any = VALUE if type(statement) in EVALUATED else None
        question = (
            QUESTIONS[type(statement)](self.scope(), statement) if type(statement) in QUESTIONS else None
        )
        if question is not None:
            answer = question(lambda id_: VALUE)
            self.asked.append(answer)
        meanwhile()
        return DDL[type(statement)](replace(self.scope(), answer=answer), statement)

    def run(self, *texts: str) -> Catalog:
        for text in texts:
            outcome = self.plan(text)
            for requirement in outcome.requirements:
                updates.check(self.state, requirement)
            for update in outcome.updates:
                self.state = replace(apply(self.state, update), derived={})
        return self

    def item(self, name: str) -> Item:
        return next(item for item in self.state.items.values() if item.name == name)


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch) -> Catalog:
    for kind in ("POSTGRES", "KAFKA"):
        quiet = replace(CONNECTION_KINDS[kind], validate=lambda options, secrets: None)
        monkeypatch.setitem(CONNECTION_KINDS, kind, quiet)
    return Catalog().run("CREATE SECRET s AS 'hunter2'")


def test_a_secret_s_value_goes_beside_the_catalog(catalog: Catalog) -> None:
    outcome = catalog.plan("CREATE SECRET t AS 'hunter2'")
    (create,) = outcome.updates
    assert isinstance(create, updates.CreateItem)
    assert outcome.secret_values == {create.item.id: VALUE}
    assert create.item.create_sql == "CREATE SECRET materialize.public.t AS '********';"
    assert "value" not in repr(outcome)


def test_every_new_value_of_a_secret_is_a_version_of_it(catalog: Catalog) -> None:
    assert catalog.item("s").details == Secret(1)
    assert catalog.plan("ALTER SECRET s AS 'other'").secret_values == {"u1": VALUE}
    assert catalog.run("ALTER SECRET s AS 'other'").item("s").details == Secret(2)


def test_a_block_keeps_values_until_it_is_committed_and_forgets_them_with_a_savepoint(
    catalog: Catalog,
) -> None:
    staged = StagedDdl(catalog.state, catalog.state)
    before = staged.copy()
    staged.add(catalog.plan("ALTER SECRET s AS 'other'"))
    assert staged.secret_values == {"u1": VALUE}
    assert staged.copy().secret_values == {"u1": VALUE}
    assert before.secret_values == {}


def test_options_are_kept_by_id_and_shown_by_name(catalog: Catalog) -> None:
    item = catalog.run(
        "CREATE CONNECTION c TO POSTGRES (HOST 'h', PORT '5433', DATABASE d, USER u, PASSWORD SECRET s,"
        " SSL MODE Verify_Full, SSL CERTIFICATE AUTHORITY 'ca')"
    ).item("c")
    assert item.details == Connection(
        "postgres",
        {
            "host": "h",
            "port": 5433,
            "database": "d",
            "user": "u",
            "password": {"secret": "u1"},
            "ssl_mode": "verify-full",
            "ssl_certificate_authority": {"text": "ca"},
        },
    )
    assert item.dependencies == ("u1",)
    assert "PASSWORD = SECRET materialize.public.s" in item.create_sql
    assert catalog.asked == [item.connection.options]


def test_defaults_are_a_port_and_no_encryption(catalog: Catalog) -> None:
    item = catalog.run("CREATE CONNECTION c TO POSTGRES (HOST 'h', DATABASE d, USER u)").item("c")
    assert (item.connection.options["port"], item.connection.options["ssl_mode"]) == (5432, "disable")
    assert item.create_sql.endswith("(HOST = 'h', DATABASE = 'd', USER = 'u');")


def test_nothing_is_asked_where_nothing_would_be_made(catalog: Catalog) -> None:
    catalog.run("CREATE CONNECTION c TO POSTGRES (HOST h, DATABASE d, USER u) WITH (VALIDATE = false)")
    with pytest.raises(UserError, match="catalog item 'c' already exists"):
        catalog.plan("CREATE CONNECTION c TO POSTGRES (HOST h, DATABASE d, USER u)")
    catalog.plan("CREATE CONNECTION IF NOT EXISTS c TO POSTGRES (HOST h, DATABASE d, USER u)")
    catalog.plan("ALTER CONNECTION c SET (HOST i) WITH (VALIDATE = false)")
    catalog.plan("ALTER CONNECTION IF EXISTS nothing SET (HOST i)")
    assert catalog.asked == []


def test_a_password_that_is_not_shown_survives_changes_of_other_options(catalog: Catalog) -> None:
    catalog.run(
        "CREATE CONNECTION c TO POSTGRES (HOST h, DATABASE d, USER u, PASSWORD 'hunter2')",
        "ALTER CONNECTION c SET (HOST i), DROP (PORT)",
        "ALTER CONNECTION c RENAME TO e",
    )
    item = catalog.item("e")
    assert item.connection.options["password"] == {"text": "hunter2"}
    assert "hunter2" not in item.create_sql
    assert "HOST = 'i'" in item.create_sql
    assert catalog.asked[-1]["password"] == {"text": "hunter2"}
    catalog.run("ALTER CONNECTION e SET (PASSWORD SECRET s)")
    assert catalog.item("e").dependencies == ("u1",)
    catalog.run("ALTER CONNECTION e DROP (PASSWORD)")
    assert catalog.item("e").dependencies == ()
    assert "password" not in catalog.item("e").connection.options


def test_a_progress_topic_is_chosen_once(catalog: Catalog) -> None:
    catalog.run("CREATE CONNECTION k TO KAFKA (BROKER 'a:1', PROGRESS TOPIC 'mine')")
    for change in ("SET (PROGRESS TOPIC = 'other')", "DROP (PROGRESS TOPIC)", "RESET (PROGRESS TOPIC)"):
        with pytest.raises(UserError, match=r"^cannot ALTER KAFKA option PROGRESS TOPIC$"):
            catalog.plan(f"ALTER CONNECTION k {change}")
    catalog.run("ALTER CONNECTION k SET (BROKER = 'b:1')")
    assert [options["progress_topic"] for options in catalog.asked] == ["mine", "mine"]


def test_what_was_tried_is_what_is_committed(catalog: Catalog) -> None:
    catalog.run("CREATE CONNECTION c TO POSTGRES (HOST h, DATABASE d, USER u)")

    def other() -> None:
        catalog.run("ALTER CONNECTION c SET (PORT 7)")

    with pytest.raises(UserError) as refused:
        catalog.plan("ALTER CONNECTION c SET (HOST i)", meanwhile=other)
    assert refused.value.sqlstate == "40001"


def test_a_secret_that_is_renamed_meanwhile_is_named_as_it_is_called_now(catalog: Catalog) -> None:
    text = "CREATE CONNECTION c TO POSTGRES (HOST h, DATABASE d, USER u, PASSWORD SECRET s)"

    def renamed() -> None:
        catalog.run("ALTER SECRET s RENAME TO z", "CREATE SECRET s AS 'another'")

    with pytest.raises(UserError) as refused:
        catalog.plan(text, meanwhile=renamed)  # the name means another secret by now
    assert refused.value.sqlstate == "40001"


def test_a_connection_s_sql_follows_the_names_of_its_secrets(catalog: Catalog) -> None:
    catalog.run(
        "CREATE CONNECTION c TO POSTGRES (HOST h, DATABASE d, USER u, PASSWORD SECRET s)",
        "ALTER SECRET s RENAME TO z",
        "ALTER SCHEMA public RENAME TO elsewhere",
    )
    assert catalog.item("z").create_sql == "CREATE SECRET materialize.elsewhere.z AS '********';"
    assert "PASSWORD = SECRET materialize.elsewhere.z" in catalog.item("c").create_sql


def test_a_secret_is_dropped_with_its_connections_or_not_at_all(catalog: Catalog) -> None:
    catalog.run("CREATE CONNECTION c TO POSTGRES (HOST h, DATABASE d, USER u, PASSWORD SECRET s)")
    with pytest.raises(UserError) as refused:
        catalog.plan("DROP SECRET s")
    assert refused.value.message == 'cannot drop secret "s": still depended upon by connection "c"'
    dropped = catalog.plan("DROP SECRET s CASCADE").updates
    assert dropped == (updates.DropItem(catalog.item("c").id), updates.DropItem("u1"))


def test_system_relations_list_them(catalog: Catalog) -> None:
    catalog.run(
        "CREATE CONNECTION c TO POSTGRES (HOST 'h', DATABASE d, USER u, PASSWORD 'hunter2')",
        "COMMENT ON SECRET s IS 'mine'",
        "COMMENT ON CONNECTION c IS 'ours'",
    )
    facts = SystemFacts(state=catalog.state, now_ms=0)
    (secret,) = rows("mz_catalog.mz_secrets", facts)
    assert secret == {
        "id": "u1",
        "oid": 20_100,
        "schema_id": "u1",
        "name": "s",
        "owner_id": "u1",
        "privileges": ["u1=U/u1"],
    }
    (connection,) = rows("mz_catalog.mz_connections", facts)
    assert (connection["name"], connection["type"], connection["privileges"]) == (
        "c",
        "postgres",
        ["u1=U/u1"],
    )
    assert "hunter2" not in str(connection)
    assert "'h'" in connection["create_sql"]
    assert "'h'" not in connection["redacted_create_sql"]
    (shown,) = rows("mz_internal.mz_show_connections", facts)
    assert shown == {"schema_id": "u1", "name": "c", "type": "postgres", "comment": "ours"}
    (shown,) = rows("mz_internal.mz_show_secrets", facts)
    assert shown == {"schema_id": "u1", "name": "s", "comment": "mine"}
