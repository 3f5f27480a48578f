"""SUBSCRIBE: a relation's changes, as they happen.

mz_timestamp | [mz_progressed] | mz_diff | columns          plain
mz_timestamp | [mz_progressed] | mz_state | key | values    ENVELOPE UPSERT
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from headwater.coordinator import queries
from headwater.coordinator.api import ParsedStatement, Prepared, Result, other_columns
from headwater.coordinator.carrying import Reader
from headwater.coordinator.feed import Feed, columns_of
from headwater.coordinator.read import PreparedRead, RelationDropped
from headwater.coordinator.switching import Followed, followed
from headwater.core.change import ReadPlan
from headwater.core.errors import UserError, not_supported
from headwater.core.types import SqlType
from headwater.observe import metrics
from headwater.persist.signed import DIFF
from headwater.sql.cursor import Name
from headwater.sql.select import count_rows, picked_columns, plan_query, qualify
from headwater.sql.select.plan.nodes import Query
from headwater.sql.statements.subscribe import Subscribe

if TYPE_CHECKING:
    from headwater.coordinator.session import SqlSession


def _plan(session: SqlSession, statement: Subscribe, parameter_types: tuple[SqlType | None, ...]) -> Query:
    names = session.names()
    if isinstance(statement.target, Name):
        item = names.find_item(statement.target.parts)
        if item is not None and item.kind in ("secret", "connection"):
            full = names.full_name(item)
            raise UserError(f"'{full}' cannot be subscribed to because it is a {item.kind}", "42809")
        try:
            query = plan_query(f"SELECT * FROM {statement.target}", names, session.facts())
        except UserError as error:
            error.position = statement.target.position
            raise
    else:
        text, offset = statement.target.text, statement.target.offset
        query = plan_query(text, names, session.facts(), parameter_types, offset)
    if query.uses_mz_now:
        raise not_supported("SUBSCRIBE to a query with mz_now()")
    if statement.output is not None:
        raise not_supported("ENVELOPE and WITHIN TIMESTAMP in SUBSCRIBE")
    return query


def _reader(session: SqlSession, statement: Subscribe, parameter_types: tuple[SqlType | None, ...]) -> Reader:
    """The query with all names in full: it goes along when these mean something else, as a view does."""
    named = isinstance(statement.target, Name)
    text = f"SELECT * FROM {statement.target}" if named else statement.target.text  # type: ignore[union-attr]
    definition = qualify(text, session.names())
    return Reader("its query", definition, session.backend_pid, session.facts(), parameter_types)


def describe(
    session: SqlSession, parsed: ParsedStatement, parameter_types: tuple[SqlType | None, ...]
) -> Prepared:
    """Parameters and columns."""
    statement = parsed.statement
    if not isinstance(statement, Subscribe):
        raise UserError("SUBSCRIBE needs a relation", "42601")
    query = _plan(session, statement, parameter_types)
    return Prepared(parsed, query.parameters, columns_of(query, statement.progress), query)


async def run(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    """Rows as of a timestamp, then the changes after it."""
    statement = prepared.parsed.statement
    if not isinstance(statement, Subscribe):
        raise UserError("SUBSCRIBE needs a relation", "42601")
    session.enter("subscribe")
    moment, up_to = await _bounds(session, statement)
    as_of = statement.as_of
    coordinator = session.coordinator
    while True:
        follows = await session.planned(lambda: _followed(session, statement, prepared, arguments))
        state = session.state
        if columns_of(follows.query, statement.progress) != prepared.columns:
            raise other_columns()
        try:
            not_before = await queries.earliest(session, follows.inputs, as_of)
            read = await coordinator.reads.prepare(
                follows.query,
                state,
                session.isolation,
                session.allow,
                moment,
                as_of is not None and as_of.at_least,
                facts=session.system_facts,
                not_before=not_before,
            )
            break
        except RelationDropped:
            if session.state is state:
                raise
    _check_changes(statement, read)
    if session.transaction is not None:
        session.transaction.saw(read.seen())
    # The read lets go of its files at its end; what comes between it and the hub is needed longer.
    kept = coordinator.holds.acquire(read.inputs.ids(), read.ts)
    feed = Feed(session, statement, follows, read.ts, up_to, kept)
    read.query = count_rows(follows.query, DIFF, different=all_different(follows.query, read.plans))
    snapshot = queries.run_read(session, read) if statement.snapshot else None
    result = Result(lambda rows: f"SUBSCRIBE {rows}", prepared.columns, feed.batches(snapshot))

    def closed() -> None:
        read.close()
        feed.close()

    result.closed = closed
    coordinator.subscriptions[id(feed)] = feed
    metrics.subscription_opened()
    return result


def _followed(
    session: SqlSession, statement: Subscribe, prepared: Prepared, arguments: tuple[str | None, ...]
) -> Followed:
    _plan(session, statement, prepared.parameters)  # refuses what cannot be subscribed to
    reader = _reader(session, statement, prepared.parameters)
    return followed(session.coordinator, session.state, reader, arguments)


async def _bounds(session: SqlSession, statement: Subscribe) -> tuple[int | None, int | None]:
    """AS OF and UP TO."""
    up_to, as_of = None, statement.as_of
    if statement.up_to is not None:
        up_to = await queries.timestamp(session, statement.up_to.text, statement.up_to.offset)
    moment = await queries.as_of_timestamp(session, as_of)
    at_least = as_of is not None and as_of.at_least
    if moment is not None and up_to is not None and moment > up_to and not at_least:
        raise UserError(
            "subscription lower bound (`AS OF`) is greater than its upper bound (`UP TO`):"
            f" {moment} > {up_to}",
            "22000",
        )
    return moment, up_to


def all_different(query: Query, plans: Mapping[str, ReadPlan]) -> bool:
    """Whether the rows are those of a table, with their key, so that none is there twice."""
    picked = picked_columns(query)
    plan = None if picked is None else plans.get(picked[0])
    if picked is None or plan is None or plan.discipline != "keyed":
        return False
    return set(plan.relation.key_names()) <= set(picked[1])


def _check_changes(statement: Subscribe, read: PreparedRead) -> None:
    """Whoever has the rows of an earlier timestamp needs the difference to those of now, too."""
    if not statement.snapshot and read.ts < read.inputs.redefined_at:
        at = read.inputs.redefined_at
        read.close()
        raise UserError(
            "what is subscribed to was swapped or replaced since",
            "55000",
            detail=f"It has given what it gives now since {at}; changes are asked for from {read.ts} on.",
            hint="SUBSCRIBE without SNAPSHOT = false and AS OF: begin with the rows that are there now.",
        )
