"""Binds casts: CAST(x AS t), x::t, t 'literal'.

A cast of a literal is a constant; names become the oids behind regclass and its kin, and back.

Not here: implicit casts (coerce.py), the conversions themselves (functions/casts.py).
"""

from __future__ import annotations

from collections.abc import Callable

from headwater.core.errors import UserError, not_supported
from headwater.core.types import INT4, INT8, OID, TEXT, TEXTS, UNKNOWN, SqlType
from headwater.sql.select.bind.catalog import registered
from headwater.sql.select.bind.clause import Clause
from headwater.sql.select.bind.coerce import castable, coerce
from headwater.sql.select.bind.operator import equal, scalar
from headwater.sql.select.bind.planning import reference
from headwater.sql.select.bind.types_by_name import interval_limits, resolve_type, type_name
from headwater.sql.select.functions.time import INTERVAL_FIT
from headwater.sql.select.parse.syntax import CastTo, String, Syntax
from headwater.sql.select.plan import literals
from headwater.sql.select.plan.nodes import (
    Call,
    Cast,
    Constant,
    Expression,
    Filter,
    OutputColumn,
    Parameter,
    RecordOf,
    Scan,
    Subquery,
)

Bind = Callable[[Clause, Syntax], Expression]

_NAMED = {
    "regclass": ("pg_class", "relname"),
    "regtype": ("pg_type", "typname"),
    "regnamespace": ("pg_namespace", "nspname"),
    "regproc": ("pg_proc", "proname"),
}
_TEXTS = (*TEXTS, UNKNOWN.kind)


def type_cast(clause: Clause, syntax: CastTo, bind: Bind) -> Expression:
    """A written cast."""
    target = resolve_type(syntax.type)
    limits = interval_limits(syntax.type)
    if limits is None:
        return cast_to(clause, bind(clause, syntax.input), target, syntax.at, bind)
    fields, digits = limits
    if isinstance(syntax.input, String):
        return literals.interval_literal(syntax.input.text, fields, digits, syntax.input.at)
    given = cast_to(clause, bind(clause, syntax.input), target, syntax.at, bind)
    last = Constant(fields.rpartition(" ")[2], TEXT)
    return Call(INTERVAL_FIT, (given, last, Constant(str(digits), INT4)), target)


def cast_to(clause: Clause, value: Expression, target: SqlType, at: int, bind: Bind) -> Expression:
    """An explicit cast of a bound value."""
    source = value.type
    if target.kind in _NAMED and source.kind in _TEXTS and not _at_once(value, target):
        return registered(clause, value, target, at, bind)
    if isinstance(value, Constant) and source == UNKNOWN:
        return coerce(clause.planning, value, target, at, explicit=True)
    if isinstance(value, Parameter) and source == UNKNOWN:
        return coerce(clause.planning, value, target, at, explicit=True)
    if source == target:
        return value
    if target.kind in _NAMED and source.kind in _TEXTS:
        value = Constant(value.value, UNKNOWN) if isinstance(value, Constant) else value
        return coerce(clause.planning, value, target, at, explicit=True)
    if source.kind in _NAMED and target.kind in _TEXTS:
        return cast_to(clause, _name_of(clause, value), target, at, bind)
    if isinstance(value, RecordOf) and target.kind == "record":
        return value
    if not castable(source, target, "explicit"):
        raise UserError(
            f"cannot cast type {type_name(source)} to {type_name(target)}", "42846", position=at + 1
        )
    return coerce(clause.planning, value, target, at, explicit=True)


def _at_once(value: Expression, target: SqlType) -> bool:
    """Whether the oid behind a text is found while the query is planned, or when its parameters are there."""
    if isinstance(value, Parameter):
        return value.type == UNKNOWN
    return isinstance(value, Constant) and (value.value is None or target.kind in ("regclass", "regtype"))


def _name_of(clause: Clause, value: Expression) -> Expression:
    """The name behind a regclass, asked of the catalog's own relation; if there is none digits, `-` for 0."""
    table, column = _NAMED[value.type.kind]
    planning = clause.planning
    if value.type.kind == "regtype":
        return scalar(planning, "format_type", (Cast(value, OID), Constant(None, INT4)), 0)
    found = planning.names.find_relation(("pg_catalog", table))
    kinds = {c.name: c.type for c in found.relation.columns}
    if not {"oid", column} <= set(kinds):
        raise not_supported(f"the name of a {type_name(value.type)}")
    planning.relation_ids.add(found.id)
    oid: OutputColumn = planning.column("oid", kinds["oid"])
    name = planning.column(column, kinds[column])
    scan = Scan(found.id, f"pg_catalog.{table}", (oid, name))
    matching = Filter(scan, equal(planning, reference(oid), Cast(value, OID), 0))
    shown = Subquery("scalar", matching, name.id, name.type)
    number = Cast(Cast(value, INT8), TEXT)
    digits = scalar(planning, "regexp_replace", (number, Constant("^0$", TEXT), Constant("-", TEXT)), 0)
    return scalar(planning, "coalesce", (Cast(shown, TEXT), digits), 0)
