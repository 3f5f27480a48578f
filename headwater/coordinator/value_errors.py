"""Rows with values that cannot be stored: reads of their tables fail and say which, until they are gone.

    check     before a read: whether the table has such rows at its timestamp
    known     which tables have them now; looked for every second for monitoring, and when somebody asks

A file says how many such rows it has, so that a table without any costs nothing.  What a file has may be
gone by a later change, hence the question to the rows themselves; its answer is kept as long as the
table's files are the same.

Not here: how files keep them (core/flaws.py), the relation that lists them
(catalog/builtin/mz_internal/mz_source_value_errors.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import structlog

from headwater.catalog.builtin.facts import ValueErrorRow
from headwater.catalog.builtin.mz_internal.mz_source_value_errors import RELATION
from headwater.catalog.state import Item
from headwater.core import flaws
from headwater.core.change import FLAWS, KEY, ReadPlan
from headwater.core.errors import HeadwaterError, UserError
from headwater.core.flaws import Flaws
from headwater.core.limits import VALUE_ERRORS_LOOK_S, VALUE_ERRORS_SHOWN_MAX
from headwater.core.quoting import quoted
from headwater.core.relation import Relation
from headwater.core.time import TIMESTAMP_END, to_text
from headwater.formats import text
from headwater.formats.arrow import state_schema
from headwater.persist.combine import relation_sql
from headwater.sql.cursor import quote_identifier

if TYPE_CHECKING:
    from headwater.coordinator.coordinator import Coordinator

log = structlog.get_logger("value-errors")

_VALUE_SHOWN_MAX = 60
_NO_BYTES: Final = r"\x"  # in place of a key that is null
_TEXTS = ("text", "varchar", "char")
HINT = (
    "Change or delete the row upstream, and reads go on by themselves. Or make the table again WITH {ways}."
)


@dataclass(eq=False)
class BadRow(UserError):
    """A table cannot be read where it has a row with a value that cannot be stored."""

    ts: int = 0  # for who follows the table: from when on


@dataclass(frozen=True, slots=True)
class Row:
    """A row with such values: which one it is, and what they were."""

    key: str  # (id)=(5); of a table without a key all of its columns
    flaws: Flaws


def _hint(relation: Relation, column: str) -> str:
    """What to do; a value that cannot be stored as text will not be by being named as one."""
    texts = {one.name for one in relation.columns if one.type.kind in _TEXTS}
    ways, name = ["(ON VALUE ERROR = NULL)"], quote_identifier(column)
    if column not in texts:
        ways.append(f"with TEXT COLUMNS ({name})")
    if column not in relation.key_names():
        ways.append(f"with EXCLUDE COLUMNS ({name})")
    *first, last = ways
    return HINT.format(ways=f"{', '.join(first)} or {last}" if first else last)


def error_of(table: str, relation: Relation, rows: list[Row]) -> BadRow:
    """What whoever reads the table is told."""
    row = rows[0]
    column, flaw = next(iter(row.flaws.columns.items()))
    value = flaw.value if len(flaw.value) <= _VALUE_SHOWN_MAX else f"{flaw.value[:_VALUE_SHOWN_MAX]}..."
    why = f": {flaw.why}" if flaw.why else ""
    what = f'value "{value}" of column "{column}"' if column else f'message "{value}"'
    others = len(rows) - 1
    many = f"{others}{' or more' if others + 1 >= VALUE_ERRORS_SHOWN_MAX else ''} other rows have"
    more = f" {'1 other row has' if others == 1 else many} such values."
    return BadRow(
        f'Source error: {what} in row {row.key} of table "{table}" cannot be stored{why}',
        "22000",
        detail=f"It came at position {row.flaws.position}, {to_text(row.flaws.ts)}.{more if others else ''}"
        " mz_internal.mz_source_value_errors lists all of them.",
        hint=_hint(relation, column) if column else None,
    )


def _status(count: int, hint: str | None) -> tuple[str, str]:
    """What everybody is shown, who may read the rows or not: why, and what to do."""
    many = "or more " if count >= VALUE_ERRORS_SHOWN_MAX else ""
    what = "1 row has a value" if count == 1 else f"{count} {many}rows have values"
    listed = "mz_internal.mz_source_value_errors lists them."
    return f"Source error: {what} that cannot be stored", f"{listed} {hint}" if hint else listed


class ValueErrors:
    """Belongs to one event loop."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self._answers: dict[str, tuple[tuple[str, ...], list[Row]]] = {}  # by collection, of its newest files
        self._looking = asyncio.Lock()
        self.known: dict[str, list[Row]] = {}  # by collection

    async def check(self, table: Item, plan: ReadPlan) -> None:
        """BadRow if the table has such rows in this plan, whose files somebody holds."""
        rows = await self.rows(plan)
        if rows:
            raise error_of(self._coordinator.full_name(table), plan.relation, rows)

    async def check_read(
        self, tables: Iterable[Item], plans: Mapping[str, ReadPlan], system: Collection[str]
    ) -> None:
        """BadRow if any of the tables has; whoever asks which rows they are is told what is so now."""
        for table in tables:
            await self.check(table, plans[table.id])
        if RELATION.id in system:
            await self.look()

    async def check_at(self, tables: Iterable[Item], ts: int) -> None:
        """The same at a timestamp that somebody holds."""
        for table in tables:
            await self.check(table, self._coordinator.ledger.read_plan(table.collection_id, ts))

    async def check_added(self, table: Item, collection_id: str, columns: Collection[str]) -> None:
        """BadRow if a collection that is to be the table's has such values in these columns.

        A table that can be read would not be any more.  Looked at where its source stands: what the cluster
        has told of the table as it was may be less, if it was only just made.
        """
        ts = self._coordinator.reads.end(table)
        hold = self._coordinator.holds.acquire([collection_id], ts)
        try:
            plan = self._coordinator.ledger.read_plan(collection_id, ts)
            hold.uses(collection_id, plan.state_as_of)
            found = [row for row in await self.rows(plan) if row.flaws.columns.keys() & set(columns)]
        finally:
            hold.release()
        if found:
            raise error_of(self._coordinator.full_name(table), plan.relation, found)

    async def rows(self, plan: ReadPlan) -> list[Row]:
        """All of them, as many as are shown."""
        relation = plan.relation
        if relation.flaws != FLAWS or not plan.flawed:
            return []
        files = tuple(file.path for file in (*plan.state, *plan.tail))
        before = self._answers.get(plan.collection_id)
        if before is not None and before[0] == files:
            return before[1]
        keys = relation.key_names() or tuple(name for name in relation.column_names() if name != FLAWS)
        chosen = tuple(column for column in relation.columns if column.name in (*keys, FLAWS))
        names = ", ".join(quoted(column.name) for column in chosen)
        found = await self._coordinator.engine.table(
            f"SELECT {names} FROM {relation_sql(plan, self._coordinator.store)}"
            f" WHERE {FLAWS} IS NOT NULL LIMIT {VALUE_ERRORS_SHOWN_MAX}",
            state_schema(Relation(chosen)),
            {},
        )
        values = [text.to_text(found.column(c.name), c.type).to_pylist() for c in chosen[:-1]]
        told = found.column(FLAWS).to_pylist()
        rows = []
        for i, text_ in enumerate(told):
            shown = {name: column[i] for name, column in zip(keys, values, strict=True)}
            rows.append(_row(shown, flaws.from_text(text_), keyed=bool(relation.keys)))
        rows.sort(key=lambda row: (row.flaws.ts, row.key))
        self._answers[plan.collection_id] = (files, rows)
        return rows

    # For those who watch

    async def run(self) -> None:
        """For ever."""
        while True:
            await asyncio.sleep(VALUE_ERRORS_LOOK_S)
            await self.look()

    async def look(self) -> None:
        """Find out which tables have such rows now."""
        async with self._looking:  # who began later has seen more
            await self._look()

    async def _look(self) -> None:
        coordinator = self._coordinator
        flawed = set(coordinator.ledger.flawed()) if coordinator.controller.hydrated else set()
        items = {item.collection_id: item for item in coordinator.catalog.state.items.values() if item.stores}
        self._answers = {id_: kept for id_, kept in self._answers.items() if id_ in items}
        for id_ in (flawed | self.known.keys()) & items.keys():
            await self._look_at(items[id_])
        self.known = {id_: rows for id_, rows in self.known.items() if id_ in items}

    async def _look_at(self, table: Item) -> None:
        coordinator, id_ = self._coordinator, table.collection_id
        ts = min(coordinator.reads.complete_until(table), TIMESTAMP_END) - 1
        if ts < 0 or id_ not in coordinator.controller.hydrated or coordinator.ledger.refilling(id_):
            return
        hold = coordinator.holds.acquire([id_], ts)
        try:
            plan = coordinator.ledger.read_plan(id_, ts)
            hold.uses(id_, plan.state_as_of)
            rows = await self.rows(plan)
        except HeadwaterError as error:
            log.warning("could not look for values that were not stored", table=id_, error=str(error))
            return
        finally:
            hold.release()
        stopped = coordinator.ledger.stopped(id_) is not None
        if stopped:
            rows = []  # it cannot be read for another reason, and no change heals them any more
        before = self.known.pop(id_, [])
        if rows:
            self.known[id_] = rows
        name, told = coordinator.full_name(table), None
        if rows:
            first = error_of(name, plan.relation, rows)
            told = _status(len(rows), first.hint)
            if not before:
                log.error("table cannot be read", table=name, error=first.message, rows=len(rows))
        elif before and not stopped:
            log.info("table can be read again", table=name)
        coordinator.controller.health.hear_flaws(id_, told, coordinator.clock.now_ms())

    def shown(self) -> list[ValueErrorRow]:
        """What mz_source_value_errors has."""
        items = {item.collection_id: item.id for item in self._coordinator.catalog.state.items.values()}
        return [
            ValueErrorRow(
                items[id_], row.key, column or None, flaw.value, flaw.why, row.flaws.position, row.flaws.ts
            )
            for id_, rows in self.known.items()
            if id_ in items
            for row in rows
            for column, flaw in row.flaws.columns.items()
        ]


def _row(values: dict[str, str | None], found: Flaws, keyed: bool) -> Row:
    """A row as people know it: of a key that could not be stored by what it was."""
    lost = {name: flaw.value for name, flaw in found.columns.items() if keyed and name in values}
    shown = values | lost
    if lost or shown.get(KEY) in (None, _NO_BYTES):
        shown.pop(KEY, None)
    return Row(_key(tuple(shown), list(shown.values())), found)


def _key(names: tuple[str, ...], values: list[str | None]) -> str:
    shown = ("NULL" if value is None else value[:_VALUE_SHOWN_MAX] for value in values)
    return f"({', '.join(names)})=({', '.join(shown)})"
