"""mz_internal.mz_source_statistics_raw: the counters as they are kept: nothing added up."""

from __future__ import annotations

from headwater.catalog.builtin.statistics import STATISTICS_COLUMNS, statistics_rows
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=212,
    schema="mz_internal",
    name="mz_source_statistics_raw",
    description="The counters as they are kept: nothing added up.",
    columns=STATISTICS_COLUMNS,
    rows=lambda facts: statistics_rows(facts.statistics()),
    scope="moment",
)
