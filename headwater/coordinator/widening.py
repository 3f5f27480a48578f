"""Columns that are added to tables from sources: planned, filled beside, cut over.

    ALTER TABLE .. ADD COLUMN   the catalog keeps what the table will be (`details["widening"]`)
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
from headwater.catalog.snapshot import SessionNames
from headwater.catalog.state import CatalogState, Item
from headwater.core.errors import HeadwaterError, InvariantViolation, UserError
from headwater.core.limits import RETRY_DELAY_S_MAX, WIDENING_LINGER_S
from headwater.core.names import SessionFacts
from headwater.core.relation import Relation
from headwater.sql.cursor import SqlText
from headwater.sql.parse import parse_statement
from headwater.sql.select import narrow, plan_query
from headwater.sql.statements.create_table_from_source import CreateTableFromSource
from headwater.sql.statements.create_view import CreateView

if TYPE_CHECKING:
    from headwater.coordinator.coordinator import Coordinator

log = structlog.get_logger("widening")


def begun(item: Item, widening: dict[str, Any]) -> updates.Update:
    """The table will be this."""
    return updates.UpdateItem(item.id, details={**item.details, "widening": widening})


def withdrawn(item: Item) -> updates.Update:
    """It stays what it is."""
    details = {key: value for key, value in item.details.items() if key != "widening"}
    return updates.UpdateItem(item.id, details=details)


def cut_over(state: CatalogState, item: Item) -> list[updates.Update]:
    """The table is what it was to be; those who read it see the columns they saw."""
    widening = item.widening
    statement = parse_statement(item.create_sql)
    if widening is None or not isinstance(statement, CreateTableFromSource):
        raise InvariantViolation(f"{item.id} is not being made wider: {item.create_sql[:80]}")
    added = widening["added"]
    text = replace(
        statement,
        text_columns=(*statement.text_columns, *widening["text_columns"]),
        exclude_columns=tuple(c for c in statement.exclude_columns if c not in added),
    ).render()
    details = {key: value for key, value in item.details.items() if key != "widening"}
    details["export"] = widening["export"]
    relation = Relation.from_json(widening["export"]["relation"])
    wider = updates.UpdateItem(item.id, create_sql=text, relation=relation, details=details)
    return [wider, *_kept_views(state, item, apply(state, wider))]


def _kept_views(before: CatalogState, item: Item, after: CatalogState) -> list[updates.Update]:
    """Views with a star over the table go on without the new columns."""
    full = SessionNames(before).full_name_parts(item)
    changes: list[updates.Update] = []
    for id_ in sorted(before.dependents.get(item.id, ())):
        view = before.items[id_]
        if view.kind != "view" or view.definition is None:
            continue
        if _shape(after, view.definition) == _shape(before, view.definition):
            continue
        definition = narrow(view.definition, full, item.relation.column_names())
        if _shape(after, definition) != _shape(before, view.definition):
            raise UserError(
                f'view "{SessionNames(before).full_name(view)}" would change its columns',
                "0A000",
                detail=f"It reads all columns of {item.name}, in a way that cannot be rewritten.",
                hint="Name its columns, CREATE OR REPLACE VIEW, and add the column again.",
            )
        statement = parse_statement(view.create_sql)
        if not isinstance(statement, CreateView):
            raise InvariantViolation(f"{view.id} is not a view: {view.create_sql[:80]}")
        sql = replace(statement, query=SqlText(definition)).render()
        changes.append(updates.UpdateItem(view.id, create_sql=sql, definition=definition))
    return changes


def _shape(state: CatalogState, definition: str) -> Any:
    """What a query gives, or that it does not."""
    try:
        return plan_query(definition, SessionNames(state), SessionFacts()).columns()
    except UserError as error:
        return error.message


@dataclass(frozen=True, slots=True)
class _Lingering:
    """A narrower collection that is still fed."""

    source_id: str
    export: dict[str, Any]
    until_s: float


class Widenings:
    """Watches over them; belongs to the coordinator's event loop."""

    def __init__(self, world: Coordinator) -> None:
        self._world = world
        self._errors: dict[str, str] = {}  # by the wider collection's id: why it was given up
        self._lingering: dict[str, _Lingering] = {}  # narrower collections that somebody may still read

    def exports_of(self, source_id: str, items: Sequence[Item]) -> list[dict[str, Any]]:
        """All that a source is to feed."""
        found = [item.details["export"] for item in items]
        found += [item.widening["export"] for item in items if item.widening is not None]
        return found + [kept.export for kept in self._lingering.values() if kept.source_id == source_id]

    async def run(self) -> None:
        """Until cancelled: what is complete is cut over, what has failed is given up."""
        while True:
            await self._world.controller.wait_for(lambda: bool(self._ready()))
            for item in self._ready():
                try:
                    await self._finish(item)
                except HeadwaterError as error:
                    log.warning("could not add columns", table=item.id, error=str(error))
                    await asyncio.sleep(RETRY_DELAY_S_MAX)  # the disk may be full; nothing is lost meanwhile

    def _ready(self) -> list[Item]:
        hydrated = self._world.controller.hydrated
        items = self._world.catalog.state.widened()
        return [i for i in items if i.widening is not None and i.widening["export"]["table_id"] in hydrated]

    async def _finish(self, item: Item) -> None:
        if item.widening is None:
            return
        id_ = item.widening["export"]["table_id"]
        errors = self._world.ledger.errors(id_)
        changes: list[updates.Update]
        try:
            if errors:
                raise UserError(errors[0][2], detail=f"At position {errors[0][1]}.")
            changes = cut_over(self._world.catalog.state, item)
        except UserError as error:
            changes = self._given_up(item, id_, error.message)
        except Exception as error:
            # Whatever it is: one table that cannot be cut over is not in the way of others.
            log.exception("the cut-over failed", table=item.id)
            changes = self._given_up(item, id_, f"internal: {error!r}")
        else:
            until_s = self._world.clock.monotonic_s() + WIDENING_LINGER_S
            kept = _Lingering(str(item.source_id), item.details["export"], until_s)
            self._lingering[item.collection_id] = kept
        await self._world.change_catalog(changes)

    def _given_up(self, item: Item, collection_id: str, reason: str) -> list[updates.Update]:
        log.warning("columns are not added", table=item.id, error=reason)
        self._errors[collection_id] = reason
        return [withdrawn(item)]

    def release(self) -> bool:
        """Forget narrower collections that nobody reads any more; whether there were any."""
        now_s, holds = self._world.clock.monotonic_s(), self._world.holds
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
            item = self._world.catalog.state.items.get(item_id)
            return item is None or item.widening is None

        await self._world.controller.wait_for(done)
        item = self._world.catalog.state.items.get(item_id)
        if item is None:
            raise UserError("the table was dropped while columns were added to it", "42704")
        if item.collection_id != collection_id:
            reason = self._errors.pop(collection_id, "they were given up")
            raise UserError(
                f'columns could not be added to table "{item.name}": {reason}',
                hint="The table is as it was.",
            )
