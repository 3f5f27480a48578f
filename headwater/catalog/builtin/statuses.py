"""The status that is shown for each source and table from a source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from headwater.catalog.builtin.facts import SourceStatus, SystemFacts
from headwater.catalog.state import Item

ALWAYS_RUNNING: Final = frozenset({"webhook", "progress"})
# A table with trouble of its own keeps showing that when its source stands still, too.
_OWN_TROUBLE: Final = frozenset({"stalled", "failed", "ceased", "dropped"})


def shown_statuses(facts: SystemFacts) -> Sequence[tuple[Item, str, SourceStatus | None]]:
    """(item, type, status) of every item that has one; None when nothing is known of it yet."""
    known = {status.id: status for status in facts.source_statuses()}
    shown: list[tuple[Item, str, SourceStatus | None]] = []
    for item in facts.state.items.values():
        type_ = facts.state.source_type(item) if item.kind == "source" else "table"
        if item.source_id is not None:
            own, parent = known.get(item.id), known.get(item.source_id)
            overridden = (
                parent is not None
                and parent.status in ("stalled", "paused")
                and (own is None or own.status not in _OWN_TROUBLE)
            )
            shown.append((item, type_, parent if overridden else own))
        elif item.kind == "source":
            shown.append((item, type_, known.get(facts.state.ingestion_of(item).id)))
    return shown
