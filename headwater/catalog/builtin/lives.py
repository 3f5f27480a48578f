"""Lives of objects, read from the audit log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headwater.catalog.audit import AuditEvent


def lifetimes(events: Iterable[AuditEvent]) -> Sequence[tuple[str, AuditEvent]]:
    """(id, event) of every creation and drop."""
    return [
        (str(event.details.get("id", event.details.get("replica_id"))), event)
        for event in events
        if event.event_type in ("create", "drop")
    ]
