"""The function table as system relations list it: pg_proc, pg_operator and their kin.

Oids are given by place in the table, below those of users' objects.  Nothing refers to
them beyond one release, so they may change with the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from headwater.catalog.builtin.facts import FunctionRow, OperatorRow
from headwater.core.errors import UserError
from headwater.core.types import FACTS, TEXT, SqlType
from headwater.sql.select.functions import FUNCTIONS, Function
from headwater.sql.select.functions.entry import Wanted

_FIRST_FUNCTION_OID: Final = 12_000
_FIRST_OPERATOR_OID: Final = 14_000
_PSEUDO_OIDS: Final = {
    "any": 2276,
    "anyarray": 2277,
    "anyelement": 2283,
    "anynonarray": 2776,
    "anyrecord": 2249,
    "anylist": FACTS["list"].oid,
    "anymap": FACTS["map"].oid,
    "numeric": FACTS["numeric"].oid,
}
_KINDS: Final = {"scalar": "f", "table": "f", "aggregate": "a", "window": "w"}


@cache
def function_rows() -> Sequence[FunctionRow]:
    """All functions, aggregates, window functions and table functions."""
    entries = [f for name in sorted(FUNCTIONS) for f in FUNCTIONS[name] if f.shape != "operator"]
    return tuple(
        FunctionRow(
            _FIRST_FUNCTION_OID + index,
            "pg_catalog",
            entry.name,
            tuple(_wanted_oid(wanted) for wanted in entry.arguments),
            _return_oid(entry),
            _KINDS[entry.shape],
            entry.shape == "table",
        )
        for index, entry in enumerate(entries)
        if entry.name[0].isalpha() or entry.name[0] == "_"
    )


@cache
def operator_rows() -> Sequence[OperatorRow]:
    """All operators."""
    entries = [f for name in sorted(FUNCTIONS) for f in FUNCTIONS[name] if f.shape == "operator"]
    return tuple(
        OperatorRow(
            _FIRST_OPERATOR_OID + index,
            entry.name,
            tuple(_wanted_oid(wanted) for wanted in entry.arguments),
            _return_oid(entry),
        )
        for index, entry in enumerate(entries)
        if len(entry.arguments) in (1, 2)
    )


def _oid(type_: SqlType) -> int:
    if type_.kind == "array" and type_.element is not None:
        return FACTS[type_.element.kind].array_oid
    return FACTS[type_.kind].oid


def _wanted_oid(wanted: Wanted) -> int:
    return _PSEUDO_OIDS[wanted] if isinstance(wanted, str) else _oid(wanted)


def _return_oid(entry: Function) -> int:
    """The type it returns; of a polymorphic one, `anyelement`."""
    if any(isinstance(wanted, str) and wanted != "numeric" for wanted in entry.arguments):
        return _oid(entry.returns) if isinstance(entry.returns, SqlType) else _PSEUDO_OIDS["anyelement"]
    given = tuple(SqlType("numeric") if isinstance(wanted, str) else wanted for wanted in entry.arguments)
    try:
        return _oid(entry.return_type(given))
    except (UserError, LookupError, AttributeError):
        return _oid(TEXT)
