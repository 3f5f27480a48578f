"""Which reads of files are small: worth no job on Spark.

Not here: which engine runs them then (read.py).
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater.core.change import ReadPlan
from headwater.core.limits import SMALL_READ_BYTES_MAX
from headwater.sql.select.plan.nodes import Query
from headwater.sql.select.plan.sameness import used_columns


def small(query: Query, plans: Mapping[str, ReadPlan]) -> bool:
    """Whether few bytes are read; of files of which only the number of rows is wanted it is their ends."""
    if sum(plan.bytes() for plan in plans.values()) <= SMALL_READ_BYTES_MAX:
        return True
    used = used_columns(query)
    read = (plan.bytes() for id_, plan in plans.items() if used.get(id_) or not plan.plain)
    return sum(read) <= SMALL_READ_BYTES_MAX
