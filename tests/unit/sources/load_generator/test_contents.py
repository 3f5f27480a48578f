"""Each generator's contents: documented counts, shapes of tables, and what must agree with what.

Method: read whole outputs at a frontier and check them with Arrow and numpy.
"""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pyarrow.compute as pc
import pytest

from headwater.core.change import Discipline
from headwater.core.frontier import OffsetFrontier
from headwater.core.relation import Column, Relation
from headwater.core.types import FACTS, RANGES, UINT8
from headwater.sources.contract import Export
from headwater.sources.load_generator import read, references, resolve_options
from tests.unit.sources.load_generator.upstreams import (
    KEY_VALUE,
    NOW_MS,
    exports_of,
    read_between,
    read_each,
    small,
    snapshot_at,
    table_of,
)

SHAPES: dict[str, dict[str, tuple[Discipline, tuple[str, ...], str]]] = {
    "auction": {
        "accounts": ("appended", ("id",), "id bigint, org_id bigint, balance bigint"),
        "auctions": (
            "appended",
            ("id",),
            "id bigint, seller bigint, item text, end_time timestamp with time zone",
        ),
        "bids": (
            "appended",
            ("id",),
            "id bigint, buyer bigint, auction_id bigint, amount integer, bid_time timestamp with time zone",
        ),
        "organizations": ("appended", ("id",), "id bigint, name text"),
        "users": ("appended", ("id",), "id bigint, org_id bigint, name text"),
    },
    "clock": {"clock": ("counted", (), "time timestamp with time zone")},
    "counter": {"counter": ("appended", (), "counter bigint")},
    "counter of 5": {"counter": ("counted", (), "counter bigint")},
    "key value": {"key_value": ("keyed", ("partition", "key"), "key uint8, partition uint8, value bytea")},
    "marketing": {
        "clicks": ("appended", (), "impression_id bigint, click_time timestamp with time zone"),
        "conversion_predictions": (
            "appended",
            (),
            "lead_id bigint, experiment_bucket text, predicted_at timestamp with time zone, "
            "score double precision",
        ),
        "coupons": (
            "appended",
            ("id",),
            "id bigint, lead_id bigint, created_at timestamp with time zone, amount bigint",
        ),
        "customers": ("appended", ("id",), "id bigint, email text, income bigint"),
        "impressions": (
            "appended",
            ("id",),
            "id bigint, customer_id bigint, campaign_id bigint, impression_time timestamp with time zone",
        ),
        "leads": (
            "keyed",
            ("id",),
            "id bigint, customer_id bigint, created_at timestamp with time zone, "
            "converted_at timestamp with time zone?, conversion_amount bigint?",
        ),
    },
    "tpch": {
        "customer": (
            "appended",
            ("c_custkey",),
            "c_custkey bigint, c_name text, c_address text, c_nationkey bigint, c_phone text, "
            "c_acctbal numeric(39,2), c_mktsegment text, c_comment text",
        ),
        "lineitem": (
            "keyed",
            ("l_orderkey", "l_linenumber"),
            "l_orderkey bigint, l_partkey bigint, l_suppkey bigint, l_linenumber integer, "
            "l_quantity numeric(39,2), l_extendedprice numeric(39,2), l_discount numeric(39,2), "
            "l_tax numeric(39,2), l_returnflag text, l_linestatus text, l_shipdate date, l_commitdate date, "
            "l_receiptdate date, l_shipinstruct text, l_shipmode text, l_comment text",
        ),
        "nation": (
            "appended",
            ("n_nationkey",),
            "n_nationkey bigint, n_name text, n_regionkey bigint, n_comment text",
        ),
        "orders": (
            "keyed",
            ("o_orderkey",),
            "o_orderkey bigint, o_custkey bigint, o_orderstatus text, o_totalprice numeric(39,2), "
            "o_orderdate date, o_orderpriority text, o_clerk text, o_shippriority integer, o_comment text",
        ),
        "part": (
            "appended",
            ("p_partkey",),
            "p_partkey bigint, p_name text, p_mfgr text, p_brand text, p_type text, p_size integer, "
            "p_container text, p_retailprice numeric(39,2), p_comment text",
        ),
        "partsupp": (
            "appended",
            ("ps_partkey", "ps_suppkey"),
            "ps_partkey bigint, ps_suppkey bigint, ps_availqty integer, ps_supplycost numeric(39,2), "
            "ps_comment text",
        ),
        "region": ("appended", ("r_regionkey",), "r_regionkey bigint, r_name text, r_comment text"),
        "supplier": (
            "appended",
            ("s_suppkey",),
            "s_suppkey bigint, s_name text, s_address text, s_nationkey bigint, s_phone text, "
            "s_acctbal numeric(39,2), s_comment text",
        ),
    },
}


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_references_have_these_columns_keys_and_disciplines(name: str) -> None:
    options = small(name)
    found = {}
    for reference in references(options):
        assert reference.namespace == ("mz_load_generators", options["generator"])
        listed = ", ".join(
            f"{column.name} {column.type}{'?' if column.nullable else ''}"
            for column in reference.relation.columns
        )
        found[reference.name] = (reference.discipline, reference.relation.key_names(), listed)
    assert found == SHAPES[name]


# Counter, clock


def test_counter_as_of_4_up_to_5_yields_5_rows() -> None:
    options = resolve_options("COUNTER", {"AS OF": 4, "UP TO": 5}, NOW_MS)
    assert table_of(options, "counter", None)["counter"].to_pylist() == [1, 2, 3, 4, 5]
    assert [row for _, row in read_between(options, 0, None)["u_counter"]] == [
        ("1",),
        ("2",),
        ("3",),
        ("4",),
        ("5",),
    ]


def test_a_bounded_counter_takes_away_its_oldest_number() -> None:
    options = resolve_options("COUNTER", {"MAX CARDINALITY": 2}, NOW_MS)
    assert read_each(options, 1, 4)["u_counter"] == [
        ("+", 1, ("2",)),
        ("+", 2, ("3",)),
        ("-", 2, ("1",)),
        ("+", 3, ("4",)),
        ("-", 3, ("2",)),
    ]


def test_the_clock_shows_one_time_that_moves_by_the_interval() -> None:
    options = resolve_options("CLOCK", {"AS OF": 10, "TICK INTERVAL": "2s"}, NOW_MS)
    times = [table_of(options, "clock", at)["time"].to_pylist() for at in (11, 12)]
    assert [len(time) for time in times] == [1, 1]
    assert times[0][0].timestamp() * 1_000 == NOW_MS
    assert (times[1][0] - times[0][0]).total_seconds() == 2


# Auction


def test_auction_as_of_300_up_to_301_yields_255_bids() -> None:
    options = resolve_options("AUCTION", {"AS OF": 300, "UP TO": 301}, NOW_MS)
    assert read.probe(options, NOW_MS) == OffsetFrontier(None)
    assert table_of(options, "bids", None).num_rows == 255
    assert table_of(options, "auctions", None).num_rows == 45
    changes = read_between(options, 0, None)
    assert len(changes["u_bids"]) == 255


def test_the_first_transaction_of_auction_is_the_people_and_every_other_is_one_row() -> None:
    changes = read_each(small("auction"), 0, 500)
    assert {table for table, found in changes.items() if any(at == 0 for _, at, _ in found)} == {
        "u_accounts",
        "u_organizations",
        "u_users",
    }
    later = Counter(at for found in changes.values() for _, at, _ in found if at > 0)
    assert later == Counter(range(1, 500))


def test_bids_follow_their_auction_and_come_before_its_end() -> None:
    options = small("auction")
    auctions, bids = table_of(options, "auctions", 20_000), table_of(options, "bids", 20_000)
    ids = auctions["id"].to_numpy()
    assert (ids == np.arange(1, len(ids) + 1)).all()
    end_time = dict(zip(ids.tolist(), auctions["end_time"].to_pylist(), strict=True))
    seller = dict(zip(ids.tolist(), auctions["seller"].to_pylist(), strict=True))
    counts = Counter(bids["auction_id"].to_pylist())
    assert {counts[auction] for auction in ids.tolist()[:-1]} == set(range(2, 10))
    users = set(table_of(options, "users", 1)["id"].to_pylist())
    for bid in bids.to_pylist():
        assert bid["id"] // 10 == bid["auction_id"]
        assert bid["bid_time"] < end_time[bid["auction_id"]]
        assert bid["buyer"] in users
        assert bid["buyer"] != seller[bid["auction_id"]]
        assert 1 <= bid["amount"] <= 99


def test_names_of_organizations_and_users_are_their_own() -> None:
    options = small("auction")
    organizations, users = table_of(options, "organizations", 1), table_of(options, "users", 1)
    assert len(set(organizations["name"].to_pylist())) == organizations.num_rows
    assert len(set(users["name"].to_pylist())) == users.num_rows
    assert set(users["org_id"].to_pylist()) == set(organizations["id"].to_pylist())


# Key value


def key_value_export(columns: tuple[str, ...]) -> Export:
    (reference,) = references(small("key value"))
    by_name = {column.name: column for column in reference.relation.columns}
    by_name["offset"] = Column("offset", UINT8)
    kept = tuple(Column(f"my_{name}", by_name[name].type, by_name[name].nullable) for name in columns)
    relation = Relation(kept, ((columns.index("partition"), columns.index("key")),))
    return Export("u1", reference.path(), relation, columns, "keyed")


@pytest.mark.parametrize("transactional", [True, False])
def test_every_key_is_there_once_after_the_snapshot(transactional: bool) -> None:
    options = resolve_options("KEY VALUE", KEY_VALUE | {"TRANSACTIONAL SNAPSHOT": transactional}, NOW_MS)
    table = table_of(options, "key_value", None)
    keys = [int(key) for key in table["key"].to_pylist()]
    assert sorted(keys) == list(range(24))
    assert [int(partition) for partition in table["partition"].to_pylist()] == [key % 2 for key in keys]
    assert pc.unique(pc.binary_length(table["value"])).to_pylist() == [11]
    assert len(set(table["value"].to_pylist())) == 24


def test_a_tick_of_key_value_writes_a_batch_of_every_partition() -> None:
    changes = read_each(small("key value"), 1, 5)["u_key_value"]
    by_offset: dict[int, list[str]] = {}
    for _, offset, row in changes:
        by_offset.setdefault(offset, []).append(row[1])
    assert {offset: sorted(Counter(found).values()) for offset, found in by_offset.items()} == {
        offset: [3, 3] for offset in (1, 2, 3, 4)
    }
    assert len({row[0] for _, _, row in changes}) == 24


def test_the_offset_of_the_last_write_can_be_a_column() -> None:
    options = small("key value")
    export = key_value_export(("offset", "partition", "key"))
    rows = snapshot_at(options, export, 4)
    written = {int(key.split("'")[1]): int(offset.split("'")[1]) for offset, _, key in rows}
    assert Counter(written.values()) == {0: 6, 1: 6, 2: 6, 3: 6}
    last = {int(row[0].split("'")[1]): at for _, at, row in read_each(options, 0, 4)["u_key_value"]}
    assert written == last


def test_a_table_takes_the_columns_it_names_in_its_own_order() -> None:
    export = key_value_export(("partition", "key"))
    (chunk,) = read.plan_snapshot(small("key value"), export, OffsetFrontier(1), 1_000)
    (batch,) = read.snapshot(pickle.loads(pickle.dumps(chunk)))
    assert batch.schema.names == ["my_partition", "my_key"]
    assert batch.num_rows == chunk.rows_estimate == 24


def test_wide_values_make_small_batches() -> None:
    given = {"KEYS": 64, "SNAPSHOT ROUNDS": 1, "VALUE SIZE": 2_000_000, "SEED": 1, "PARTITIONS": 1}
    options = resolve_options("KEY VALUE", given | {"BATCH SIZE": 32}, NOW_MS)
    chunks = read.plan_snapshot(options, exports_of(options)[0], OffsetFrontier(None), 250_000)
    assert sum(chunk.rows_estimate for chunk in chunks) == 64
    first = next(read.snapshot(chunks[0]))
    assert first.nbytes < 20_000_000


# Marketing


def test_marketing_goes_from_impression_to_conversion() -> None:
    options = small("marketing")
    tables = {name: table_of(options, name, 20_000) for name in SHAPES["marketing"]}
    impressions = dict(
        zip(tables["impressions"]["id"].to_pylist(), tables["impressions"].to_pylist(), strict=True)
    )
    assert len(impressions) == 19_999
    customers = set(tables["customers"]["id"].to_pylist())
    assert {row["customer_id"] for row in impressions.values()} <= customers
    for click in tables["clicks"].to_pylist():
        assert click["click_time"] > impressions[click["impression_id"]]["impression_time"]
    leads = {row["id"]: row for row in tables["leads"].to_pylist()}
    assert sorted(leads) == list(range(1, len(leads) + 1))
    converted = [row for row in leads.values() if row["converted_at"] is not None]
    assert 0.2 < len(converted) / len(leads) < 0.4
    for lead in leads.values():
        assert (lead["converted_at"] is None) == (lead["conversion_amount"] is None)
        assert lead["converted_at"] is None or lead["converted_at"] > lead["created_at"]
    predictions = {row["lead_id"]: row for row in tables["conversion_predictions"].to_pylist()}
    assert predictions.keys() == leads.keys()
    couponed = tables["coupons"]["lead_id"].to_pylist()
    assert len(couponed) == len(set(couponed)) > 1_000
    assert {predictions[lead]["experiment_bucket"] for lead in couponed} == {"experiment"}


def test_a_conversion_is_the_lead_again() -> None:
    changes = read_between(small("marketing"), 0, 400)["u_leads"]
    assert {op for op, _ in changes} == {"+"}
    counts = Counter(row[0] for _, row in changes)
    assert set(counts.values()) == {1, 2}


# Datums


def test_datums_hold_values_and_nulls_of_every_type_and_then_end() -> None:
    options = small("datums")
    assert read.probe(options, NOW_MS) == OffsetFrontier(None)
    table = table_of(options, "datums", None)
    rows = table.to_pylist(maps_as_pydicts="strict")
    assert [row["rowid"] for row in rows] == [1, 2, 3, 4, 5]
    assert all(value is None for name, value in rows[4].items() if name != "rowid")
    assert all(value is not None for row in rows[:4] for value in row.values())
    (reference,) = references(options)
    shown = {column.type.kind for column in reference.relation.columns}
    # Names of things in the catalog, ranges, types of expressions, and a second spelling of jsonb and text.
    left_out = {kind for kind in FACTS if kind.startswith("reg")}
    left_out |= {*RANGES, "unknown", "void", "record", "mz_aclitem", "int2vector", '"char"', "name", "json"}
    assert shown == set(FACTS) - left_out
