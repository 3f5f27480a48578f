"""The status that is shown for each source and table from a source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from headwater.catalog.builtin.facts import SourceStatus, SystemFacts
from headwater.catalog.details import WebhookTable
from headwater.catalog.state import Item

ALWAYS_RUNNING: Final = frozenset({"webhook", "progress"})


def shown_statuses(facts: SystemFacts) -> Sequence[tuple[Item, str, SourceStatus | None]]:
    """(item, type, status) of every item that has one; None when nothing is known of it yet."""
    known = {status.id: status for status in facts.source_statuses()}
    shown: list[tuple[Item, str, SourceStatus | None]] = []
    for item in facts.state.items.values():
        type_ = facts.state.source_type(item) if item.kind == "source" else "table"
        if isinstance(item.details, WebhookTable):
            shown.append((item, "webhook", None))
        elif item.source_id is not None:
            shown.append((item, type_, known.get(item.id)))
        elif item.kind == "source":
            shown.append((item, type_, known.get(facts.state.ingestion_of(item).id)))
    return shown
