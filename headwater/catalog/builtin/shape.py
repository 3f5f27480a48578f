"""Columns of a system relation, written one per line.

    shape('''
        oid oid
        relname name
        reloptions text[]?
    ''')

A name, a type, and `?` where NULL may stand.  `[]` makes an array, ` list` a list.
"""

from __future__ import annotations

from headwater.core.errors import InvariantViolation
from headwater.core.relation import Column
from headwater.core.types import SqlType, array_of, kind_of_name, list_of


def shape(text: str) -> tuple[Column, ...]:
    """The columns a text describes."""
    return tuple(_column(line) for line in text.strip().splitlines())


def _column(line: str) -> Column:
    name, _, type_ = line.strip().partition(" ")
    nullable = type_.endswith("?")
    return Column(name, _type(type_.removesuffix("?")), nullable)


def _type(text: str) -> SqlType:
    if text.endswith("[]"):
        return array_of(_type(text.removesuffix("[]")))
    if text.endswith(" list"):
        return list_of(_type(text.removesuffix(" list")))
    kind = kind_of_name(text)
    if kind is None:
        raise InvariantViolation(f"there is no type {text!r}")
    # The quotes are part of the name of PostgreSQL's one-byte type.
    return SqlType(kind)
