"""Which words of a query are reserved, and where: PostgreSQL's keyword classes.

Statements have their own list (sql/words.py, which says why): what may name an object
there is not what may name a column, a function or a label here.

Not here: the grammar (parse/).
"""

from __future__ import annotations

from typing import Final


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


RESERVED: Final = word_set(
    """all analyse analyze and any array as asc asymmetric both case cast check collate column constraint
    create current_catalog current_date current_role current_time current_timestamp current_user default
    deferrable desc distinct do else end except false fetch for foreign from grant group having in initially
    intersect into lateral leading limit localtime localtimestamp not null offset on only or order placing
    primary references returning select session_user some symmetric table then to trailing true union unique
    user using variadic when where window with"""
)
"""Never a name without quotes."""

FUNCTION_OR_TYPE: Final = word_set(
    """authorization binary collation concurrently cross current_schema freeze full ilike inner is isnull
    join left like natural notnull outer overlaps right similar tablesample verbose"""
)
"""The name of a function or type, but not of a column or table."""

NOT_BARE_LABEL: Final = word_set(
    """array as char character create day except fetch filter for from grant group having hour intersect into
    isnull limit minute month notnull offset on order over overlaps precision returning second to union
    varying where window with within without year"""
)
"""A column label only after AS."""


def column_name(word: str) -> bool:
    """Whether a bare word may name a column or a table."""
    return word not in RESERVED and word not in FUNCTION_OR_TYPE
