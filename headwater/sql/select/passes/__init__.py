"""Rewrites of a bound plan, one a file; each is a function from plan to plan.

Every plan goes through two rows of them: AFTER_BINDING, when it is made, and BEFORE_GENERATING, when a
generator is about to write it.  In between its owner may use those that stand for one purpose:

put_arguments     constants in the places of parameters
take_actions      what is done by calling a function, taken out of the plan
constant_parts    what can be computed before any row is read
total_order       the same rows give the same result, on every engine and in every run
count_rows        equal rows become one, with their count

Not here: several functions of a SELECT list that go side by side, which the binder makes one
(bind/side_by_side.py); set operations over rows that are equal without being the same, which are one text on
both engines (generate/matching.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from headwater.sql.select.passes.prune_columns import prune_columns
from headwater.sql.select.passes.session_zone import session_zone
from headwater.sql.select.passes.zeros import zeros
from headwater.sql.select.plan.nodes import Query

AFTER_BINDING: Final[tuple[Callable[[Query], Query], ...]] = (
    prune_columns,  # nothing is computed or read that nobody uses
    session_zone,  # what depends on the session's zone is marked with it
)
BEFORE_GENERATING: Final[tuple[Callable[[Query], Query], ...]] = (
    zeros,  # numerics that were computed keep their zeros as far as another computation needs them
)


def after_binding(query: Query) -> Query:
    """A plan as the binder made it, ready to be kept."""
    return _through(AFTER_BINDING, query)


def before_generating(query: Query) -> Query:
    """A plan ready to be written for an engine."""
    return _through(BEFORE_GENERATING, query)


def _through(passes: tuple[Callable[[Query], Query], ...], query: Query) -> Query:
    for each in passes:
        query = each(query)
    return query
