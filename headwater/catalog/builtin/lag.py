"""How far objects were behind the clock, whichever replica was nearest to it."""

from __future__ import annotations

from collections.abc import Iterable

from headwater.catalog.builtin.facts import LagEvent
from headwater.catalog.builtin.table import Columns
from headwater.catalog.builtin.values import duration, moment


def global_lag_rows(events: Iterable[LagEvent]) -> Columns:
    """One row for each object and moment."""
    lags: dict[tuple[str, int], int | None] = {}
    for event in events:
        key = (event.id, event.occurred_at_ms)
        known = [lag_ms for lag_ms in (lags.get(key), event.lag_ms) if lag_ms is not None]
        lags[key] = min(known, default=None)
    return {
        "object_id": [object_id for object_id, _ in lags],
        "lag": [duration(lag_ms) for lag_ms in lags.values()],
        "occurred_at": [moment(occurred_at_ms) for _, occurred_at_ms in lags],
    }
