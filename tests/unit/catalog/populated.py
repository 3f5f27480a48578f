"""A catalog with a little of everything, for tests to look at."""

from __future__ import annotations

from collections.abc import Iterable

from headwater.catalog.apply import apply
from headwater.catalog.details import FedTable, Ingestion, ListedReference, PlainTable, View
from headwater.catalog.state import (
    PUBLIC_ID,
    CatalogState,
    Cluster,
    Comment,
    Database,
    DefaultGrant,
    Grant,
    Item,
    Role,
    Schema,
)
from headwater.catalog.updates import (
    CreateCluster,
    CreateDatabase,
    CreateItem,
    CreateRole,
    CreateSchema,
    SetComment,
    SetDefaultGrant,
    SetGrants,
    SetMembership,
    Update,
)
from headwater.core.export import Export
from headwater.core.relation import Column, Relation
from headwater.core.types import INT4, INT8, TEXT, UINT8, SqlType, array_of, list_of, map_of, numeric

BIDS = Relation(
    (
        Column("id", INT8, nullable=False),
        Column("item", SqlType("varchar", length=20)),
        Column("amount", numeric(2), default="0"),
        Column("tags", array_of(TEXT)),
        Column("notes", list_of(TEXT)),
        Column("facts", map_of(INT4)),
    ),
    ((0,),),
)
PROGRESS = Relation((Column("offset", UINT8),))
SESSION_PID = 77
REFERENCE = ("mz_load_generators", "auction", "bids")

BASE: tuple[Update, ...] = (
    CreateRole(Role("s1", 16_704, "mz_system", superuser=True)),
    CreateRole(Role("u1", 20_000, "materialize", superuser=True)),
    CreateDatabase(Database("u1", 20_001, "materialize")),
    CreateSchema(Schema("u1", 20_002, "u1", "public")),
    CreateCluster(Cluster("u1", "quickstart", "local")),
)

OBJECTS: tuple[Update, ...] = (
    CreateDatabase(Database("u2", 20_003, "other")),
    CreateSchema(Schema("u2", 20_004, "u2", "public")),
    CreateSchema(Schema("u3", 20_005, "u1", "Odd Schema")),
    CreateItem(
        Item(
            "u1",
            20_010,
            "u1",
            "auction",
            "source",
            "CREATE SOURCE materialize.public.auction IN CLUSTER quickstart FROM LOAD GENERATOR AUCTION;",
            PROGRESS,
            cluster_id="u1",
            details=Ingestion(
                "load-generator",
                {"generator": "auction"},
                1_000,
                5_000,
                (
                    ListedReference(("mz_load_generators", "auction"), "bids", ("id",)),
                    ListedReference((), "topic", ()),
                ),
                1_000,
            ),
        )
    ),
    CreateItem(
        Item(
            "u2",
            20_011,
            "u1",
            "bids",
            "table",
            "CREATE TABLE materialize.public.bids FROM SOURCE materialize.public.auction (REFERENCE 'bids');",
            BIDS,
            ("u1",),
            details=FedTable("u1", Export("u2", REFERENCE, BIDS, BIDS.column_names(), "keyed"), 1_000),
        )
    ),
    CreateItem(
        Item(
            "u3",
            20_012,
            "u1",
            "plain",
            "table",
            "CREATE TABLE materialize.public.plain ();",
            BIDS,
            details=PlainTable(1_000),
        )
    ),
    CreateItem(
        Item(
            "u4",
            20_013,
            "u3",
            "Big Bids",
            "view",
            'CREATE VIEW materialize."Odd Schema"."Big Bids" AS SELECT \'x\' AS a;',
            Relation((Column("a", TEXT),)),
            ("u2", "u3"),
            definition="SELECT 'x' AS a",
            details=View(),
        )
    ),
    CreateItem(
        Item(
            "u5",
            20_014,
            "u2",
            "bids",
            "table",
            "CREATE TABLE other.public.bids ();",
            PROGRESS,
            details=PlainTable(1_000),
        )
    ),
    CreateItem(
        Item(
            "u6",
            20_015,
            "0",
            "scratch",
            "view",
            "CREATE TEMPORARY VIEW scratch AS SELECT 1 AS n;",
            Relation((Column("n", INT4, nullable=False),)),
            ("u4",),
            definition="SELECT 1 AS n",
            details=View(),
            temporary_pid=SESSION_PID,
        )
    ),
    SetComment(Comment("table", "u2", None, "what people offer")),
    SetComment(Comment("table", "u2", 3, "in cents")),
    SetComment(Comment("schema", "u1", None, "for everybody")),
    SetComment(Comment("database", "u1", None, "the first")),
    SetComment(Comment("role", "u1", None, "the usual one")),
    SetComment(Comment("cluster", "u1", None, "the usual one")),
    CreateRole(Role("u2", 20_016, "ann", verifier="SCRAM-SHA-256$1:a$b:c", settings={"cluster": "other"})),
    CreateRole(Role("u3", 20_017, "readers", login=False, connection_limit=3)),
    SetMembership("u3", "u2", "u1"),
    SetGrants(("item", "u3"), (Grant("u3", "u1", frozenset({"SELECT", "INSERT"})),)),
    SetGrants(("item", "u6"), (Grant(PUBLIC_ID, "u1", frozenset({"SELECT"})),)),
    SetGrants(("system", ""), (Grant("u3", "s1", frozenset({"CREATEDB"})),)),
    SetDefaultGrant(DefaultGrant("u1", "u2", None, "table", "u3", frozenset({"SELECT"}))),
    SetDefaultGrant(DefaultGrant(PUBLIC_ID, None, None, "secret", "u2", frozenset({"USAGE"}))),
)


def state_after(updates: Iterable[Update], state: CatalogState | None = None) -> CatalogState:
    """The state that these updates lead to."""
    after = CatalogState() if state is None else state
    for update in updates:
        after = apply(after, update)
    return after


def base_state() -> CatalogState:
    """What a new environment begins with."""
    return state_after(BASE)


def populated_state() -> CatalogState:
    """A little of everything."""
    return state_after([*BASE, *OBJECTS])


NARROW = Relation((Column("n", INT4),))


def table(item_id: str, name: str, schema_id: str = "u1", dependencies: tuple[str, ...] = ()) -> Item:
    number = int(item_id[1:])
    numbers = (item_id, 20_100 + number)
    return Item(
        *numbers, schema_id, name, "table", "CREATE TABLE", NARROW, dependencies, details=PlainTable(1_000)
    )
