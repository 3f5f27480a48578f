"""A statement's surroundings, without a session or a server."""

from __future__ import annotations

from collections.abc import Iterator

from headwater.catalog.snapshot import SessionNames
from headwater.catalog.state import CatalogState
from headwater.coordinator.ddl import DdlScope
from headwater.core.names import SessionFacts


def scope_of(state: CatalogState, numbers: Iterator[int]) -> DdlScope:
    """In which new items get these numbers."""
    return DdlScope(
        state,
        SessionNames(state),
        SessionFacts(),
        backend_pid=7,
        now_ms=1_000,
        new_item=lambda: (f"u{next(numbers)}", 20_100),
        new_id=lambda kind: "u9",
        new_oid=lambda: 20_200,
        batch="b1",
    )
