"""TPCH: sizes by scale factor, the specification's formulas, and orders that come and go.

Method: make a small database whole, load it into Arrow and check what the
specification promises of rows and between tables.
"""

from __future__ import annotations

from collections import Counter
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from headwater.core.frontier import OffsetFrontier
from headwater.sources.load_generator import read, references, resolve_options
from headwater.sources.load_generator.tpch_parts import supplier_of_part, suppliers_per_part
from tests.unit.sources.load_generator.upstreams import NOW_MS, read_each, small, table_of

SIZES = {
    "customer": 1_500,
    "lineitem": 60_000,
    "nation": 25,
    "orders": 15_000,
    "part": 2_000,
    "partsupp": 8_000,
    "region": 5,
    "supplier": 100,
}


@cache
def table(name: str) -> pa.Table:
    return table_of(resolve_options("TPCH", {}, NOW_MS), name, None)


def test_the_default_scale_factor_has_these_sizes() -> None:
    for name, rows in SIZES.items():
        assert abs(table(name).num_rows - rows) <= rows // 1_000


def test_without_an_interval_it_is_one_transaction_of_rows_that_stay() -> None:
    options = resolve_options("TPCH", {}, NOW_MS)
    assert read.probe(options, NOW_MS) == OffsetFrontier(None)
    assert {reference.discipline for reference in references(options)} == {"appended"}
    ticking = resolve_options("TPCH", {"TICK INTERVAL": "1s"}, NOW_MS)
    assert read.probe(ticking, NOW_MS + 5_000) == OffsetFrontier(6)


def test_keys_point_at_rows() -> None:
    nations = set(table("nation")["n_nationkey"].to_pylist())
    assert set(table("nation")["n_regionkey"].to_pylist()) == set(table("region")["r_regionkey"].to_pylist())
    assert set(table("customer")["c_nationkey"].to_pylist()) == nations
    assert set(table("supplier")["s_nationkey"].to_pylist()) <= nations
    customers = set(table("orders")["o_custkey"].to_pylist())
    assert customers <= set(table("customer")["c_custkey"].to_pylist())
    assert not any(customer % 3 == 0 for customer in customers)
    assert set(table("lineitem")["l_orderkey"].to_pylist()) == set(table("orders")["o_orderkey"].to_pylist())
    supplied = set(
        zip(*(table("partsupp")[name].to_pylist() for name in ("ps_partkey", "ps_suppkey")), strict=True)
    )
    assert len(supplied) == table("partsupp").num_rows
    ordered = set(
        zip(*(table("lineitem")[name].to_pylist() for name in ("l_partkey", "l_suppkey")), strict=True)
    )
    assert ordered <= supplied


@pytest.mark.parametrize("factor", [0.0001, 0.0003, 0.0004, 0.0006, 0.0012, 0.012, 0.03])
def test_a_part_has_different_suppliers_at_any_scale(factor: float) -> None:
    options = resolve_options("TPCH", {"SCALE FACTOR": factor}, NOW_MS)
    per_part = suppliers_per_part(options)
    parts = np.arange(round(200_000 * factor), dtype=np.int64)
    found = np.sort(
        [supplier_of_part(options, parts, np.full_like(parts, i)) for i in range(per_part)], axis=0
    )
    assert (np.diff(found, axis=0) > 0).all()
    assert found.min() >= 0
    assert found.max() < max(1, round(10_000 * factor))


def test_an_order_is_the_sum_of_its_lines() -> None:
    lines: dict[int, list[dict[str, object]]] = {}
    for line in table("lineitem").to_pylist():
        lines.setdefault(line["l_orderkey"], []).append(line)
    prices = dict(
        zip(table("part")["p_partkey"].to_pylist(), table("part")["p_retailprice"].to_pylist(), strict=True)
    )
    cent = Decimal("0.01")
    for order in table("orders").to_pylist()[:2_000]:
        own = lines[order["o_orderkey"]]
        assert [line["l_linenumber"] for line in own] == list(range(1, len(own) + 1))
        total = Decimal(0)
        for line in own:
            price, tax, discount = line["l_extendedprice"], line["l_tax"], line["l_discount"]
            assert isinstance(price, Decimal)
            assert isinstance(tax, Decimal)
            assert isinstance(discount, Decimal)
            assert price == line["l_quantity"] * prices[line["l_partkey"]]
            total += (price * (1 + tax) * (1 - discount)).quantize(cent, ROUND_HALF_UP)
        assert order["o_totalprice"] == total
        statuses = {line["l_linestatus"] for line in own}
        assert order["o_orderstatus"] == (statuses.pop() if len(statuses) == 1 else "P")


def test_lines_are_shipped_and_received_in_order() -> None:
    ordered = dict(
        zip(
            table("orders")["o_orderkey"].to_pylist(), table("orders")["o_orderdate"].to_pylist(), strict=True
        )
    )
    assert min(ordered.values()) >= date(1992, 1, 1)
    assert max(ordered.values()) <= date(1998, 8, 2)
    current = date(1995, 6, 17)
    for line in table("lineitem").to_pylist()[:5_000]:
        placed = ordered[line["l_orderkey"]]
        assert 1 <= (line["l_shipdate"] - placed).days <= 121
        assert 30 <= (line["l_commitdate"] - placed).days <= 90
        assert 1 <= (line["l_receiptdate"] - line["l_shipdate"]).days <= 30
        assert line["l_linestatus"] == ("O" if line["l_shipdate"] > current else "F")
        assert (line["l_returnflag"] == "N") == (line["l_receiptdate"] > current)


def test_orders_have_one_to_seven_lines_each_as_often() -> None:
    sizes = Counter(Counter(table("lineitem")["l_orderkey"].to_pylist()).values())
    assert set(sizes) == {1, 2, 3, 4, 5, 6, 7}
    assert max(sizes.values()) - min(sizes.values()) < 20


def test_parts_look_like_the_specification_says() -> None:
    for part in table("part").to_pylist()[:500]:
        key = part["p_partkey"]
        assert part["p_retailprice"] * 100 == 90_000 + key // 10 % 20_001 + 100 * (key % 1_000)
        assert len(set(part["p_name"].split())) == 5
        assert part["p_brand"][6] == part["p_mfgr"][-1]
        assert 1 <= part["p_size"] <= 50
        assert len(part["p_type"].split()) == 3
    supplier = table("supplier").slice(0, 1).to_pylist()[0]
    assert supplier["s_name"] == "Supplier#000000001"
    assert supplier["s_phone"].startswith(f"{supplier['s_nationkey'] + 10}-")
    assert {len(address) for address in table("customer")["c_address"].to_pylist()} == set(range(10, 41))


def test_a_tick_removes_one_order_with_its_lines_and_makes_another() -> None:
    options = small("tpch")
    changes = read_each(options, 1, 400)
    for start in range(1, 400):
        (removed, made) = [row for _, at, row in changes["u_orders"] if at == start]
        lines = [(op, row[0]) for op, at, row in changes["u_lineitem"] if at == start]
        assert set(lines) == {("-", removed[0]), ("+", made[0])}
    assert table_of(options, "orders", 400).num_rows == 150
