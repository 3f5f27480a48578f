"""Updates that were planned against one state, on a later one: pure.

Between a block's first DDL statement and its COMMIT others may change the catalog.  A shared object that
has changed is a conflict.  Temporary ones come and go with their sessions all day, and concern the
block only where they depend on what it changes:

    gone meanwhile      DROP .. CASCADE need not drop it any more
    come meanwhile      over something that the block drops, renames or replaces: a conflict

Not here: what a conflict means (`coordinator/ddl.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headwater.catalog.state import CatalogState, Item
from headwater.catalog.updates import DropItem, Update


def rebased(
    base: CatalogState, planned: CatalogState, now: CatalogState, updates: Sequence[Update]
) -> list[Update] | None:
    """What makes of `now` what `updates` made of `base`, which is `planned`; None: a conflict."""
    if base.version == now.version:
        return list(updates)
    if _shared(base) != _shared(now):
        return None
    before, after = _temporary(base), _temporary(now)
    touched = {id_ for id_, item in base.items.items() if planned.items.get(id_) is not item}
    gone = before.keys() - after.keys()
    if any(id_ in planned.items for id_ in touched & gone):
        return None  # it was rewritten with the name of something it read
    for id_, item in after.items():
        if before.get(id_) is not item and not touched.isdisjoint((id_, *item.dependencies)):
            return None
    return [update for update in updates if not (isinstance(update, DropItem) and update.id in gone)]


def _temporary(state: CatalogState) -> Mapping[str, Item]:
    return {id_: item for id_, item in state.items.items() if item.temporary_pid is not None}


def _shared(state: CatalogState) -> tuple[Mapping[Any, Any], ...]:
    """All that does not belong to one session."""
    temporary = _temporary(state)
    return (
        state.databases,
        state.schemas,
        state.clusters,
        state.roles,
        state.memberships,
        state.default_grants,
        state.system_variables,
        {id_: item for id_, item in state.items.items() if id_ not in temporary},
        {key: comment for key, comment in state.comments.items() if key[1] not in temporary},
        {key: grants for key, grants in state.grants.items() if key[1] not in temporary},
    )
