"""mz_internal.mz_source_statistics: what sources and their tables have read and written."""

from __future__ import annotations

from headwater.catalog.builtin.statistics import STATISTICS_COLUMNS, statistics_rows, with_exports
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=210,
    schema="mz_internal",
    name="mz_source_statistics",
    description="What sources and their tables have read and written.",
    columns=STATISTICS_COLUMNS,
    rows=lambda facts: statistics_rows(with_exports(facts.state, facts.statistics())),
    scope="moment",
)
