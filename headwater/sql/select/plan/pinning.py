"""Moments in a text that outlives its session: they go on meaning what they meant to its author.

A literal such as '2026-07-01 12:00' is a moment by the clocks of the session that reads it.  In the
definition of a view, or a column's default, it is read once, as PostgreSQL does, and from then on stands
there in UTC.

Not here: casts of text that is computed, and words such as 'today', which are looked at anew each time.
"""

from __future__ import annotations

from headwater.core.errors import UserError
from headwater.sql.cursor import quote_string
from headwater.sql.lexer import tokenize
from headwater.sql.select.plan.literals import canonical
from headwater.sql.select.plan.nodes import Query

_ELSEWHERE = "<+01>-01"


def pin_moments(text: str, query: Query) -> str:
    """The text of a planned query, or expression, in which no literal depends on the session's zone."""
    ends = {token.start: token.end for token in tokenize(text)}
    literals = {at: (written, type_) for at, written, type_ in query.moments}
    for at, (written, type_) in sorted(literals.items(), reverse=True):  # from the end, so that places stay
        try:
            here, there = canonical(written, type_, ""), canonical(written, type_, _ELSEWHERE)
        except UserError:  # a word for a moment of now
            continue
        if here != there:
            pinned = quote_string(canonical(written, type_, query.zone))
            text = f"{text[:at]}{pinned}{text[ends[at] :]}"
    return text
