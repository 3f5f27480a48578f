"""MARKETING: campaigns, from an impression to a sale.

    offset 0    all customers
    offset t    impression t, and whatever earlier ones have led to by now:

    impression t ──1 to 5 offsets──► click     of about a third, and of every eighth that becomes a lead
       one of each eight, 6 offsets──► lead and its conversion prediction
                      ──1 offset───► coupon    for the one lead of each pair that is in the experiment
                      ──2 to 31────► the lead is converted (an update), more often with a coupon

Delays are bounded, so the changes of an offset are found by looking a bounded
number of offsets back; ids are consecutive because one of each eight impressions
(of each two leads) is chosen.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from headwater.core.relation import Column
from headwater.core.types import FLOAT8, INT8, TEXT, TIMESTAMPTZ
from headwater.sources.contract import Options
from headwater.sources.load_generator import columns, lexicon, pace
from headwater.sources.load_generator.chance import BoolArray, Chance, IntArray
from headwater.sources.load_generator.generator import (
    Changes,
    Generator,
    Output,
    Rows,
    fixed_output,
    one_unit_per_offset,
)

CUSTOMER_COUNT = 1_000
CAMPAIGN_COUNT = 10

_CHANCE = Chance(0)
_BUCKETS = ("control", "experiment")
_CLICK_DELAY_MAX = 5
_CLICK_SHARE = 0.3
_IMPRESSIONS_PER_LEAD = 8
_LEAD_DELAY = 6
_COUPON_DELAY = 1
_CONVERSION_DELAY_MIN = 2
_CONVERSION_DELAY_MAX = 31
_CONVERSION_SHARES = np.array([0.2, 0.4])  # by bucket


# Impressions and clicks.  Impression t happens at offset t.


def _impression_changes(options: Options, start: int, end: int) -> Changes:
    offsets = np.arange(max(start, 1), max(end, 1), dtype=np.int64)
    return Changes((offsets,))


def _impression_rows(options: Options, at: int, start: int, end: int) -> Rows:
    return _impression_changes(options, start, end).rows


def _customer_of_impression(impressions: IntArray) -> IntArray:
    return _CHANCE.below(CUSTOMER_COUNT, "impression/customer", impressions) + 1


def _clicked(impressions: IntArray) -> BoolArray:
    """Whether an impression is ever clicked; one that becomes a lead must be."""
    leading: BoolArray = _impression_of_lead((impressions - 1) // _IMPRESSIONS_PER_LEAD) == impressions
    return leading | (_CHANCE.shares("click", impressions) < _CLICK_SHARE)


def _click_offset(impressions: IntArray) -> IntArray:
    return impressions + _CHANCE.between(1, _CLICK_DELAY_MAX, "click/delay", impressions)


def _click_changes(options: Options, start: int, end: int) -> Changes:
    impressions = np.arange(max(start - _CLICK_DELAY_MAX, 1), max(end, 1), dtype=np.int64)
    impressions = impressions[_clicked(impressions)]
    offsets = _click_offset(impressions)
    kept = (offsets >= start) & (offsets < end)
    impressions, offsets = impressions[kept], offsets[kept]
    order = np.argsort(offsets, kind="stable")
    return Changes((impressions[order],))


def _click_rows(options: Options, at: int, start: int, end: int) -> Rows:
    impressions = np.arange(max(start, 1), max(end, 1), dtype=np.int64)
    impressions = impressions[_clicked(impressions)]
    return (impressions[_click_offset(impressions) < at],)


# Leads, counted from 0.


def _impression_of_lead(leads: IntArray) -> IntArray:
    block = leads * _IMPRESSIONS_PER_LEAD + 1
    return block + _CHANCE.below(_IMPRESSIONS_PER_LEAD, "lead", leads)


def _lead_offset(leads: IntArray) -> IntArray:
    return _impression_of_lead(leads) + _LEAD_DELAY


def _leads_between(start: int, end: int) -> IntArray:
    """All leads of offsets [start, end), in order."""
    first = max(0, (start - _LEAD_DELAY) // _IMPRESSIONS_PER_LEAD - 1)
    last = max(first, (end - _LEAD_DELAY) // _IMPRESSIONS_PER_LEAD + 1)
    leads = np.arange(first, last, dtype=np.int64)
    offsets = _lead_offset(leads)
    return leads[(offsets >= start) & (offsets < end)]


def _lead_units(options: Options, at: int) -> int:
    """Leads that may exist at a frontier; the last may still be to come."""
    return max(0, (at - _LEAD_DELAY) // _IMPRESSIONS_PER_LEAD + 1)


def _bucket(leads: IntArray) -> IntArray:
    """0 control, 1 experiment: exactly one of leads 2c and 2c + 1."""
    chosen: BoolArray = leads == _lead_of_coupon(leads // 2)
    return chosen.astype(np.int64)


def _converted(leads: IntArray) -> BoolArray:
    return _CHANCE.shares("conversion", leads) < _CONVERSION_SHARES[_bucket(leads)]


def _conversion_offset(leads: IntArray) -> IntArray:
    delay = _CHANCE.between(_CONVERSION_DELAY_MIN, _CONVERSION_DELAY_MAX, "conversion/delay", leads)
    return _lead_offset(leads) + delay


def _lead_changes(options: Options, start: int, end: int) -> Changes:
    """New leads and converted ones; a conversion is the lead again, with more columns filled."""
    created = _leads_between(start, end)
    converted = _leads_between(start - _CONVERSION_DELAY_MAX, end)
    converted = converted[_converted(converted)]
    at = _conversion_offset(converted)
    kept = (at >= start) & (at < end)
    leads = np.concatenate([created, converted[kept]])
    offsets = np.concatenate([_lead_offset(created), at[kept]])
    done = np.repeat(np.array([0, 1]), [len(created), int(kept.sum())])
    order = np.lexsort((leads, offsets))
    return Changes((leads[order], done[order]))


def _lead_rows(options: Options, at: int, start: int, end: int) -> Rows:
    leads = np.arange(start, end, dtype=np.int64)
    leads = leads[_lead_offset(leads) < at]
    done = _converted(leads) & (_conversion_offset(leads) < at)
    return leads, done.astype(np.int64)


def _prediction_changes(options: Options, start: int, end: int) -> Changes:
    leads = _leads_between(start, end)
    return Changes((leads,))


def _prediction_rows(options: Options, at: int, start: int, end: int) -> Rows:
    leads = np.arange(start, end, dtype=np.int64)
    return (leads[_lead_offset(leads) < at],)


# Coupons, counted from 0.


def _lead_of_coupon(coupons: IntArray) -> IntArray:
    return coupons * 2 + _CHANCE.below(2, "bucket", coupons)


def _coupon_offset(coupons: IntArray) -> IntArray:
    return _lead_offset(_lead_of_coupon(coupons)) + _COUPON_DELAY


def _coupon_changes(options: Options, start: int, end: int) -> Changes:
    leads = _leads_between(start - _COUPON_DELAY, end - _COUPON_DELAY)
    coupons = leads[_bucket(leads) == 1] // 2
    return Changes((coupons,))


def _coupon_rows(options: Options, at: int, start: int, end: int) -> Rows:
    coupons = np.arange(start, end, dtype=np.int64)
    return (coupons[_coupon_offset(coupons) < at],)


def _time(options: Options, offsets: IntArray) -> pa.Array:
    return columns.timestamptz(pace.time_us(options, offsets))


_CUSTOMERS = fixed_output(
    name="customers",
    columns=(
        (Column("id", INT8, False), lambda options, rows: columns.int8(rows[0] + 1)),
        (
            Column("email", TEXT, False),
            lambda options, rows: columns.picked(lexicon.emails(CUSTOMER_COUNT), rows[0]),
        ),
        (
            Column("income", INT8, False),
            lambda options, rows: columns.int8(_CHANCE.between(10_000, 250_000, "income", rows[0])),
        ),
    ),
    count=lambda options: CUSTOMER_COUNT,
)

_IMPRESSIONS = Output(
    name="impressions",
    columns=(
        (Column("id", INT8, False), lambda options, rows: columns.int8(rows[0])),
        (
            Column("customer_id", INT8, False),
            lambda options, rows: columns.int8(_customer_of_impression(rows[0])),
        ),
        (
            Column("campaign_id", INT8, False),
            lambda options, rows: columns.int8(_CHANCE.below(CAMPAIGN_COUNT, "campaign", rows[0]) + 1),
        ),
        (Column("impression_time", TIMESTAMPTZ, False), lambda options, rows: _time(options, rows[0])),
    ),
    discipline="appended",
    keys=((0,),),
    units=one_unit_per_offset,
    rows=_impression_rows,
    changes=_impression_changes,
    rows_per_unit=1,
    rows_per_offset=1,
)

_CLICKS = Output(
    name="clicks",
    columns=(
        (Column("impression_id", INT8, False), lambda options, rows: columns.int8(rows[0])),
        (
            Column("click_time", TIMESTAMPTZ, False),
            lambda options, rows: _time(options, _click_offset(rows[0])),
        ),
    ),
    discipline="appended",
    units=one_unit_per_offset,
    rows=_click_rows,
    changes=_click_changes,
    rows_per_unit=0.4,
    rows_per_offset=0.4,
)

# Rows: (lead, 1 when it is converted)
_LEADS = Output(
    name="leads",
    columns=(
        (Column("id", INT8, False), lambda options, rows: columns.int8(rows[0] + 1)),
        (
            Column("customer_id", INT8, False),
            lambda options, rows: columns.int8(_customer_of_impression(_impression_of_lead(rows[0]))),
        ),
        (
            Column("created_at", TIMESTAMPTZ, False),
            lambda options, rows: _time(options, _lead_offset(rows[0])),
        ),
        (
            Column("converted_at", TIMESTAMPTZ),
            lambda options, rows: columns.nullable(_time(options, _conversion_offset(rows[0])), rows[1] == 1),
        ),
        (
            Column("conversion_amount", INT8),
            lambda options, rows: columns.nullable(
                columns.int8(_CHANCE.between(1, 10_000, "conversion/amount", rows[0])), rows[1] == 1
            ),
        ),
    ),
    discipline="keyed",
    keys=((0,),),
    units=_lead_units,
    rows=_lead_rows,
    changes=_lead_changes,
    rows_per_unit=1,
    rows_per_offset=1.3 / _IMPRESSIONS_PER_LEAD,
)

_COUPONS = Output(
    name="coupons",
    columns=(
        (Column("id", INT8, False), lambda options, rows: columns.int8(rows[0] + 1)),
        (Column("lead_id", INT8, False), lambda options, rows: columns.int8(_lead_of_coupon(rows[0]) + 1)),
        (
            Column("created_at", TIMESTAMPTZ, False),
            lambda options, rows: _time(options, _coupon_offset(rows[0])),
        ),
        (
            Column("amount", INT8, False),
            lambda options, rows: columns.int8(_CHANCE.between(1, 10, "coupon", rows[0]) * 100),
        ),
    ),
    discipline="appended",
    keys=((0,),),
    units=lambda options, at: -(-_lead_units(options, at) // 2),
    rows=_coupon_rows,
    changes=_coupon_changes,
    rows_per_unit=1,
    rows_per_offset=0.5 / _IMPRESSIONS_PER_LEAD,
)

_CONVERSION_PREDICTIONS = Output(
    name="conversion_predictions",
    columns=(
        (Column("lead_id", INT8, False), lambda options, rows: columns.int8(rows[0] + 1)),
        (
            Column("experiment_bucket", TEXT, False),
            lambda options, rows: columns.picked(_BUCKETS, _bucket(rows[0])),
        ),
        (
            Column("predicted_at", TIMESTAMPTZ, False),
            lambda options, rows: _time(options, _lead_offset(rows[0])),
        ),
        (
            Column("score", FLOAT8, False),
            lambda options, rows: columns.float8(_CHANCE.shares("score", rows[0])),
        ),
    ),
    discipline="appended",
    units=_lead_units,
    rows=_prediction_rows,
    changes=_prediction_changes,
    rows_per_unit=1,
    rows_per_offset=1 / _IMPRESSIONS_PER_LEAD,
)

MARKETING = Generator(
    "marketing",
    lambda options: (_CLICKS, _CONVERSION_PREDICTIONS, _COUPONS, _CUSTOMERS, _IMPRESSIONS, _LEADS),
)
