"""Columns that are added to tables from sources: planned, filled beside, cut over.

    ALTER TABLE .. ADD COLUMN   the catalog keeps what the table will be (`FedTable.widening`)
    the cluster                 fills a wider collection, while the table goes on as it was
    it is complete              one catalog transaction: the item has the wider collection from now
                                on, and views that would have got the column too keep their shape

After a restart the catalog says what is still to be done.  A subscription goes on with the
narrower collection it began with: that one is fed until nobody reads it any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import structlog

from headwater.catalog import updates
from headwater.catalog.apply import apply
from headwater.catalog.details import FedTable
from headwater.catalog.state import CatalogState, Item
from headwater.coordinator.carrying import Change, carried_views, stays
from headwater.core.errors import HeadwaterError, InvariantViolation, UserError
from headwater.core.limits import RETRY_DELAY_S_MAX, WIDENING_LINGER_S
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import Export
from headwater.sql.parse import parse_statement
from headwater.sql.statements.create_table_from_source import CreateTableFromSource

if TYPE_CHECKING:
    from headwater.coordinator.coordinator import Coordinator

log = structlog.get_logger("widening")


def withdrawn(item: Item) -> updates.Update:
    """It stays what it is."""
    if not isinstance(item.details, FedTable):
        raise InvariantViolation(f"{item.id} cannot be made wider, it is a {item.details.sort}")
    return updates.UpdateItem(item.id, details=replace(item.details, widening=None))


def cut_over(state: CatalogState, item: Item) -> list[updates.Update]:
    """The table is what it was to be; those who read it see the columns they saw."""
    fed, statement = item.details, parse_statement(item.create_sql)
    widening = item.widening
    if not isinstance(fed, FedTable) or widening is None or not isinstance(statement, CreateTableFromSource):
        raise InvariantViolation(f"{item.id} is not being made wider: {item.create_sql[:80]}")
    added = widening.added
    text = replace(
        statement,
        columns=widening.names or ((*statement.columns, *added) if statement.columns else ()),
        encoding=statement.encoding.including(widening.include),
        text_columns=(*statement.text_columns, *widening.text_columns),
        exclude_columns=tuple(c for c in statement.exclude_columns if c not in added),
    ).render()
    details = replace(fed, export=widening.export, widening=None)
    wider = updates.UpdateItem(item.id, create_sql=text, relation=widening.export.visible, details=details)
    # Views with a star over the table go on without the new columns.
    change = Change(state, apply(state, wider))
    return [wider, *carried_views(change, (item.id,), lambda _: stays)]


@dataclass(frozen=True, slots=True)
class _Lingering:
    """A narrower collection that is still fed."""

    source_id: str
    export: Export
    until_s: float


class Widenings:
    """Watches over them; belongs to the coordinator's event loop."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self._errors: dict[str, str] = {}  # by the wider collection's id: why it was given up
        self._lingering: dict[str, _Lingering] = {}  # narrower collections that somebody may still read
        self._told: dict[str, list[tuple[Export, dict[str, Any]]]] = {}  # by source: exports, and as JSON

    def exports_of(self, source_id: str, items: Sequence[Item]) -> list[dict[str, Any]]:
        """All that a source is to feed, as the cluster is told of it."""
        found = [item.fed_export for item in items]
        found += [item.widening.export for item in items if item.widening is not None]
        found += [kept.export for kept in self._lingering.values() if kept.source_id == source_id]
        # It is told with every change of the catalog, which leaves nearly all tables as they were.
        told = {id(export): value for export, value in self._told.get(source_id, ())}
        self._told[source_id] = [(export, told.get(id(export)) or export.to_json()) for export in found]
        return [value for _, value in self._told[source_id]]

    async def run(self) -> None:
        """Until cancelled: what is complete is cut over, what has failed is given up."""
        while True:
            await self._coordinator.controller.wait_for(lambda: bool(self._ready()))
            for item in self._ready():
                try:
                    await self._finish(item)
                except HeadwaterError as error:
                    log.warning("could not add columns", table=item.id, error=str(error))
                    await asyncio.sleep(RETRY_DELAY_S_MAX)  # the disk may be full; nothing is lost meanwhile

    def _ready(self) -> list[Item]:
        hydrated = self._coordinator.controller.hydrated
        items = self._coordinator.catalog.state.widened()
        return [i for i in items if i.widening is not None and i.widening.export.table_id in hydrated]

    async def _finish(self, item: Item) -> None:
        fed = item.details
        if not isinstance(fed, FedTable) or fed.widening is None:
            return
        id_ = fed.widening.export.table_id
        stopped = self._coordinator.ledger.stopped(id_)
        changes: list[updates.Update]
        try:
            if stopped is not None:
                raise UserError(stopped.message, "55000", detail=f"At position {stopped.position}.")
            await self._coordinator.value_errors.check_added(item, id_, fed.widening.added)
            changes = cut_over(self._coordinator.catalog.state, item)
        except UserError as error:
            changes = self._given_up(item, id_, error.message)
        except Exception as error:
            # Whatever it is: one table that cannot be cut over is not in the way of others.
            log.exception("the cut-over failed", table=item.id)
            changes = self._given_up(item, id_, f"internal: {error!r}")
        else:
            until_s = self._coordinator.clock.monotonic_s() + WIDENING_LINGER_S
            kept = _Lingering(fed.source_id, fed.export, until_s)
            self._lingering[item.collection_id] = kept
        await self._coordinator.change_catalog(changes)

    def _given_up(self, item: Item, collection_id: str, reason: str) -> list[updates.Update]:
        log.warning("columns are not added", table=item.id, error=reason)
        self._errors[collection_id] = reason
        return [withdrawn(item)]

    def release(self) -> bool:
        """Forget narrower collections that nobody reads any more; whether there were any."""
        now_s, holds = self._coordinator.clock.monotonic_s(), self._coordinator.holds
        free = [id_ for id_, kept in self._lingering.items() if now_s > kept.until_s and not holds.held(id_)]
        for id_ in free:
            del self._lingering[id_]
        return bool(free)

    def lingers(self, collection_id: str) -> bool:
        """Whether a narrower collection is still fed."""
        return collection_id in self._lingering

    async def finished(self, item_id: str, collection_id: str) -> None:
        """Until the table has its columns; UserError when it will not have them."""

        def done() -> bool:
            item = self._coordinator.catalog.state.items.get(item_id)
            return item is None or item.widening is None

        await self._coordinator.controller.wait_for(done)
        item = self._coordinator.catalog.state.items.get(item_id)
        if item is None:
            raise UserError("the table was dropped while columns were added to it", "42704")
        if item.collection_id != collection_id:
            reason = self._errors.pop(collection_id, "they were given up")
            kind = self._coordinator.catalog.state.items[item.source_id or ""].ingestion.source_type
            of_messages = SOURCE_TYPES[kind].grown is not None
            second = (
                " Create a second table from the source: it has what can be read now." if of_messages else ""
            )
            raise UserError(
                f'columns could not be added to table "{item.name}": {reason}',
                "55000",
                hint=f"The table is as it was.{second}",
            )
