"""TPCH: orders and their lines, and the orders that come and go with the ticks.

Orders are numbered for ever: 0 .. n - 1 are the initial ones, and tick d (offset
d + 1) makes order n + d and removes one.  Removals go through the numbers block by
block, each block of n in a scrambled order:

    removed at d   =   block d // n,  place scrambled(d mod n)

Block b has been made completely before tick b * n, so whatever is removed exists,
and the n orders left at any frontier can be listed without replaying anything:

    blocks before d // n   gone
    block d // n           its last n - d mod n places in scrambled order are left
    next block             its first d mod n are there

`Rows` of orders are (order,), of lineitem (order, line counted from 0).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from headwater.core.calendar import days_of
from headwater.core.relation import Column
from headwater.core.types import DATE, INT4, INT8, TEXT, numeric
from headwater.sources.contract import Options
from headwater.sources.load_generator import columns, lexicon
from headwater.sources.load_generator.chance import Chance, IntArray, scrambled
from headwater.sources.load_generator.deck import Deck, expanded
from headwater.sources.load_generator.generator import Changes, Output, Rows, interleaved
from headwater.sources.load_generator.tpch_counts import clerk_count, customer_count, order_count, part_count
from headwater.sources.load_generator.tpch_parts import retail_cents, supplier_of_part, suppliers_per_part

_CHANCE = Chance(0)
_MONEY = numeric(2)
_LINES = Deck(low=1, span=7, copies=7, chance=_CHANCE, stream="lines")
_LINE_NUMBERS = 8  # room per order in the numbering of lines

_FIRST_DAY = days_of(1992, 1, 1)
_LAST_DAY = days_of(1998, 12, 31) - 151
_CURRENT_DAY = days_of(1995, 6, 17)


# Which orders there are


def _removed(count: int, ticks: IntArray) -> IntArray:
    blocks, places = np.divmod(ticks, count)
    return blocks * count + scrambled(places, count)


def _order_units(options: Options, at: int) -> int:
    return order_count(options) if at > 0 else 0


def _orders_at(options: Options, at: int, start: int, end: int) -> IntArray:
    count = order_count(options)
    block, done = divmod(at - 1, count)
    places = np.arange(start, end, dtype=np.int64)
    left = places < count - done
    older = block * count + scrambled(np.where(left, done + places, 0), count)
    return np.where(left, older, (block + 1) * count + places - (count - done))


def _order_rows(options: Options, at: int, start: int, end: int) -> Rows:
    return (_orders_at(options, at, start, end),)


def _order_changes(options: Options, start: int, end: int) -> Changes:
    count = order_count(options)
    offsets = np.arange(start, end, dtype=np.int64)
    orders = interleaved(_removed(count, offsets - 1), count + offsets - 1)
    return Changes((orders,), np.tile(np.array([True, False]), len(offsets)))


def _line_rows(options: Options, at: int, start: int, end: int) -> Rows:
    orders = _orders_at(options, at, start, end)
    return expanded(orders, _LINES.sizes(orders))


def _line_changes(options: Options, start: int, end: int) -> Changes:
    of_orders = _order_changes(options, start, end)
    sizes = _LINES.sizes(of_orders.rows[0])
    rows = expanded(of_orders.rows[0], sizes)
    deletes = np.tile(np.array([True, False]), end - start)
    return Changes(rows, np.repeat(deletes, sizes))


# Facts of an order


def _order_key(orders: IntArray) -> IntArray:
    """Eight keys of every 32 are used."""
    return orders // 8 * 32 + orders % 8 + 1


def _customer(options: Options, orders: IntArray) -> IntArray:
    """Customers whose key is a multiple of 3 never order."""
    customers = customer_count(options)
    place = _CHANCE.below(customers - customers // 3, "order/customer", orders)
    return place + place // 2 + 1


def _order_day(orders: IntArray) -> IntArray:
    return _CHANCE.between(_FIRST_DAY, _LAST_DAY, "order/day", orders)


# Facts of a line; `lines` is order * _LINE_NUMBERS + line.


def _lines_of(rows: Rows) -> IntArray:
    return rows[0] * _LINE_NUMBERS + rows[1]


def _part(options: Options, lines: IntArray) -> IntArray:
    return _CHANCE.below(part_count(options), "line/part", lines)


def _quantity(lines: IntArray) -> IntArray:
    return _CHANCE.between(1, 50, "line/quantity", lines)


def _price_cents(options: Options, lines: IntArray) -> IntArray:
    return _quantity(lines) * retail_cents(_part(options, lines))


def _discount(lines: IntArray) -> IntArray:
    return _CHANCE.between(0, 10, "line/discount", lines)


def _tax(lines: IntArray) -> IntArray:
    return _CHANCE.between(0, 8, "line/tax", lines)


def _ship_day(rows: Rows) -> IntArray:
    return _order_day(rows[0]) + _CHANCE.between(1, 121, "line/ship", _lines_of(rows))


def _receipt_day(rows: Rows) -> IntArray:
    return _ship_day(rows) + _CHANCE.between(1, 30, "line/receipt", _lines_of(rows))


# Facts of an order that its lines decide


def _with_lines(orders: IntArray) -> tuple[Rows, IntArray]:
    sizes = _LINES.sizes(orders)
    return expanded(orders, sizes), np.cumsum(sizes) - sizes


def _total_cents(options: Options, orders: IntArray) -> IntArray:
    rows, starts = _with_lines(orders)
    lines = _lines_of(rows)
    charged = _price_cents(options, lines) * (100 + _tax(lines)) * (100 - _discount(lines))
    return np.add.reduceat((charged + 5_000) // 10_000, starts)


def _order_status(options: Options, rows: Rows) -> pa.Array:
    """F when all lines have been shipped, O when none has, else P."""
    if not len(rows[0]):
        return pa.array([], pa.string())
    of_lines, starts = _with_lines(rows[0])
    shipped = (_ship_day(of_lines) <= _CURRENT_DAY).astype(np.int64)
    all_shipped, any_shipped = np.minimum.reduceat(shipped, starts), np.maximum.reduceat(shipped, starts)
    return columns.picked(("O", "P", "F"), all_shipped + any_shipped)


def _total_price(options: Options, rows: Rows) -> pa.Array:
    return columns.money(_total_cents(options, rows[0]) if len(rows[0]) else rows[0])


def _clerk(options: Options, rows: Rows) -> pa.Array:
    clerk = _CHANCE.below(clerk_count(options), "order/clerk", rows[0]) + 1
    return columns.text_of_pieces(len(rows[0]), "Clerk#", columns.digits(clerk, 9))


def _return_flag(options: Options, rows: Rows) -> pa.Array:
    returned = _CHANCE.below(2, "line/returned", _lines_of(rows))
    return columns.picked(("A", "R", "N"), np.where(_receipt_day(rows) <= _CURRENT_DAY, returned, 2))


def _comment(stream: str, numbers: IntArray) -> pa.Array:
    return columns.picked(lexicon.comments(), lexicon.comment_places(_CHANCE, stream, numbers))


def _word(words: tuple[str, ...], stream: str, numbers: IntArray) -> pa.Array:
    return columns.picked(words, _CHANCE.below(len(words), stream, numbers))


ORDERS = Output(
    name="orders",
    columns=(
        (Column("o_orderkey", INT8, False), lambda options, rows: columns.int8(_order_key(rows[0]))),
        (Column("o_custkey", INT8, False), lambda options, rows: columns.int8(_customer(options, rows[0]))),
        (Column("o_orderstatus", TEXT, False), _order_status),
        (Column("o_totalprice", _MONEY, False), _total_price),
        (Column("o_orderdate", DATE, False), lambda options, rows: columns.date(_order_day(rows[0]))),
        (
            Column("o_orderpriority", TEXT, False),
            lambda options, rows: _word(lexicon.ORDER_PRIORITIES, "order/priority", rows[0]),
        ),
        (Column("o_clerk", TEXT, False), _clerk),
        (Column("o_shippriority", INT4, False), lambda options, rows: columns.int4(np.zeros_like(rows[0]))),
        (Column("o_comment", TEXT, False), lambda options, rows: _comment("order/comment", rows[0])),
    ),
    discipline="keyed",
    keys=((0,),),
    units=_order_units,
    rows=_order_rows,
    changes=_order_changes,
    rows_per_unit=1,
    rows_per_offset=2,
)

LINEITEM = Output(
    name="lineitem",
    columns=(
        (Column("l_orderkey", INT8, False), lambda options, rows: columns.int8(_order_key(rows[0]))),
        (
            Column("l_partkey", INT8, False),
            lambda options, rows: columns.int8(_part(options, _lines_of(rows)) + 1),
        ),
        (
            Column("l_suppkey", INT8, False),
            lambda options, rows: columns.int8(_supplier(options, _lines_of(rows)) + 1),
        ),
        (Column("l_linenumber", INT4, False), lambda options, rows: columns.int4(rows[1] + 1)),
        (
            Column("l_quantity", _MONEY, False),
            lambda options, rows: columns.money(_quantity(_lines_of(rows)) * 100),
        ),
        (
            Column("l_extendedprice", _MONEY, False),
            lambda options, rows: columns.money(_price_cents(options, _lines_of(rows))),
        ),
        (
            Column("l_discount", _MONEY, False),
            lambda options, rows: columns.money(_discount(_lines_of(rows))),
        ),
        (Column("l_tax", _MONEY, False), lambda options, rows: columns.money(_tax(_lines_of(rows)))),
        (Column("l_returnflag", TEXT, False), _return_flag),
        (
            Column("l_linestatus", TEXT, False),
            lambda options, rows: columns.picked(
                ("F", "O"), (_ship_day(rows) > _CURRENT_DAY).astype(np.int64)
            ),
        ),
        (Column("l_shipdate", DATE, False), lambda options, rows: columns.date(_ship_day(rows))),
        (
            Column("l_commitdate", DATE, False),
            lambda options, rows: columns.date(
                _order_day(rows[0]) + _CHANCE.between(30, 90, "line/commit", _lines_of(rows))
            ),
        ),
        (Column("l_receiptdate", DATE, False), lambda options, rows: columns.date(_receipt_day(rows))),
        (
            Column("l_shipinstruct", TEXT, False),
            lambda options, rows: _word(lexicon.SHIP_INSTRUCTIONS, "line/instruction", _lines_of(rows)),
        ),
        (
            Column("l_shipmode", TEXT, False),
            lambda options, rows: _word(lexicon.SHIP_MODES, "line/mode", _lines_of(rows)),
        ),
        (
            Column("l_comment", TEXT, False),
            lambda options, rows: _comment("line/comment", _lines_of(rows)),
        ),
    ),
    discipline="keyed",
    keys=((0, 3),),
    units=_order_units,
    rows=_line_rows,
    changes=_line_changes,
    rows_per_unit=_LINES.mean(),
    rows_per_offset=2 * _LINES.mean(),
)


def _supplier(options: Options, lines: IntArray) -> IntArray:
    """One of the part's suppliers."""
    place = _CHANCE.below(suppliers_per_part(options), "line/supplier", lines)
    return supplier_of_part(options, _part(options, lines), place)
