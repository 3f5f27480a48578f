"""Catalog: states follow from updates, and nothing that must hold can be broken.

Method: random items are created, renamed, swapped, rewritten and dropped, both in a
state and in the plainest possible model of one (a dictionary of ids to names and
dependencies).  Every lookup must agree after every step, and an update that the model
forbids must be refused.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headwater.catalog.apply import apply
from headwater.catalog.state import (
    PUBLIC_ID,
    Cluster,
    Comment,
    Database,
    DefaultGrant,
    Role,
    Schema,
    replica_ids,
)
from headwater.catalog.updates import (
    AlterCluster,
    CreateCluster,
    CreateDatabase,
    CreateItem,
    CreateRole,
    CreateSchema,
    DropCluster,
    DropDatabase,
    DropItem,
    DropRole,
    DropSchema,
    RenameCluster,
    RenameItem,
    RenameSchema,
    SetComment,
    SetDefaultGrant,
    SetMembership,
    SetSystemVariable,
    SwapClusters,
    SwapItems,
    SwapSchemas,
    Update,
    UpdateItem,
)
from headwater.core.errors import InvariantViolation
from tests.unit.catalog.populated import SESSION_PID, base_state, populated_state, state_after, table

NAMES = st.sampled_from(["a", "b", "c", "d"])
SCHEMAS = st.sampled_from(["u1", "u2"])


class CatalogAgainstModel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.state = state_after([CreateSchema(Schema("u2", 20_003, "u1", "second"))], base_state())
        self.places: dict[str, tuple[str, str]] = {}
        self.dependencies: dict[str, tuple[str, ...]] = {}
        self.next_id = 1

    def some_id(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.places)))

    def try_update(self, update: Update, allowed: bool) -> None:
        if allowed:
            self.state = apply(self.state, update)
        else:
            before = self.state
            with pytest.raises(InvariantViolation):
                apply(before, update)

    @rule(data=st.data(), name=NAMES, schema_id=SCHEMAS)
    def create(self, data: st.DataObject, name: str, schema_id: str) -> None:
        chosen = data.draw(st.lists(st.sampled_from([*self.places, "s103", "u999"]), max_size=3))
        item_id = f"u{self.next_id}"
        self.next_id += 1
        free = (schema_id, name) not in self.places.values()
        allowed = free and "u999" not in chosen
        self.try_update(CreateItem(table(item_id, name, schema_id, tuple(chosen))), allowed)
        if allowed:
            self.places[item_id] = (schema_id, name)
            self.dependencies[item_id] = tuple(chosen)

    @precondition(lambda self: self.places)
    @rule(data=st.data(), name=NAMES)
    def rename(self, data: st.DataObject, name: str) -> None:
        item_id = self.some_id(data)
        place = (self.places[item_id][0], name)
        allowed = place == self.places[item_id] or place not in self.places.values()
        self.try_update(RenameItem(item_id, name), allowed)
        if allowed:
            self.places[item_id] = place

    @precondition(lambda self: len(self.places) > 1)
    @rule(data=st.data())
    def swap(self, data: st.DataObject) -> None:
        first, second = self.some_id(data), self.some_id(data)
        if first == second:
            return
        self.try_update(SwapItems(first, second), allowed=True)
        self.places[first], self.places[second] = self.places[second], self.places[first]

    @precondition(lambda self: self.places)
    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        item_id = self.some_id(data)
        needed = any(item_id in of for of in self.dependencies.values())
        self.try_update(DropItem(item_id), allowed=not needed)
        if not needed:
            del self.places[item_id], self.dependencies[item_id]

    @precondition(lambda self: self.places)
    @rule(data=st.data())
    def drop_with_dependents(self, data: st.DataObject) -> None:
        item_id = self.some_id(data)
        gone = self.state.drop_order([item_id])
        assert set(gone) == self.reached_backwards(item_id)
        for dropped in gone:
            self.try_update(DropItem(dropped), allowed=True)
            del self.places[dropped], self.dependencies[dropped]

    @precondition(lambda self: self.places)
    @rule(data=st.data(), text=st.text(max_size=5))
    def rewrite(self, data: st.DataObject, text: str) -> None:
        item_id = self.some_id(data)
        earlier = [i for i in self.places if int(i[1:]) < int(item_id[1:])]
        chosen = tuple(data.draw(st.lists(st.sampled_from(earlier), max_size=2))) if earlier else ()
        self.try_update(UpdateItem(item_id, create_sql=text, dependencies=chosen), allowed=True)
        self.dependencies[item_id] = chosen
        assert self.state.items[item_id].create_sql == text

    def reached_backwards(self, item_id: str) -> set[str]:
        reached = {item_id}
        while True:
            more = {i for i, of in self.dependencies.items() if reached & set(of)} - reached
            if not more:
                return reached
            reached |= more

    @invariant()
    def every_lookup_agrees_with_the_model(self) -> None:
        assert {i: (item.schema_id, item.name) for i, item in self.state.items.items()} == self.places
        assert len(self.state.item_ids) == len(self.places)
        for item_id, (schema_id, name) in self.places.items():
            found = self.state.item_named(schema_id, name)
            assert found is not None
            assert found.id == item_id
        expected = {
            target: frozenset(i for i, of in self.dependencies.items() if target in of)
            for target in {t for of in self.dependencies.values() for t in of}
        }
        assert self.state.dependents == expected
        for schema_id in ("u1", "u2"):
            in_schema = {i for i, place in self.places.items() if place[0] == schema_id}
            assert {item.id for item in self.state.items_of(schema_id)} == in_schema


CatalogAgainstModel.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestCatalogAgainstModel = CatalogAgainstModel.TestCase


def test_an_update_leaves_the_state_it_began_with_alone() -> None:
    before = populated_state()
    counted = len(before.items)
    apply(before, CreateItem(table("u50", "new")))
    assert len(before.items) == counted
    assert before.item_named("u1", "new") is None


@pytest.mark.parametrize(
    ("update", "reason"),
    [
        (CreateDatabase(Database("u9", 1, "other")), "database name 'other' is taken"),
        (DropDatabase("u2"), "database u2 still has schemas"),
        (CreateSchema(Schema("u9", 1, "u9", "x")), "belongs to no known database"),
        (CreateSchema(Schema("u9", 1, "u1", "mz_catalog")), "schema name 'mz_catalog' is taken"),
        (DropSchema("u3"), "schema u3 still has items"),
        (RenameSchema("u3", "public"), "schema name 'public' is taken"),
        (SwapSchemas("u1", "u2"), "are not neighbours"),
        (CreateCluster(Cluster("u9", "quickstart", "x")), "cluster name 'quickstart' is taken"),
        (RenameCluster("u1", "quickstart"), "cluster name 'quickstart' is taken"),
        (DropCluster("u1"), "cluster u1 still has items"),
        (CreateRole(Role("u9", 1, "materialize")), "role name 'materialize' is taken"),
        (DropItem("u1"), r"item u1 is still needed by \['u2'\]"),
        (DropItem("u99"), "item u99 does not exist"),
        (UpdateItem("u1", cluster_id="u7"), "cluster u7 does not exist"),
        (UpdateItem("u2", dependencies=("u2",)), "item u2 depends on itself"),
        (CreateItem(table("u50", "bids")), "item name 'bids' is taken"),
        (CreateItem(table("u50", "x", "s1")), "item u50 is in a system schema"),
        (CreateItem(table("u50", "x", "0")), "item u50 is temporary by half"),
        (SwapItems("u6", "u3"), "would become temporary by half"),
    ],
)
def test_an_update_that_breaks_what_must_hold_is_a_bug(update: Update, reason: str) -> None:
    with pytest.raises(InvariantViolation, match=reason):
        apply(populated_state(), update)


def test_a_swap_moves_names_and_schemas_but_not_ids() -> None:
    state = apply(populated_state(), SwapItems("u3", "u4"))
    assert (state.items["u3"].schema_id, state.items["u3"].name) == ("u3", "Big Bids")
    assert (state.items["u4"].schema_id, state.items["u4"].name) == ("u1", "plain")
    assert state.item_ids[("u1", 0, "plain")] == "u4"


def test_schemas_and_clusters_swap_names() -> None:
    state = apply(populated_state(), SwapSchemas("u1", "u3"))
    assert (state.schemas["u1"].name, state.schemas["u3"].name) == ("Odd Schema", "public")
    state = apply(state, CreateCluster(Cluster("u2", "blue", "local")))
    state = apply(state, SwapClusters("u1", "u2"))
    assert (state.clusters["u1"].name, state.clusters["u2"].name) == ("blue", "quickstart")


def test_altering_a_cluster_keeps_what_is_not_said() -> None:
    state = apply(base_state(), AlterCluster("u1", replication_factor=0))
    assert state.clusters["u1"] == Cluster("u1", "quickstart", "local", 0)
    assert replica_ids(state.clusters["u1"]) == ()
    state = apply(state, AlterCluster("u1", replication_factor=1))
    assert replica_ids(state.clusters["u1"]) == ("u1",)


def test_replicas_of_different_clusters_have_different_ids() -> None:
    ids = [i for n in range(1, 30) for i in replica_ids(Cluster(f"u{n}", f"c{n}", "local"))]
    assert len(set(ids)) == len(ids)


def test_comments_go_with_what_they_are_about() -> None:
    state = populated_state()
    assert state.comment_on("table", "u2", 3) == "in cents"
    # The view depends on the table, and the temporary view on that one.
    for item_id in state.drop_order(["u2"]):
        state = apply(state, DropItem(item_id))
    assert state.comment_on("table", "u2") is None
    assert state.comment_on("table", "u2", 3) is None
    assert state.comment_on("database", "u1") == "the first"
    for update in (
        SetComment(Comment("role", "u2", None, "the first of them")),
        SetMembership("u3", "u2", None),
        SetDefaultGrant(DefaultGrant(PUBLIC_ID, None, None, "secret", "u2", frozenset())),
        DropRole("u2"),
    ):
        state = apply(state, update)
    assert state.comment_on("role", "u2") is None


def test_a_role_that_has_something_stays() -> None:
    state = populated_state()
    for role_id in ("u1", "u2", "u3"):  # owns, is given by default, is given
        with pytest.raises(InvariantViolation, match="still needed"):
            apply(state, DropRole(role_id))


def test_what_is_granted_goes_with_its_object_and_a_membership_with_its_roles() -> None:
    state = populated_state()
    for item_id in state.drop_order(["u3"]):
        state = apply(state, DropItem(item_id))
    assert ("item", "u3") not in state.grants
    assert state.memberships == {("u3", "u2"): "u1"}
    for schema_id in [schema.id for schema in state.schemas_of("u2")]:
        for item in state.items_of(schema_id):
            state = apply(state, DropItem(item.id))
        state = apply(state, DropSchema(schema_id))
    state = apply(state, DropDatabase("u2"))
    assert [grant.object_kind for grant in state.default_grants.values()] == ["secret"]


def test_an_empty_comment_takes_it_away() -> None:
    state = apply(populated_state(), SetComment(Comment("table", "u2", 3, "")))
    assert state.comment_on("table", "u2", 3) is None
    assert state.comment_on("table", "u2") == "what people offer"


def test_system_variables_are_set_and_reset() -> None:
    state = apply(base_state(), SetSystemVariable("max_tables", "5"))
    assert state.system_variables == {"max_tables": "5"}
    assert apply(state, SetSystemVariable("max_tables", None)).system_variables == {}


def test_a_long_chain_of_views_can_be_dropped() -> None:
    chain = [CreateItem(table("u100", "t100"))]
    chain += [CreateItem(table(f"u{n}", f"t{n}", dependencies=(f"u{n - 1}",))) for n in range(101, 2_100)]
    state = state_after(chain, base_state())
    order = state.drop_order(["u100"])
    assert order == tuple(f"u{n}" for n in range(2_099, 99, -1))


def test_the_tables_of_a_source_are_those_it_feeds() -> None:
    state = populated_state()
    assert [item.id for item in state.exports_of("u1")] == ["u2"]
    assert [item.id for item in state.temporary_items_of(SESSION_PID)] == ["u6"]
    assert [item.id for item in state.items_of_cluster("u1")] == ["u1"]


def test_temporary_items_of_two_sessions_may_share_a_name() -> None:
    state = populated_state()
    mine = state.items["u6"]
    state = apply(state, CreateItem(replace(mine, id="u60", oid=20_600, temporary_pid=5)))
    assert state.item_named("0", "scratch", 5) is not None
    assert state.item_named("0", "scratch", SESSION_PID) == mine
