"""Functions that are given the name of an object as a constant: it is looked up when the query is bound.

to_regclass() and to_regtype() are the oid behind it, or NULL.  Of the has_* functions, and of those that
measure, only the names are looked at: one that there is not is an error.

Not here: what these answer (bind/catalog.py, bind/privileges.py).
"""

from __future__ import annotations

import re
from typing import Final

from headwater.core.errors import UserError
from headwater.core.types import SqlType
from headwater.sql.select.bind.planning import Planning
from headwater.sql.select.plan.nodes import Constant, Expression

_PERMITTED: Final = re.compile(r"has_(table|any_column|column|schema|database)_privilege")
_UNKNOWN: Final = {
    "role": ('role "{}" does not exist', "42704"),
    "schema": ('schema "{}" does not exist', "3F000"),
    "database": ('database "{}" does not exist', "3D000"),
}
_ANYBODY: Final = "public"


def named_object(
    planning: Planning, name: str, arguments: tuple[Expression, ...], at: int
) -> Expression | None:
    """The answer to a function of a name that is known; None where it has yet to be computed."""
    if name in ("to_regclass", "to_regtype") and len(arguments) == 1:
        text = _text(arguments[0])
        return None if text is None else _oid(planning, name, text)
    if name == "pg_database_size" and len(arguments) == 1:
        _check(planning, "database", arguments[0], at)
    elif name == "pg_has_role" and len(arguments) in (2, 3):
        for role in arguments[:-1]:
            _check(planning, "role", role, at)
    elif (found := _PERMITTED.fullmatch(name)) is not None:
        count = 3 if found[1] == "column" else 2
        if len(arguments) == count + 1:
            if _text(arguments[0]) != _ANYBODY:
                _check(planning, "role", arguments[0], at)
            arguments = arguments[1:]
        if len(arguments) == count:
            kind = found[1] if found[1] in _UNKNOWN else "relation"
            _check(planning, kind, arguments[0], at)
    return None


def _text(argument: Expression) -> str | None:
    """The value of a constant that is a text."""
    texts = ("unknown", "text", "name", "varchar")
    return argument.value if isinstance(argument, Constant) and argument.type.kind in texts else None


def _oid(planning: Planning, name: str, text: str) -> Constant:
    kind = name.removeprefix("to_")
    found = None
    if not text.strip().isdecimal():
        found = planning.names.regclass(text) if kind == "regclass" else planning.names.type_oid(text)
    return Constant(None if found is None else str(found), SqlType(kind))


def _check(planning: Planning, kind: str, argument: Expression, at: int) -> None:
    name = _text(argument)
    if name is None:
        return
    if kind == "relation":
        if planning.names.regclass(name) is None:
            raise UserError(f'relation "{name}" does not exist', "42P01", position=at + 1)
        return
    known = planning.facts.known
    if known is not None and not known(kind, name):
        message, sqlstate = _UNKNOWN[kind]
        raise UserError(message.format(name), sqlstate, position=at + 1)
