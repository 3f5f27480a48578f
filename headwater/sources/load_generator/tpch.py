"""TPCH: the tables of the TPC-H benchmark, sized by SCALE FACTOR.

    offset 0        all eight tables
    offset 1, 2 ... only with TICK INTERVAL: one order goes with its lines, a new one comes

Sizes, keys, prices and dates follow the specification's formulas; texts are plain
words of ours.  Orders and their lines are in tpch_orders.py.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import product

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.relation import Column
from headwater.core.types import INT4, INT8, TEXT, numeric
from headwater.sources.contract import Options
from headwater.sources.load_generator import columns, lexicon
from headwater.sources.load_generator.chance import Chance, IntArray
from headwater.sources.load_generator.generator import Fill, Generator, Output, Rows, fixed_output, no_changes
from headwater.sources.load_generator.tpch_counts import customer_count, part_count, supplier_count
from headwater.sources.load_generator.tpch_orders import LINEITEM, ORDERS
from headwater.sources.load_generator.tpch_parts import retail_cents, supplier_of_part, suppliers_per_part

_CHANCE = Chance(0)
_MONEY = numeric(2)
_ALPHABET = np.frombuffer(b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ, ", np.uint8)
_ADDRESS_MIN, _ADDRESS_MAX = 10, 40
_NATION_CODES_FROM = 10
_BALANCE_CENTS_MIN, _BALANCE_CENTS_MAX = -99_999, 999_999
_COMPLAINTS_PER_10000 = 5


def _key(options: Options, rows: Rows) -> pa.Array:
    return columns.int8(rows[0] + 1)


def _number(options: Options, rows: Rows) -> pa.Array:
    return columns.int8(rows[0])


def _comment(table: str) -> Fill:
    def fill(options: Options, rows: Rows) -> pa.Array:
        places = lexicon.comment_places(_CHANCE, f"{table}/comment", *rows)
        return columns.picked(lexicon.comments(), places)

    return fill


def _address(table: str) -> Fill:
    def fill(options: Options, rows: Rows) -> pa.Array:
        letters = _ALPHABET[_CHANCE.bytes(_ADDRESS_MAX, f"{table}/address", rows[0]) & 63]
        lengths = _CHANCE.between(_ADDRESS_MIN, _ADDRESS_MAX, f"{table}/address length", rows[0])
        return columns.ragged_text(letters, lengths)

    return fill


def _nation(table: str, numbers: IntArray) -> IntArray:
    return _CHANCE.below(len(lexicon.NATIONS), f"{table}/nation", numbers)


def _nation_key(table: str) -> Fill:
    return lambda options, rows: columns.int8(_nation(table, rows[0]))


def _phone(table: str) -> Fill:
    """Country code and a number: 11-345-678-9012."""

    def block(low: int, high: int, part: str, numbers: IntArray) -> npt.NDArray[np.uint8]:
        return columns.digits(_CHANCE.between(low, high, f"{table}/phone {part}", numbers), len(str(high)))

    def fill(options: Options, rows: Rows) -> pa.Array:
        country = columns.digits(_nation(table, rows[0]) + _NATION_CODES_FROM, 2)
        area = block(100, 999, "area", rows[0])
        exchange = block(100, 999, "exchange", rows[0])
        line = block(1000, 9999, "line", rows[0])
        return columns.text_of_pieces(len(rows[0]), country, "-", area, "-", exchange, "-", line)

    return fill


def _balance(table: str) -> Fill:
    return lambda options, rows: columns.money(
        _CHANCE.between(_BALANCE_CENTS_MIN, _BALANCE_CENTS_MAX, f"{table}/balance", rows[0])
    )


def _name(prefix: str) -> Fill:
    return lambda options, rows: columns.text_of_pieces(len(rows[0]), prefix, columns.digits(rows[0] + 1, 9))


# Suppliers and customers


@lru_cache(maxsize=1)
def _supplier_remarks() -> pa.Array:
    """The pool of comments, and behind it the two remarks that benchmark queries look for."""
    remarks = ["waits Customer slow Complaints", "arrives Customer gladly Recommends"]
    return pa.concat_arrays([lexicon.comments(), pa.array(remarks, pa.string())])


def _supplier_comment(options: Options, rows: Rows) -> pa.Array:
    pool = _supplier_remarks()
    places = lexicon.comment_places(_CHANCE, "supplier/comment", rows[0])
    remark = _CHANCE.below(10_000, "supplier/remark", rows[0])
    places = np.where(remark < _COMPLAINTS_PER_10000, len(pool) - 2, places)
    recommended = (remark >= _COMPLAINTS_PER_10000) & (remark < 2 * _COMPLAINTS_PER_10000)
    return columns.picked(pool, np.where(recommended, len(pool) - 1, places))


_SUPPLIER = fixed_output(
    name="supplier",
    columns=(
        (Column("s_suppkey", INT8, False), _key),
        (Column("s_name", TEXT, False), _name("Supplier#")),
        (Column("s_address", TEXT, False), _address("supplier")),
        (Column("s_nationkey", INT8, False), _nation_key("supplier")),
        (Column("s_phone", TEXT, False), _phone("supplier")),
        (Column("s_acctbal", _MONEY, False), _balance("supplier")),
        (Column("s_comment", TEXT, False), _supplier_comment),
    ),
    count=supplier_count,
)

_CUSTOMER = fixed_output(
    name="customer",
    columns=(
        (Column("c_custkey", INT8, False), _key),
        (Column("c_name", TEXT, False), _name("Customer#")),
        (Column("c_address", TEXT, False), _address("customer")),
        (Column("c_nationkey", INT8, False), _nation_key("customer")),
        (Column("c_phone", TEXT, False), _phone("customer")),
        (Column("c_acctbal", _MONEY, False), _balance("customer")),
        (
            Column("c_mktsegment", TEXT, False),
            lambda options, rows: columns.picked(
                lexicon.MARKET_SEGMENTS,
                _CHANCE.below(len(lexicon.MARKET_SEGMENTS), "customer/segment", rows[0]),
            ),
        ),
        (Column("c_comment", TEXT, False), _comment("customer")),
    ),
    count=customer_count,
)


# Parts


@lru_cache(maxsize=4)
def _combinations(lists: tuple[tuple[str, ...], ...]) -> pa.Array:
    return pa.array([" ".join(words) for words in product(*lists)], pa.string())


def _combined(lists: tuple[tuple[str, ...], ...], stream: str) -> Fill:
    def fill(options: Options, rows: Rows) -> pa.Array:
        pool = _combinations(lists)
        return columns.picked(pool, _CHANCE.below(len(pool), stream, rows[0]))

    return fill


def _part_name(options: Options, rows: Rows) -> pa.Array:
    """Five different colours: each is found some steps after the one before."""
    count = len(lexicon.COLOURS)
    pool = pa.array(lexicon.COLOURS, pa.string())
    place = _CHANCE.below(count, "part/name 0", rows[0])
    words = [columns.picked(pool, place)]
    for i in range(1, 5):
        place = (place + 1 + _CHANCE.below(count // 5, f"part/name {i}", rows[0])) % count
        words.append(columns.picked(pool, place))
    return pc.binary_join_element_wise(*words, " ")


def _maker(parts: IntArray) -> IntArray:
    return _CHANCE.between(1, 5, "part/maker", parts)


def _manufacturer(options: Options, rows: Rows) -> pa.Array:
    return columns.text_of_pieces(len(rows[0]), "Manufacturer#", columns.digits(_maker(rows[0]), 1))


def _brand(options: Options, rows: Rows) -> pa.Array:
    number = _maker(rows[0]) * 10 + _CHANCE.between(1, 5, "part/brand", rows[0])
    return columns.text_of_pieces(len(rows[0]), "Brand#", columns.digits(number, 2))


_PART = fixed_output(
    name="part",
    columns=(
        (Column("p_partkey", INT8, False), _key),
        (Column("p_name", TEXT, False), _part_name),
        (Column("p_mfgr", TEXT, False), _manufacturer),
        (Column("p_brand", TEXT, False), _brand),
        (Column("p_type", TEXT, False), _combined(lexicon.TYPE_WORDS, "part/type")),
        (
            Column("p_size", INT4, False),
            lambda options, rows: columns.int4(_CHANCE.between(1, 50, "part/size", rows[0])),
        ),
        (Column("p_container", TEXT, False), _combined(lexicon.CONTAINER_WORDS, "part/container")),
        (Column("p_retailprice", _MONEY, False), lambda options, rows: columns.money(retail_cents(rows[0]))),
        (Column("p_comment", TEXT, False), _comment("part")),
    ),
    count=part_count,
)


def _partsupp_units(options: Options, at: int) -> int:
    return part_count(options) * suppliers_per_part(options) if at > 0 else 0


def _partsupp_rows(options: Options, at: int, start: int, end: int) -> Rows:
    """Rows: (part, number of the supplier among the part's)."""
    parts, places = np.divmod(np.arange(start, end, dtype=np.int64), suppliers_per_part(options))
    return parts, places


_PARTSUPP = Output(
    name="partsupp",
    columns=(
        (Column("ps_partkey", INT8, False), _key),
        (
            Column("ps_suppkey", INT8, False),
            lambda options, rows: columns.int8(supplier_of_part(options, rows[0], rows[1]) + 1),
        ),
        (
            Column("ps_availqty", INT4, False),
            lambda options, rows: columns.int4(_CHANCE.between(1, 9_999, "partsupp/quantity", *rows)),
        ),
        (
            Column("ps_supplycost", _MONEY, False),
            lambda options, rows: columns.money(_CHANCE.between(100, 100_000, "partsupp/cost", *rows)),
        ),
        (Column("ps_comment", TEXT, False), _comment("partsupp")),
    ),
    discipline="appended",
    keys=((0, 1),),
    units=_partsupp_units,
    rows=_partsupp_rows,
    changes=no_changes,
    rows_per_unit=1,
    rows_per_offset=0,
)


# Nations and regions

_NATION = fixed_output(
    name="nation",
    columns=(
        (Column("n_nationkey", INT8, False), _number),
        (
            Column("n_name", TEXT, False),
            lambda options, rows: columns.picked([name for name, _ in lexicon.NATIONS], rows[0]),
        ),
        (
            Column("n_regionkey", INT8, False),
            lambda options, rows: columns.int8(np.array([region for _, region in lexicon.NATIONS])[rows[0]]),
        ),
        (Column("n_comment", TEXT, False), _comment("nation")),
    ),
    count=lambda options: len(lexicon.NATIONS),
)

_REGION = fixed_output(
    name="region",
    columns=(
        (Column("r_regionkey", INT8, False), _number),
        (Column("r_name", TEXT, False), lambda options, rows: columns.picked(lexicon.REGIONS, rows[0])),
        (Column("r_comment", TEXT, False), _comment("region")),
    ),
    count=lambda options: len(lexicon.REGIONS),
)


def _outputs(options: Options) -> tuple[Output, ...]:
    orders, lineitem = ORDERS, LINEITEM
    if options["tick_interval_ms"] is None:
        orders, lineitem = replace(orders, discipline="appended"), replace(lineitem, discipline="appended")
    return (_CUSTOMER, lineitem, _NATION, orders, _PART, _PARTSUPP, _REGION, _SUPPLIER)


TPCH = Generator(
    "tpch",
    _outputs,
    length=lambda options: 1 if options["tick_interval_ms"] is None else None,
    row_bytes=lambda options: 200,
)
