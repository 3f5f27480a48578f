"""TPCH: how many of each there are at a scale factor."""

from __future__ import annotations

from headwater.sources.contract import Options


def _scaled(options: Options, count: int) -> int:
    return max(1, round(float(options["scale_factor"]) * count))


def supplier_count(options: Options) -> int:
    """s_suppkey runs from 1 to this."""
    return _scaled(options, 10_000)


def part_count(options: Options) -> int:
    """p_partkey runs from 1 to this."""
    return _scaled(options, 200_000)


def customer_count(options: Options) -> int:
    """c_custkey runs from 1 to this."""
    return _scaled(options, 150_000)


def order_count(options: Options) -> int:
    """Orders at any moment; their keys are sparse."""
    return _scaled(options, 1_500_000)


def clerk_count(options: Options) -> int:
    """Clerks that orders name."""
    return _scaled(options, 1_000)
