"""What statements upstream have done to tables, where no change of a row says so.

A statement that may have made a table another one is followed by a look at what the table is now:

    gone, or of another shape     the table here ends
    as it was pinned              its rows may be others: it is read again, and goes on by itself

TRUNCATE is a change like any other (decode.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import structlog

from headwater.core.errors import DefiniteError
from headwater.sources.contract import Export
from headwater.sources.mysql.altered import changed
from headwater.sources.mysql.facts import Flavour, TableFacts
from headwater.sources.mysql.gtid import parse_gtids
from headwater.sources.mysql.spool import Remark
from headwater.sources.mysql.statements import Effect, Name, Statement, lifts, partitions
from headwater.sources.mysql.trouble import READ_AGAIN
from headwater.sources.unforeseen import attempted, named, where

log = structlog.get_logger("mysql")

_DROPPED: Final = "table was dropped: `{}`.`{}`"
_REBUILT: Final = "`{}`.`{}` has other rows by a statement that does not tell which: {}"
_UNSAID: Final = (
    "rows may have been changed by a statement that the log has in place of them (binlog_format): {}"
)
_UNCERTAIN: Final = (
    "`{}`.`{}` was changed by a transaction of which the log does not tell yet what became: {}"
)


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why a table is not what it was; `doubtful`: it counts once it has come again."""

    message: str
    heals: bool = False
    doubtful: bool = False

    def error(self, export: Export, at: str) -> DefiniteError:
        """What the table here says."""
        hint = READ_AGAIN if self.heals else None
        return DefiniteError(".".join(export.reference), at, self.message, hint, self.heals, self.doubtful)


def table_of(export: Export) -> Name:
    """What an export is of."""
    return export.pinned.reference["schema"], export.pinned.reference["table"]


def doubted(
    remarks: Iterable[Remark], exports: Iterable[Export], seen: Mapping[str, Any]
) -> dict[str, list[Remark]]:
    """By table id: statements since its point that it may not be the same after."""
    found: dict[str, list[Remark]] = {}
    said = list(remarks)
    if not said:
        return found
    for export in exports:
        table, before = table_of(export), _before(seen.get(export.table_id, {}))
        mine = [
            remark
            for remark in said
            if (before is None or remark.gtid not in before) and _concerns(remark.statement, export, table)
        ]
        if mine:
            found[export.table_id] = mine
    return found


def _before(seen: Mapping[str, Any]) -> Any:
    if "gtids" not in seen:
        return None
    flavour: Flavour = seen["flavour"]
    return parse_gtids(flavour, seen["gtids"])


def _concerns(statement: Statement, export: Export, table: Name) -> bool:
    return statement.effect is Effect.WRITTEN or statement.names(table)


def verdict(export: Export, remarks: Iterable[Remark], facts: TableFacts | None) -> Doubt | None:
    """What such statements mean for a table that is so now; an error that nobody foresaw is its alone."""
    found = attempted(partial(_verdict, export, remarks, facts))
    if not isinstance(found, Exception):
        return found
    log.error("table cannot be judged", table=export.table_id, defect=where(found))
    return Doubt(f"internal error while the table was looked at upstream: {named(found)}", doubtful=True)


def _verdict(export: Export, remarks: Iterable[Remark], facts: TableFacts | None) -> Doubt | None:
    table, doubt = table_of(export), None
    for remark in remarks:
        statement = remark.statement
        match statement.effect:
            case Effect.DROPPED:
                return Doubt(_DROPPED.format(*table))
            case Effect.WRITTEN:
                doubt = Doubt(_UNSAID.format(statement.text), heals=True)
            case Effect.UNCERTAIN:
                doubt = Doubt(_UNCERTAIN.format(*table, statement.text), heals=True)
            case _ if statement.effect is Effect.RENAMED or _other_rows(statement, export):
                doubt = Doubt(_REBUILT.format(*table, statement.text), heals=True)
    why = changed(export.pinned, facts)
    return doubt if why is None else Doubt(why)


def _other_rows(statement: Statement, export: Export) -> bool:
    """Whether an ALTER TABLE that leaves the shape as it was may have changed what we have."""
    if export.discipline == "keyed" and lifts(statement, export.pinned.constraints[0]["primary"]):
        return True
    if not statement.rows:
        return False
    if any(column["generated"] for column in export.pinned.columns):
        return True  # what it is made of need not be taken
    names = {column["name"].lower() for column in export.pinned.columns}
    return partitions(statement) or not names.isdisjoint(statement.words)
