"""What the catalog keeps of a source, checked and shaped."""

from __future__ import annotations

from typing import Any

from headwater.core.errors import UserError
from headwater.core.limits import TICK_INTERVAL_MS_MAX, TICK_INTERVAL_MS_MIN
from headwater.sources.contract import Reference


def check_interval(wanted_ms: int) -> None:
    """TIMESTAMP INTERVAL has bounds."""
    if not TICK_INTERVAL_MS_MIN <= wanted_ms <= TICK_INTERVAL_MS_MAX:
        raise UserError(
            f"invalid timestamp interval of {wanted_ms}ms, must be in the range"
            f" [{TICK_INTERVAL_MS_MIN}ms, {TICK_INTERVAL_MS_MAX}ms]",
            "22023",
        )


def reference_json(reference: Reference) -> dict[str, Any]:
    """As kept in the catalog, for mz_source_references."""
    return {
        "namespace": list(reference.namespace),
        "name": reference.name,
        "columns": list(reference.relation.column_names()),
    }
