"""CHECK of a webhook: what it may look at, and whether it can be said once for all requests.

The condition is planned as a query over a relation `request`, whose columns are what WITH names: so a whole
batch of requests is checked by one query of our engine.

It must give the same answer for the same request whoever asks, or a sender could not know what will be taken.
So it is planned for two sessions that have nothing in common but the time: if the plans differ, it depends on
more than the request.  Only the time may be asked for, and then the plan is made again as time goes by.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from headwater.catalog.details import WebhookTable
from headwater.catalog.snapshot import SessionNames
from headwater.catalog.state import CatalogState
from headwater.core.errors import UserError
from headwater.core.names import SessionFacts
from headwater.core.relation import Column, Relation
from headwater.core.types import BYTEA, INT8, TEXT, map_of
from headwater.sql.select import plan_condition
from headwater.sql.select.plan.nodes import Call, ColumnRef, Expression, Query
from headwater.sql.select.plan.walk import rewrite

REQUEST: Final = "request"
"""The id of the relation that a condition looks at."""
NUMBER: Final = Column("hw_number", INT8, nullable=False)
"""Its rows are numbered: an answer must be that of its own request, in whatever order answers come."""

_OF_CHANCE: Final = ("gen_random_uuid",)
_NOBODY: Final = SessionFacts(user="", database="", search_path=(), cluster="", backend_pid=0)
_ANYBODY: Final = SessionFacts(
    user="a", superuser=True, database="b", search_path=("c",), cluster="d", backend_pid=1, started_us=1
)
_LATER_US: Final = 90_061_000_001


def check_relation(details: WebhookTable) -> Relation:
    """The columns that the condition sees."""
    columns = []
    for given, name, binary, _ in details.binds:
        value = BYTEA if binary else TEXT
        columns.append(Column(name, map_of(value) if given == "headers" else value))
    return Relation(tuple(columns))


def plan_check(state: CatalogState, details: WebhookTable, now_us: int, offset: int = 0) -> Query:
    """The condition as a query over `REQUEST`."""
    return _planned(state, details, replace(_NOBODY, now_us=now_us), offset)


def _planned(state: CatalogState, details: WebhookTable, facts: SessionFacts, offset: int) -> Query:
    relation = check_relation(details)
    text = details.condition or "true"
    return plan_condition(text, SessionNames(state), facts, REQUEST, relation.columns, NUMBER, offset)


def timed(state: CatalogState, details: WebhookTable) -> bool:
    """Whether the condition asks what time it is."""
    first, second = (_planned(state, details, replace(_NOBODY, now_us=at), 0) for at in (0, _LATER_US))
    return first.root != second.root


def verify_check(state: CatalogState, details: WebhookTable, offset: int) -> Query:
    """Refuse what could not be a condition of requests."""
    names = [name for _, name, _, _ in details.binds]
    for name in names:
        if names.count(name) > 1 or name == NUMBER.name:
            raise UserError(
                f'column reference "{name}" is ambiguous',
                "42702",
                hint="Give one of them another name: WITH (... AS name).",
                position=offset + 1,
            )
    query = _planned(state, details, _NOBODY, offset)
    if query.relation_ids != {REQUEST}:
        raise UserError("expression provided in CHECK reads other relations", "0A000", position=offset + 1)
    found: set[str] = set()

    def look(expression: Expression) -> None:
        if isinstance(expression, ColumnRef) and expression.type != NUMBER.type:
            found.add("column")
        elif isinstance(expression, Call) and expression.function.name in _OF_CHANCE:
            found.add("chance")

    rewrite(query.root, look)
    other = _planned(state, details, _ANYBODY, offset)
    if "chance" in found or query.uses_mz_now or other.root != query.root:
        raise UserError(
            "expression provided in CHECK is not deterministic",
            "22023",
            hint="It may use what WITH names, and now().",
            position=offset + 1,
        )
    if "column" not in found:
        raise UserError(
            "expression provided in CHECK does not reference any columns",
            "22023",
            hint="Look at body or headers, or at what WITH (...) names.",
            position=offset + 1,
        )
    return query
