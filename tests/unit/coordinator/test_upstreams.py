"""Statements that ask an upstream: the question, the answer, and a catalog that moves in between.

Method: the catalog of test_ddl.py, with an upstream that is a function; for the threads,
questions that wait until the test lets them go.
"""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest

from headwater.catalog.updates import CreateItem
from headwater.coordinator.dispatch import DDL, QUESTIONS
from headwater.coordinator.source_details import full_options
from headwater.coordinator.upstreams import Upstreams
from headwater.core.errors import TransientError, UserError
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import Options, Reference, Secrets
from headwater.sources.postgres import dialect
from headwater.sources.postgres.facts import ColumnFacts, Facts, KeyFacts, PublicationFacts, TableFacts
from headwater.sources.postgres.inspect import Examination
from headwater.sources.postgres.pin import reference_of
from headwater.sql.parse import parse_statement
from tests.unit.coordinator.scopes import Catalog

TABLE = TableFacts(
    *(16_400, "public", "t"),
    (ColumnFacts("id", 1, 23, not_null=True), ColumnFacts("note", 2, 25)),
    (KeyFacts((1,), 17_000, primary=True),),
)
FACTS = Facts(
    *("db", "reader", "7", 3, 150_000, "logical", False, "p"),
    *(PublicationFacts(), {TABLE.oid: TABLE}),
    slots_left=10,
    senders_left=10,
)
CONNECTION = "CREATE CONNECTION {} TO POSTGRES (HOST 'h', DATABASE 'db', USER 'u') WITH (VALIDATE = false)"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Options]:
    """The options that the upstream was asked with."""
    seen: list[Options] = []

    def references(options: Options, secrets: Secrets, name: str | None = None) -> tuple[Reference, ...]:
        seen.append(options)
        return (reference_of(FACTS, TABLE),)

    monkeypatch.setattr(
        dialect, "examine", lambda options, secrets: Examination(FACTS, references(options, secrets))
    )
    changed = replace(SOURCE_TYPES["postgres"], references=references)
    monkeypatch.setitem(SOURCE_TYPES, "postgres", changed)
    return seen


@pytest.fixture
def catalog(asked: list[Options]) -> Catalog:
    return Catalog().run(
        CONNECTION.format("pg"), "CREATE SOURCE s FROM POSTGRES CONNECTION pg (PUBLICATION 'p')"
    )


def refused(catalog: Catalog, text: str, answer: Any) -> str:
    """The error of a plan whose answer came from an earlier catalog."""
    statement = parse_statement(text)
    with pytest.raises(UserError) as error:
        DDL[type(statement)](replace(catalog.scope(), answer=answer), statement)
    assert error.value.sqlstate == "40001"
    return error.value.message


def ask(catalog: Catalog, text: str) -> Any:
    statement = parse_statement(text)
    question = QUESTIONS[type(statement)](catalog.scope(), statement)
    return None if question is None else question(catalog.secrets)


def test_a_source_keeps_its_connection_by_id_and_what_it_pinned_of_the_server(catalog: Catalog) -> None:
    connection, source = catalog.state.items.values()
    options = source.ingestion.options
    assert (options["connection_id"], options["publication"]) == (connection.id, "p")
    assert options["identity"] == {"system_id": "7", "timeline": 3, "recovering": False}
    assert "connection" not in options
    assert source.dependencies == (connection.id,)
    assert [column.name for column in source.relation.columns] == ["lsn"]


def test_an_upstream_is_asked_with_the_options_its_connection_has_now(
    catalog: Catalog, asked: list[Options]
) -> None:
    catalog.run("ALTER CONNECTION pg SET (HOST 'elsewhere') WITH (VALIDATE = false)")
    catalog.run("CREATE TABLE t FROM SOURCE s (REFERENCE t)", "ALTER SOURCE s REFRESH REFERENCES")
    assert [options["connection"]["host"] for options in asked] == ["h", "elsewhere", "elsewhere"]
    source = next(item for item in catalog.state.items.values() if item.kind == "source")
    assert full_options(catalog.state, source.ingestion.options) == asked[-1]


def test_a_table_pins_what_its_reference_is(catalog: Catalog) -> None:
    (create,) = catalog.plan("CREATE TABLE ours FROM SOURCE s (REFERENCE t) WITH (TEXT COLUMNS (id))").updates
    assert isinstance(create, CreateItem)
    export = create.item.fed_export
    assert export.pinned.reference["oid"] == TABLE.oid
    assert [column["text"] for column in export.pinned.columns] == [True, False]
    assert [column.type.kind for column in create.item.relation.columns] == ["text", "text"]
    assert export.discipline == "keyed"


def test_each_source_has_a_slot_of_its_own(catalog: Catalog) -> None:
    catalog.run("CREATE SOURCE another FROM POSTGRES CONNECTION pg (PUBLICATION 'p')")
    slots = {i.ingestion.options["slot"] for i in catalog.state.items.values() if i.kind == "source"}
    assert len(slots) == 2
    assert {len(slot) for slot in slots} == {len("materialize_") + 32}


@pytest.mark.parametrize(
    "text",
    [
        "CREATE SOURCE IF NOT EXISTS s FROM POSTGRES CONNECTION pg (PUBLICATION 'p')",
        "CREATE TABLE IF NOT EXISTS s FROM SOURCE s (REFERENCE t)",
        "ALTER SOURCE s SET (TIMESTAMP INTERVAL '2s')",
        "ALTER SOURCE IF EXISTS nothing REFRESH REFERENCES",
    ],
)
def test_nobody_is_asked_without_need(catalog: Catalog, text: str) -> None:
    assert ask(catalog, text) is None
    catalog.plan(text)


def test_a_connection_that_was_replaced_meanwhile_fails_the_source(catalog: Catalog) -> None:
    text = "CREATE SOURCE other FROM POSTGRES CONNECTION pg (PUBLICATION 'p')"
    answer = ask(catalog, text)
    catalog.run("DROP CONNECTION pg CASCADE", CONNECTION.format("pg"))
    assert "modified the catalog" in refused(catalog, text, answer)


def test_a_source_that_was_replaced_meanwhile_fails_the_table(catalog: Catalog) -> None:
    text = "CREATE TABLE t FROM SOURCE s (REFERENCE t)"
    refresh = "ALTER SOURCE s REFRESH REFERENCES"
    answer = ask(catalog, text)
    catalog.run("DROP SOURCE s", "CREATE SOURCE s FROM POSTGRES CONNECTION pg (PUBLICATION 'p')")
    assert "modified the catalog" in refused(catalog, text, answer)
    assert "modified the catalog" in refused(catalog, refresh, answer)


def test_a_name_that_became_free_meanwhile_fails_the_statement(catalog: Catalog) -> None:
    text = "CREATE SOURCE IF NOT EXISTS s FROM POSTGRES CONNECTION pg (PUBLICATION 'p')"
    answer = ask(catalog, text)
    catalog.run("DROP SOURCE s")
    assert "modified the catalog" in refused(catalog, text, answer)


def test_a_connection_of_another_kind_is_refused(catalog: Catalog) -> None:
    item = next(item for item in catalog.state.items.values() if item.kind == "connection")
    other = replace(item, details=replace(item.connection, connection_type="kafka"))
    catalog.state = replace(catalog.state, items={**catalog.state.items, item.id: other}, derived={})
    with pytest.raises(UserError, match=r"^pg is not a POSTGRES CONNECTION$"):
        ask(catalog, "CREATE SOURCE x FROM POSTGRES CONNECTION pg (PUBLICATION 'p')")


def test_renaming_a_connection_reaches_the_sources_that_name_it(catalog: Catalog) -> None:
    catalog.run("ALTER CONNECTION pg RENAME TO gate")
    assert "FROM POSTGRES CONNECTION materialize.public.gate (" in catalog.sql_of("s")
    catalog.run("ALTER SCHEMA public SWAP WITH other")
    assert "FROM POSTGRES CONNECTION materialize.other.gate (" in catalog.sql_of("s")


async def _cancelled_while_asking() -> tuple[bool, str]:
    released, begun = threading.Event(), threading.Event()

    def waits(secrets: Secrets) -> str:
        begun.set()
        released.wait(30)
        return secrets("u1").decode()

    upstreams = Upstreams(lambda id_: b"value of " + id_.encode())
    task = asyncio.create_task(upstreams.ask(waits))
    await asyncio.to_thread(begun.wait, 30)
    task.cancel()
    await asyncio.wait([task])
    other = asyncio.create_task(upstreams.ask(lambda secrets: secrets("u2").decode()))
    answer = await other
    released.set()
    upstreams.close()
    return task.cancelled(), answer


def test_a_question_can_be_given_up_while_others_go_on() -> None:
    assert asyncio.run(_cancelled_while_asking()) == (True, "value of u2")


def test_what_the_upstream_complains_of_reaches_whoever_asked() -> None:
    def fails(secrets: Secrets) -> None:
        raise TransientError("nobody is there", hint="Look for them.")

    async def ask_it() -> None:
        upstreams = Upstreams(lambda id_: b"")
        try:
            await upstreams.ask(fails)
        finally:
            upstreams.close()

    with pytest.raises(TransientError, match="nobody is there"):
        asyncio.run(ask_it())
