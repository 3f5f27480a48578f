"""Names: what a written name means to a session, and what it is told when it means nothing.

Method: one catalog with two databases, odd names and a temporary view, looked at
through different search paths; every error is compared in full.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.catalog.apply import apply
from headwater.catalog.builtin.registry import BUILTINS_BY_NAME
from headwater.catalog.details import Secret
from headwater.catalog.snapshot import SessionNames, split_name
from headwater.catalog.state import Item
from headwater.catalog.updates import CreateItem
from headwater.core.errors import UserError
from headwater.core.names import Names
from headwater.core.quoting import identifier
from headwater.core.relation import Relation
from tests.unit.catalog.populated import SESSION_PID, populated_state, table

STATE = populated_state()


def names(
    database: str = "materialize", search_path: tuple[str, ...] = ("public",), pid: int = 1
) -> SessionNames:
    return SessionNames(STATE, database, search_path, pid)


def failure(session: SessionNames, *parts: str) -> UserError:
    with pytest.raises(UserError) as caught:
        session.find_relation(parts)
    return caught.value


def test_session_names_are_what_the_sql_layer_asks_for() -> None:
    protocol: Names = names()
    assert protocol.find_relation(("bids",)).id == "u2"


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (("bids",), "u2"),
        (("public", "bids"), "u2"),
        (("materialize", "public", "bids"), "u2"),
        (("other", "public", "bids"), "u5"),
        (("Odd Schema", "Big Bids"), "u4"),
        (("mz_objects",), BUILTINS_BY_NAME["mz_catalog", "mz_objects"].id),
        (("pg_class",), BUILTINS_BY_NAME["pg_catalog", "pg_class"].id),
        (("pg_catalog", "pg_class"), BUILTINS_BY_NAME["pg_catalog", "pg_class"].id),
        (("other", "mz_internal", "mz_frontiers"), BUILTINS_BY_NAME["mz_internal", "mz_frontiers"].id),
        (("information_schema", "tables"), BUILTINS_BY_NAME["information_schema", "tables"].id),
    ],
)
def test_one_to_three_parts_name_a_relation(parts: tuple[str, ...], expected: str) -> None:
    assert names().find_relation(parts).id == expected


def test_a_relation_is_found_with_the_names_around_it() -> None:
    found = names().find_relation(("Odd Schema", "Big Bids"))
    assert (found.database, found.schema, found.name, found.kind) == (
        "materialize",
        "Odd Schema",
        "Big Bids",
        "view",
    )
    assert found.definition == "SELECT 'x' AS a"
    system = names().find_relation(("mz_objects",))
    assert (system.database, system.schema, system.kind) == (None, "mz_catalog", "system table")


def test_the_session_decides_which_database_a_schema_is_in() -> None:
    assert names("other").find_relation(("bids",)).id == "u5"
    assert names("other").find_relation(("public", "bids")).id == "u5"


def test_the_search_path_is_searched_in_order() -> None:
    state = apply(STATE, CreateItem(table("u50", "bids", "u3")))
    assert SessionNames(state, search_path=("public", "Odd Schema")).find_relation(("bids",)).id == "u2"
    assert SessionNames(state, search_path=("Odd Schema", "public")).find_relation(("bids",)).id == "u50"
    assert SessionNames(state, search_path=("nowhere", "Odd Schema")).find_relation(("bids",)).id == "u50"


def test_system_relations_come_before_the_search_path_unless_it_names_them() -> None:
    state = apply(STATE, CreateItem(table("u50", "mz_objects")))
    assert SessionNames(state).find_relation(("mz_objects",)).kind == "system table"
    explicit = SessionNames(state, search_path=("public", "mz_catalog"))
    assert explicit.find_relation(("mz_objects",)).id == "u50"


def test_temporary_items_belong_to_their_session_and_come_first() -> None:
    mine = names(pid=SESSION_PID)
    assert mine.find_relation(("scratch",)).id == "u6"
    assert mine.find_relation(("mz_temp", "scratch")).id == "u6"
    assert mine.find_relation(("pg_temp", "scratch")).schema == "mz_temp"
    assert failure(names(pid=2), "scratch").message == "unknown catalog item 'scratch'"


@pytest.mark.parametrize(
    ("parts", "message", "hint"),
    [
        (("bid",), "unknown catalog item 'bid'", 'Did you mean "bids"?'),
        (("public", "bisd"), "unknown catalog item 'public.bisd'", 'Did you mean "bids"?'),
        (("quux",), "unknown catalog item 'quux'", None),
        (
            ("Big Bids",),
            "unknown catalog item 'Big Bids'",
            'Did you mean materialize."Odd Schema"."Big Bids"?',
        ),
        (
            ("mz_frontiers",),
            "unknown catalog item 'mz_frontiers'",
            "Did you mean mz_internal.mz_frontiers?",
        ),
        (("publik", "bids"), "unknown schema 'publik'", 'Did you mean "public"?'),
        (("other", "secret", "bids"), "unknown schema 'other.secret'", None),
        (("otter", "public", "bids"), "unknown database 'otter'", 'Did you mean "other"?'),
    ],
)
def test_an_unknown_name_is_told_with_a_near_one(
    parts: tuple[str, ...], message: str, hint: str | None
) -> None:
    error = failure(names(), *parts)
    assert (error.message, error.hint) == (message, hint)


def test_a_name_of_four_parts_is_refused() -> None:
    assert "between 1 and 3 components" in failure(names(), "a", "b", "c", "d").message


def test_what_has_no_rows_cannot_be_read() -> None:
    secret = Item("u50", 20_050, "u1", "password", "secret", "CREATE SECRET", Relation(()), details=Secret())
    session = SessionNames(apply(STATE, CreateItem(secret)))
    assert failure(session, "password").message == (
        "catalog item 'materialize.public.password' is a secret and so cannot be depended upon"
    )
    assert session.relation_by_oid(20_050) is None


def test_relations_are_found_by_oid() -> None:
    found = names().relation_by_oid(1259)
    assert found is not None
    assert found.name == "pg_class"
    assert names().relation_by_oid(99) is None


def test_an_item_of_another_kind_is_told_by_the_name_that_was_typed() -> None:
    with pytest.raises(UserError, match=r"^bids is a table not a source$"):
        names().resolve_item(("bids",), "source")
    with pytest.raises(UserError, match=r"^public\.auction is a source not a view$"):
        names().resolve_item(("public", "auction"), "view", "table")
    assert names().resolve_item(("auction",), "source").id == "u1"
    assert names().resolve_item(("auction",)).id == "u1"


def test_system_relations_are_not_for_ddl() -> None:
    with pytest.raises(UserError, match=r"^system item 'mz_catalog\.mz_objects' cannot be modified$"):
        names().resolve_item(("mz_objects",), "table")
    assert names().find_item(("mz_objects",)) is None


def test_if_exists_excuses_every_unknown_part() -> None:
    session = names()
    assert session.find_item(("nope",)) is None
    assert session.find_item(("nope", "bids")) is None
    assert session.find_item(("nope", "public", "bids")) is None
    assert session.find_schema(("nope", "public")) is None
    found = session.find_item(("bids",))
    assert found is not None
    assert found.id == "u2"


def test_clusters_and_databases_are_found_by_name() -> None:
    session = names()
    assert session.resolve_cluster("quickstart").id == "u1"
    assert session.resolve_database("other").id == "u2"
    with pytest.raises(UserError, match=r"^unknown cluster 'x'$"):
        session.resolve_cluster("x")


def test_create_puts_a_name_into_the_first_schema_of_the_path_that_is_there() -> None:
    schema, name = names(search_path=("nope", "pg_catalog", "Odd Schema", "public")).place(("t",))
    assert (schema.id, name) == ("u3", "t")
    assert names().place(("other", "public", "t"))[0].id == "u2"
    with pytest.raises(UserError, match="no schema has been selected to create in") as caught:
        names(search_path=("nope",)).place(("t",))
    assert caught.value.sqlstate == "3F000"
    with pytest.raises(UserError, match="system schema 'mz_catalog' cannot be modified"):
        names().place(("mz_catalog", "t"))


def test_full_names_are_quoted_where_they_must_be() -> None:
    session = names()
    assert session.full_name(STATE.items["u2"]) == "materialize.public.bids"
    assert session.full_name(STATE.items["u4"]) == 'materialize."Odd Schema"."Big Bids"'
    assert session.full_name(STATE.items["u6"]) == "mz_temp.scratch"
    assert session.schema_full_name(STATE.schemas["u3"]) == 'materialize."Odd Schema"'


@pytest.mark.parametrize(
    ("text", "oid"),
    [
        ("bids", 20_011),
        ("BIDS", 20_011),
        ('"bids"', 20_011),
        ("other.public.bids", 20_014),
        ('"Odd Schema"."Big Bids"', 20_013),
        ("pg_catalog.pg_class", 1259),
        ("pg_class", 1259),
        ("1259", 1259),
        ("Big Bids", None),
        ("nope.bids", None),
        ("", None),
        ("a..b", None),
    ],
)
def test_a_text_for_regclass_means_an_oid(text: str, oid: int | None) -> None:
    assert names().regclass(text) == oid


def test_an_oid_is_printed_as_the_shortest_name_that_means_it() -> None:
    session = names()
    assert session.regclass_text(20_011) == "bids"
    assert session.regclass_text(20_013) == '"Odd Schema"."Big Bids"'
    assert session.regclass_text(20_014) == "public.bids"
    assert session.regclass_text(1259) == "pg_class"
    assert (session.regclass_text(5), session.regclass_text(0)) == ("5", "-")


def test_clients_that_list_what_is_visible_do_not_get_our_own_catalog() -> None:
    objects = BUILTINS_BY_NAME["mz_catalog", "mz_objects"]
    assert names().visible(20_011)
    assert names().visible(1259)
    assert not names().visible(objects.oid)
    assert not names().visible(20_013)
    assert not names().visible(4)
    assert names(search_path=("mz_catalog",)).visible(objects.oid)


@pytest.mark.parametrize(
    ("text", "oid"),
    [
        ("integer", 23),
        ("int4", 23),
        ("pg_catalog.int4", 23),
        ("character varying(10)", 1043),
        ("numeric(10, 2)", 1700),
        ("text[]", 1009),
        ("_text", 1009),
        ("double  precision", 701),
        ('"char"', 18),
        ("mz_catalog.uint8", 16464),
        ("pg_catalog.regprocedure", 24),
        ("pg_catalog.trigger", 2279),
        ("trigger[]", None),
        ("25", 25),
        ("nonsense", None),
    ],
)
def test_a_text_for_regtype_means_an_oid(text: str, oid: int | None) -> None:
    assert names().type_oid(text) == oid


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1), min_size=1, max_size=3
    )
)
def test_what_is_quoted_can_be_split_again(parts: list[str]) -> None:
    written = ".".join(identifier(part) for part in parts)
    assert split_name(written) == tuple(parts)
