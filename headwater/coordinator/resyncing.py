"""ALTER SOURCE .. RESYNC: a source begins anew, and its tables are brought up to date by difference.

    resync_question   ->  _Anew: what the upstream says, while others go on
    plan_resync       ->  the source's options, and its tables, tied to what is upstream now

Not here: what a kind does for it (sources/), how tables are read again (cluster/).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headwater.catalog import updates
from headwater.catalog.details import FedTable, LegacySource, Widening
from headwater.catalog.state import Item
from headwater.coordinator.api import Notice
from headwater.coordinator.ddl import DdlScope, Outcome, Question
from headwater.coordinator.source_details import full_options
from headwater.coordinator.upstreams import changed_meanwhile
from headwater.core.errors import InvariantViolation, UserError
from headwater.core.export import Pinned
from headwater.core.limits import RESYNC_WAIT_S_MAX
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import Export, Options, Secrets

if TYPE_CHECKING:
    from headwater.coordinator.coordinator import Coordinator


def resync_question(scope: DdlScope, source: Item, ingestion: Item) -> Question:
    """Where to begin anew, and what the tables are called by numbers now."""
    source_type, kept = SOURCE_TYPES[ingestion.ingestion.source_type], ingestion.ingestion.options
    resync = source_type.resync
    if resync is None:
        raise UserError(
            f"cannot resync {source_type.title(kept)} sources",
            "0A000",
            detail=f'Source "{scope.full_name(source)}" continues from where it is, or fails for good.',
            hint="If it has failed, drop it and create it again.",
        )
    tables = {
        export.table_id: export.pinned
        for one in scope.state.exports_of(ingestion.id)
        for export in _exports(one)
    }

    def ask_again(secrets: Secrets) -> _Anew:
        full = full_options(scope.state, kept)
        changes = resync(full, secrets)
        tied = source_type.retied({**full, **changes}, secrets, tuple(tables.values()))
        return _Anew(kept, changes, tables, dict(zip(tables, tied, strict=True)))

    return ask_again


@dataclass(frozen=True, slots=True)
class _Anew:
    """Options of a source, those with which it begins anew, and its tables likewise."""

    options: Options
    changes: Options
    were: Mapping[str, Pinned]  # its tables, by their collections
    are: Mapping[str, Pinned]


def plan_resync(scope: DdlScope, ingestion: Item) -> Outcome:
    """A new beginning after a loss."""
    changes, notices = _resynced(scope, ingestion)
    items = scope.state.exports_of(ingestion.id)
    table_ids = [export.table_id for item in items for export in _exports(item)]
    cluster = scope.state.clusters.get(ingestion.cluster_id or "")
    paused = cluster is not None and cluster.replication_factor == 0
    return Outcome(
        "ALTER SOURCE",
        changes,
        notices=notices,
        until=None if paused else lambda coordinator: _begun_anew(coordinator, ingestion.id, table_ids),
    )


async def _begun_anew(coordinator: Coordinator, ingestion_id: str, table_ids: Iterable[str]) -> None:
    """Until reads wait for the tables, and tell neither old errors nor old rows any more; not for long."""
    ledger = coordinator.ledger

    def newest(table_id: str) -> int:
        """When it got its last error: one of its own when its source begins anew, if only for a moment."""
        return max((span.ts for span in ledger.errors(table_id)), default=0)

    def readable(table_id: str) -> bool:
        collection = ledger.collection(table_id)
        return collection is not None and collection.hydrated

    before = {id_: newest(id_) for id_ in table_ids if readable(id_)}

    def begun() -> bool:
        still = (id_ for id_, ts in before.items() if newest(id_) <= ts and readable(id_))
        return ledger.failure(ingestion_id) is None and next(still, None) is None

    with suppress(TimeoutError):
        async with asyncio.timeout(RESYNC_WAIT_S_MAX):
            await coordinator.controller.wait_for(begun)


def _resynced(scope: DdlScope, ingestion: Item) -> tuple[tuple[updates.Update, ...], tuple[Notice, ...]]:
    """What begins anew, and a word of each table whose upstream table is another one now."""
    answer, options = scope.answer, ingestion.ingestion.options
    items = scope.state.exports_of(ingestion.id)
    exports = [(item, export) for item in items for export in _exports(item)]
    tables = {export.table_id: export.pinned for _, export in exports}
    if not isinstance(answer, _Anew) or (answer.options, answer.were) != (options, tables):
        raise changed_meanwhile()
    kind = SOURCE_TYPES[ingestion.ingestion.source_type]
    details = replace(ingestion.ingestion, options={**options, **answer.changes})
    others = {
        item.id: Notice(
            "NOTICE",
            f'table "{scope.full_name(item)}" follows the upstream table that is called'
            f" {'.'.join(export.reference)} now, which is another one than before",
        )
        for item, export in exports
        if not kind.same_reference(export.pinned, answer.are[export.table_id])
    }
    changes = (updates.UpdateItem(ingestion.id, details=details), *(_retied(answer, item) for item in items))
    return changes, tuple(others.values())


def _exports(item: Item) -> tuple[Export, ...]:
    """What a source feeds of an item: two while the table gets columns."""
    match item.details:
        case FedTable(export=export, widening=Widening() as widening):
            return (export, widening.export)
        case FedTable(export=export):
            return (export,)
        case LegacySource(export=Export() as export):
            return (export,)
    raise InvariantViolation(f"{item.id} is fed by a source, and is a {item.details.sort}")


def _retied(answer: _Anew, item: Item) -> updates.UpdateItem:
    """A table of a source that begins anew."""

    def tied(export: Export) -> Export:
        return replace(export, pinned=answer.are[export.table_id])

    match item.details:
        case FedTable(export=export, widening=widening) as fed:
            wider = None if widening is None else replace(widening, export=tied(widening.export))
            return updates.UpdateItem(item.id, details=replace(fed, export=tied(export), widening=wider))
        case LegacySource(export=Export() as export) as legacy:
            return updates.UpdateItem(item.id, details=replace(legacy, export=tied(export)))
    raise InvariantViolation(f"{item.id} is fed by a source, and is a {item.details.sort}")
