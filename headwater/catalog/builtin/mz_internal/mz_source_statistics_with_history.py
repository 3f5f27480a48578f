"""mz_internal.mz_source_statistics_with_history: what sources and tables have read, across restarts."""

from __future__ import annotations

from headwater.catalog.builtin.statistics import STATISTICS_COLUMNS, statistics_rows, with_exports
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=211,
    schema="mz_internal",
    name="mz_source_statistics_with_history",
    description="What sources and their tables have read and written, across restarts.",
    columns=STATISTICS_COLUMNS,
    rows=lambda facts: statistics_rows(with_exports(facts.state, facts.statistics_history())),
    scope="moment",
)
