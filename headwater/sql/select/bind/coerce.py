"""Types that meet: which casts happen by themselves, and the one type several values share.

PostgreSQL's rules: three contexts (implicit, assignment, explicit), preferred types, literals
of unknown type that take the type their place wants.  On top of them our numerics, whose
scale is part of the type: values of different scales meet at the larger scale when all are
known to fit there, and otherwise as unconstrained numerics.

Not here: the casts themselves (functions/casts.py), choosing a function (resolve.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from headwater.core.errors import UserError
from headwater.core.types import (
    BOOL,
    FACTS,
    NUMERIC_DIGITS_MAX,
    SIGNED,
    TEXT,
    UNKNOWN,
    SqlType,
    array_of,
    list_of,
    numeric,
)
from headwater.sql.select.bind.planning import Planning
from headwater.sql.select.bind.types_by_name import type_name
from headwater.sql.select.functions import find_cast
from headwater.sql.select.plan import literals
from headwater.sql.select.plan.nodes import Case, Cast, Constant, Expression, Parameter

Context = Literal["implicit", "assignment", "explicit"]

_RANK: Final = {"implicit": 0, "assignment": 1, "explicit": 2}
_INTEGER_DIGITS: Final = {
    kind: len(str(facts.bounds[1]))
    for kind, facts in FACTS.items()
    if facts.bounds and facts.family in ("signed", "unsigned")
}
_FOLDED: Final = frozenset(_INTEGER_DIGITS)
_STRINGS: Final = ("text", "varchar", "name", UNKNOWN.kind)


def category(type_: SqlType) -> str:
    """typcategory."""
    return FACTS[type_.kind].category


def preferred(type_: SqlType) -> bool:
    """Whether PostgreSQL prefers it among its category."""
    return FACTS[type_.kind].preferred


def same(left: SqlType, right: SqlType) -> bool:
    """The same type when lengths, scales and precisions are left out."""
    if left is right:
        return True
    if left.kind != right.kind or len(left.fields) != len(right.fields):
        return False
    if left.element is not None and right.element is not None:
        return same(left.element, right.element)
    return left.element is right.element


def castable(source: SqlType, target: SqlType, context: Context) -> bool:
    """Whether a value may become one of another type in a context."""
    if source.kind == "unknown" or same(source, target):
        return True
    if source.element is not None and target.element is not None and source.kind == target.kind:
        return castable(source.element, target.element, context)
    entry = find_cast(source, target)
    return entry is not None and _RANK[entry.context] <= _RANK[context]


def coerce(
    planning: Planning, value: Expression, target: SqlType, at: int, explicit: bool = False
) -> Expression:
    """A value as one of another type, which it is known to be castable to."""
    if isinstance(value, Constant) and value.type.kind == "unknown":
        if value.value is None:
            return Constant(None, target)
        planning.note_moment(value, target)
        return literals.literal(value.value, target, planning.names, planning.facts, at, explicit)
    if isinstance(value, Parameter) and value.type.kind == "unknown":
        typed = planning.typed_parameter(value, target)
        return typed if typed.type == target else coerce(planning, typed, target, at, explicit)
    if value.type == target:
        return value
    if _same_form(value.type, target) and not explicit:
        return value
    if value.type.kind == target.kind == "record":
        raise UserError(
            "records with fields of different types not yet supported",
            "0A000",
            hint="Cast their fields to the same types, also those that are NULL.",
            position=at + 1,
        )
    return _folded(value, target) or Cast(value, target, implicit=not explicit)


def _same_form(source: SqlType, target: SqlType) -> bool:
    """Whether a value may stay as it is where a type without a length or precision is wanted."""
    if source.kind != target.kind or source.kind in ("numeric", "char"):
        return False
    if source.element is not None or source.fields:
        return False
    return target.length is None and target.scale is None


def _folded(value: Expression, target: SqlType) -> Constant | None:
    """A constant whose text is the same in the wider type."""
    if not isinstance(value, Constant):
        return None
    if value.value is None:
        return Constant(None, target)
    source = value.type
    if source.kind in _FOLDED and target.kind in ("int4", "int8", "numeric"):
        digits = len(value.value.lstrip("-"))
        if target.kind == "numeric":
            return (
                Constant(value.value, target) if digits + (target.scale or 0) <= NUMERIC_DIGITS_MAX else None
            )
        if _INTEGER_DIGITS[source.kind] <= _INTEGER_DIGITS[target.kind] and source.kind in SIGNED:
            return Constant(value.value, target)
    if source.kind == target.kind == "numeric" and source.scale is not None:
        if target.scale is None and len(value.value.partition(".")[2]) < source.scale:
            return None  # the zeros it is written with count where digits are chosen by them
        fits = target.scale is None or (
            target.scale >= source.scale and integer_digits(value) + target.scale <= NUMERIC_DIGITS_MAX
        )
        return Constant(value.value, target) if fits else None
    if source.kind in _STRINGS and target == TEXT:
        return Constant(value.value, TEXT)
    return None


def require_boolean(planning: Planning, value: Expression, what: str, at: int) -> Expression:
    """A condition; `what` names its place in the error."""
    if not castable(value.type, BOOL, "implicit"):
        raise UserError(
            f"argument of {what} must be type boolean, not type {type_name(value.type)}",
            "42804",
            position=at + 1,
        )
    return coerce(planning, value, BOOL, at)


def require_assignable(source: SqlType, target: SqlType, column: str, at: int = -1) -> None:
    """Refuse what an assignment cannot cast."""
    if not castable(source, target, "assignment"):
        raise UserError(
            f'column "{column}" is of type {type_name(target)} but expression is of type {type_name(source)}',
            "42804",
            hint="You will need to rewrite or cast the expression.",
            position=at + 1,
        )


def assign(planning: Planning, value: Expression, target: SqlType, column: str, at: int) -> Expression:
    """A value for a column, by an assignment cast."""
    require_assignable(value.type, target, column, at)
    return coerce(planning, value, target, at)


# One type for several values


def integer_digits(value: Expression) -> int:
    """At most how many digits stand before the point."""
    type_ = value.type
    if type_.kind in _INTEGER_DIGITS:
        return _INTEGER_DIGITS[type_.kind]
    if isinstance(value, Constant):
        shown = (value.value or "").lstrip("-").partition(".")[0]
        return len(shown) if shown.isdigit() or not shown else NUMERIC_DIGITS_MAX + 1
    if isinstance(value, Cast) and value.input.type.kind in _INTEGER_DIGITS:
        return _INTEGER_DIGITS[value.input.type.kind]
    if isinstance(value, Case):
        return max(integer_digits(branch) for branch in (*(v for _, v in value.branches), value.otherwise))
    return NUMERIC_DIGITS_MAX - (type_.scale or 0) if type_.scale is not None else NUMERIC_DIGITS_MAX + 1


def common_numeric(values: Sequence[Expression]) -> SqlType:
    """The numeric that integers and numerics of several scales meet at."""
    scales = [
        0 if v.type.kind in _INTEGER_DIGITS else v.type.scale for v in values if v.type.kind != "unknown"
    ]
    known = [scale for scale in scales if scale is not None]
    literals_scale = [_literal_scale(v) for v in values if v.type.kind == "unknown"]
    if len(known) < len(scales) or any(scale is None for scale in literals_scale):
        return numeric()
    scale = max([*known, *(s for s in literals_scale if s is not None)], default=0)
    for value in values:
        if value.type.kind == "unknown" or value.type.scale == scale:
            continue
        if integer_digits(value) + scale > NUMERIC_DIGITS_MAX:
            return numeric()
    return numeric(scale)


def _literal_scale(value: Expression) -> int | None:
    """The scale an unknown literal is written with; a parameter may have any."""
    if not isinstance(value, Constant):
        return None
    if value.value is None:
        return 0
    whole, point, fraction = value.value.strip().lstrip("+-").partition(".")
    if not (whole + fraction).isdigit() or len(whole + fraction) > NUMERIC_DIGITS_MAX // 2:
        return None
    return len(fraction) if point else 0


def common_type(values: Sequence[Expression], what: str, at: int) -> SqlType:
    """The type that CASE, UNION, ARRAY and their kin give to several values."""
    known = [value for value in values if value.type.kind != "unknown"]
    if not known:
        return TEXT
    chosen = known[0].type
    for value in known[1:]:
        if same(chosen, value.type):
            continue
        chosen = _meet(chosen, value.type, what, at)
    for value in known:
        if not castable(value.type, chosen, "implicit"):
            names = f"{type_name(value.type)} to {type_name(chosen)}"
            raise UserError(f"{what} could not convert type {names}", "42846", position=at + 1)
    return _modifier(chosen, values)


def _meet(chosen: SqlType, other: SqlType, what: str, at: int) -> SqlType:
    if category(chosen) != category(other):
        raise _unmatched(what, chosen, other, at)
    if (
        not preferred(chosen)
        and castable(chosen, other, "implicit")
        and not castable(other, chosen, "implicit")
    ):
        return other
    return chosen


def _modifier(chosen: SqlType, values: Sequence[Expression]) -> SqlType:
    """Lengths and precisions survive only when all agree; scales meet."""
    if chosen.kind == "numeric":
        return common_numeric(values)
    if chosen.element is not None and chosen.kind in ("array", "list"):
        elements = {value.type.element for value in values if value.type.element is not None}
        if len(elements) > 1:
            element = numeric() if chosen.element.kind == "numeric" else chosen.element.bare()
            return array_of(element) if chosen.kind == "array" else list_of(element)
        return chosen
    types = {value.type for value in values if value.type.kind != "unknown"}
    return chosen if len(types) == 1 else chosen.bare()


def _unmatched(what: str, left: SqlType, right: SqlType, at: int) -> UserError:
    return UserError(
        f"{what} types {type_name(left)} and {type_name(right)} cannot be matched",
        "42804",
        position=at + 1,
    )


def unified(planning: Planning, values: Sequence[Expression], what: str, at: int) -> tuple[Expression, ...]:
    """Several values, all of their common type."""
    target = common_type(values, what, at)
    return tuple(coerce(planning, value, target, at) for value in values)


def resolved_unknown(planning: Planning, value: Expression) -> Expression:
    """A literal or parameter that nothing gave a type is text."""
    return coerce(planning, value, TEXT, 0) if value.type == UNKNOWN else value
