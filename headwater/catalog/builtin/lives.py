"""Lives of objects, read from the audit log.

An item's id is given once, but it may become an item of another kind (a subsource that becomes a table); a
replica goes and comes back under its id, and is another one then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from headwater.catalog.audit import AuditEvent

_OWN_IDS: Final = frozenset({"database", "schema", "cluster", "cluster-replica", "role"})
"""Objects that are numbered by themselves; all others are items, and are numbered together."""


@dataclass(slots=True)
class Life:
    """An object from its creation on."""

    id: str
    object_type: str
    cluster_id: object
    created_at_ms: int
    dropped_at_ms: int | None = None


def lifetimes(events: Iterable[AuditEvent]) -> Sequence[tuple[str, AuditEvent]]:
    """(id, event) of every creation and drop."""
    return [(_id(event), event) for event in events if event.event_type in ("create", "drop")]


def histories(events: Iterable[AuditEvent]) -> Sequence[Life]:
    """Every life, in the order of creation, of the type that the object had last."""
    lives: list[Life] = []
    living: dict[tuple[str, str], Life] = {}
    for event in events:
        own = event.object_type if event.object_type in _OWN_IDS else "item"
        key, life = (own, _id(event)), living.get((own, _id(event)))
        if event.event_type == "create":
            cluster_id = event.details.get("cluster_id")
            living[key] = Life(key[1], event.object_type, cluster_id, event.occurred_at_ms)
            lives.append(living[key])
        elif life is not None and event.event_type == "drop":
            life.object_type, life.dropped_at_ms = event.object_type, event.occurred_at_ms
            del living[key]
        elif life is not None and event.event_type == "alter":
            life.object_type = event.object_type
            if "item" in event.details:  # all of it was said anew
                life.cluster_id = event.details.get("cluster_id")
    return lives


def _id(event: AuditEvent) -> str:
    return str(event.details.get("id", event.details.get("replica_id")))
