"""TPCH: the facts of a part that its table and the lines of orders must agree on.

Parts and suppliers are counted from 0 here; their keys are one more.
"""

from __future__ import annotations

import numpy as np

from headwater.sources.contract import Options
from headwater.sources.load_generator.chance import IntArray
from headwater.sources.load_generator.tpch_counts import supplier_count

SUPPLIERS_PER_PART_MAX = 4


def suppliers_per_part(options: Options) -> int:
    """Four, or all there are."""
    return min(SUPPLIERS_PER_PART_MAX, supplier_count(options))


def supplier_of_part(options: Options, parts: IntArray, places: IntArray) -> IntArray:
    """The specification's formula, which spreads a part's suppliers over all of them.

    At small scales its stride can come back to the same supplier; there neighbours are taken.
    """
    count = supplier_count(options)
    stride = count // SUPPLIERS_PER_PART_MAX + parts // count
    repeating = (stride % count == 0) | (2 * stride % count == 0) | (3 * stride % count == 0)
    return (parts + 1 + places * np.where(repeating, 1, stride)) % count


def retail_cents(parts: IntArray) -> IntArray:
    """The specification's retail price."""
    keys = parts + 1
    return 90_000 + keys // 10 % 20_001 + 100 * (keys % 1_000)
