"""AUCTION: an auction house.

    offset 0        all organizations, users and accounts, in one transaction
    offset 1, 2 ... auctions and their bids, one row each: auction 1, its 2 to 9 bids, auction 2, ...

The deck that deals the bids is shuffled such that the first 300 offsets after the
initial one hold exactly 255 bids, which is what `AUCTION (AS OF 300, UP TO 301)`
is known by.
"""

from __future__ import annotations

import numpy as np

from headwater.core.calendar import SECOND_US
from headwater.core.relation import Column
from headwater.core.types import INT4, INT8, TEXT, TIMESTAMPTZ
from headwater.sources.contract import Options
from headwater.sources.load_generator import columns, lexicon, pace
from headwater.sources.load_generator.chance import Chance, IntArray
from headwater.sources.load_generator.deck import Deck
from headwater.sources.load_generator.generator import (
    Changes,
    Generator,
    Output,
    Rows,
    fixed_output,
    one_unit_per_offset,
)

ORGANIZATION_COUNT = 100
USER_COUNT = 2_000
ACCOUNT_COUNT = 1_000
BIDS_MAX = 10
"""Bid i of auction a has the id a * BIDS_MAX + i."""

_AUCTION_US = 10 * SECOND_US
_CHANCE = Chance(0)
_SHUFFLE = "bids 1"
# A lot is an auction with its 2 to 9 bids: 3 to 10 offsets.
_LOTS = Deck(low=3, span=8, copies=8, chance=_CHANCE, stream=_SHUFFLE)
_LOT_OFFSETS = _LOTS.mean()


def _lots(start: int, end: int) -> tuple[IntArray, IntArray, IntArray]:
    """For each offset: the auction (counted from 0), the place in its lot, the offset."""
    start = max(start, 1)
    auctions, places = _LOTS.parts(start - 1, max(end, start) - 1)
    return auctions, places, np.arange(start, max(end, start), dtype=np.int64)


def _auction_changes(options: Options, start: int, end: int) -> Changes:
    auctions, places, offsets = _lots(start, end)
    opening = places == 0
    return Changes((auctions[opening], offsets[opening]))


def _auction_rows(options: Options, at: int, start: int, end: int) -> Rows:
    return _auction_changes(options, start, end).rows


def _bid_changes(options: Options, start: int, end: int) -> Changes:
    auctions, places, offsets = _lots(start, end)
    bidding = places > 0
    number = places[bidding] - 1
    return Changes((auctions[bidding], number, offsets[bidding] - number - 1))


def _bid_rows(options: Options, at: int, start: int, end: int) -> Rows:
    return _bid_changes(options, start, end).rows


def _seller(auctions: IntArray) -> IntArray:
    return _CHANCE.below(USER_COUNT, "seller", auctions) + 1


def _buyer(bids: IntArray, auctions: IntArray) -> IntArray:
    """Anybody but the seller."""
    return (_seller(auctions) + _CHANCE.below(USER_COUNT - 1, "buyer", bids)) % USER_COUNT + 1


_ORGANIZATIONS = fixed_output(
    name="organizations",
    columns=(
        (Column("id", INT8, False), lambda options, rows: columns.int8(rows[0] + 1)),
        (
            Column("name", TEXT, False),
            lambda options, rows: columns.picked(lexicon.organizations(ORGANIZATION_COUNT), rows[0]),
        ),
    ),
    count=lambda options: ORGANIZATION_COUNT,
)

_USERS = fixed_output(
    name="users",
    columns=(
        (Column("id", INT8, False), lambda options, rows: columns.int8(rows[0] + 1)),
        (
            Column("org_id", INT8, False),
            lambda options, rows: columns.int8(_CHANCE.below(ORGANIZATION_COUNT, "user", rows[0]) + 1),
        ),
        (
            Column("name", TEXT, False),
            lambda options, rows: columns.picked(lexicon.people(USER_COUNT), rows[0]),
        ),
    ),
    count=lambda options: USER_COUNT,
)

_ACCOUNTS = fixed_output(
    name="accounts",
    columns=(
        (Column("id", INT8, False), lambda options, rows: columns.int8(rows[0] + 1)),
        (
            Column("org_id", INT8, False),
            lambda options, rows: columns.int8(_CHANCE.below(ORGANIZATION_COUNT, "account", rows[0]) + 1),
        ),
        (
            Column("balance", INT8, False),
            lambda options, rows: columns.int8(_CHANCE.between(100, 1_000_000, "balance", rows[0])),
        ),
    ),
    count=lambda options: ACCOUNT_COUNT,
)

# Rows: (auction, offset)
_AUCTIONS = Output(
    name="auctions",
    columns=(
        (Column("id", INT8, False), lambda options, rows: columns.int8(rows[0] + 1)),
        (Column("seller", INT8, False), lambda options, rows: columns.int8(_seller(rows[0]))),
        (
            Column("item", TEXT, False),
            lambda options, rows: columns.picked(
                lexicon.AUCTION_ITEMS, _CHANCE.below(len(lexicon.AUCTION_ITEMS), "item", rows[0])
            ),
        ),
        (
            Column("end_time", TIMESTAMPTZ, False),
            lambda options, rows: columns.timestamptz(pace.time_us(options, rows[1]) + _AUCTION_US),
        ),
    ),
    discipline="appended",
    keys=((0,),),
    units=one_unit_per_offset,
    rows=_auction_rows,
    changes=_auction_changes,
    rows_per_unit=1 / _LOT_OFFSETS,
    rows_per_offset=1 / _LOT_OFFSETS,
)

# Rows: (auction, bid's number in it, offset of the auction)
_BIDS = Output(
    name="bids",
    columns=(
        (
            Column("id", INT8, False),
            lambda options, rows: columns.int8((rows[0] + 1) * BIDS_MAX + rows[1]),
        ),
        (
            Column("buyer", INT8, False),
            lambda options, rows: columns.int8(_buyer(rows[0] * BIDS_MAX + rows[1], rows[0])),
        ),
        (Column("auction_id", INT8, False), lambda options, rows: columns.int8(rows[0] + 1)),
        (
            Column("amount", INT4, False),
            lambda options, rows: columns.int4(_CHANCE.between(1, 99, "amount", rows[0], rows[1])),
        ),
        (
            Column("bid_time", TIMESTAMPTZ, False),
            lambda options, rows: columns.timestamptz(pace.time_us(options, rows[2]) + rows[1] * SECOND_US),
        ),
    ),
    discipline="appended",
    keys=((0,),),
    units=one_unit_per_offset,
    rows=_bid_rows,
    changes=_bid_changes,
    rows_per_unit=1 - 1 / _LOT_OFFSETS,
    rows_per_offset=1 - 1 / _LOT_OFFSETS,
)

AUCTION = Generator("auction", lambda options: (_ACCOUNTS, _AUCTIONS, _BIDS, _ORGANIZATIONS, _USERS))
