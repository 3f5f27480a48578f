"""The parts of a query that are made of constants, as a query of their own.

PostgreSQL computes them when it plans, and so a part that cannot be computed fails the query even if no
row ever needs it: `SELECT 1 / 0 FROM empty`.  What it does not look at is left out here too: what follows
a constant that decides an AND, an OR, a CASE or a COALESCE, and functions that are not immutable there.

Not here: replacing the parts by their values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from headwater.core import pace
from headwater.core.types import FACTS
from headwater.sql.select.plan.nodes import (
    ArrayOf,
    Call,
    Case,
    Cast,
    ColumnId,
    ColumnRef,
    Constant,
    Expression,
    InList,
    Logical,
    Node,
    OutputColumn,
    Parameter,
    Project,
    Query,
    RecordOf,
    Subquery,
    Values,
)
from headwater.sql.select.plan.walk import rebuild_node

_NOT_IMMUTABLE: Final = frozenset(
    (
        *("array_to_string", "concat", "concat_ws", "convert_from", "convert_to", "format", "format_type"),
        *("jsonb_build_array", "jsonb_build_object", "make_timestamptz", "quote_literal", "quote_nullable"),
        *("to_char", "to_date", "to_jsonb", "to_timestamp"),
    )
)
_NOT_IMMUTABLE_BEGIN: Final = ("pg_", "has_", "mz_")
_NOT_STRICT: Final = frozenset(("coalesce", "greatest", "least", "is distinct from"))

_DECIDING_MAX: Final = 16

_Deciding: TypeAlias = 'Literal["is not null", "is false", "is true"]'


def constant_parts(query: Query) -> Query | None:
    """One row that can be computed if and only if all of the parts can; None when there are none."""
    parts = dict.fromkeys(_parts_of(query.root))
    if not parts:
        return None
    columns = tuple(
        (OutputColumn(ColumnId(number), f"part{number}", part.type), part)
        for number, part in enumerate(parts, 1)
    )
    return Query(Project(Values(((),), ()), columns), tuple(column for column, _ in columns))


def _parts_of(root: Node) -> list[Expression]:
    parts: list[Expression] = []

    def on_node(node: Node) -> Node:
        return rebuild_node(node, on_node, on_expression)

    def on_expression(value: Expression) -> Expression:
        parts.extend(_look(value).parts())
        return value

    on_node(root)
    return parts


@dataclass(frozen=True, slots=True)
class _Found:
    """What is in an expression: itself if all of it is constant, and what is computed besides."""

    constant: Expression | None
    besides: tuple[Expression, ...] = ()

    def parts(self) -> tuple[Expression, ...]:
        if self.constant is None or isinstance(self.constant, Constant):
            return self.besides
        return (*self.besides, self.constant)


def _look(value: Expression) -> _Found:
    pace.step()
    match value:
        case Constant():
            return _Found(value)
        case Parameter() | ColumnRef():
            return _Found(None)
        case Call() if value.function.name == "coalesce":
            return _until_decided(value, value.arguments, "is not null")
        case Logical(operator="and"):
            return _until_decided(value, value.arguments, "is false")
        case Logical(operator="or"):
            return _until_decided(value, value.arguments, "is true")
        case Case():
            return _case(value)
        case Call():
            return _computed(value, value.arguments, _is_immutable(value))
        case Cast():
            return _computed(value, (value.input,), _is_immutable_cast(value))
        case Logical():
            return _combined(value, map(_look, value.arguments))
        case ArrayOf():
            return _combined(value, map(_apart, value.elements))
        case RecordOf():
            return _combined(value, map(_apart, value.fields))
        case InList():
            # All items are computed, also those after one that is equal.
            return _combined(value, map(_apart, (value.input, *value.items)))
        case Subquery():
            operand = () if value.operand is None else _look(value.operand).parts()
            return _Found(None, (*operand, *_parts_of(value.root)))


def _apart(value: Expression) -> _Found:
    """The same for an operand that is computed whatever becomes of the whole."""
    found = _look(value)
    return _Found(found.constant, found.parts())


def _combined(value: Expression, found: Iterable[_Found]) -> _Found:
    """Constant where all operands are."""
    found = tuple(found)
    if all(each.constant is not None for each in found):
        return _Found(value, tuple(part for each in found for part in each.besides))
    return _Found(None, tuple(part for each in found for part in each.parts()))


def _computed(value: Expression, operands: tuple[Expression, ...], immutable: bool) -> _Found:
    # Where the answer is NULL anyway, the other operands come first.
    found = [*map(_apart if any(map(_is_null, operands)) else _look, operands)]
    combined = _combined(value, found)
    if immutable or combined.constant is None:
        return combined
    return _Found(None, tuple(part for each in found for part in each.parts()))


def _is_null(value: Expression) -> bool:
    match value:
        case Constant():
            return value.value is None
        case Cast():
            return _is_null(value.input)
        case Call():
            return value.function.name not in _NOT_STRICT and any(map(_is_null, value.arguments))
    return False


# What is looked at only until something is decided


def _until_decided(value: Expression, operands: tuple[Expression, ...], deciding: _Deciding) -> _Found:
    looked = [_look(operand) for operand in operands]
    whole = all(each.constant is not None for each in looked)
    found: list[_Found] = []
    decided: list[Expression] = []
    for operand, each in zip(operands, looked, strict=True):
        found.append(_unless(decided, each, whole))
        if each.constant is not None:
            decided.append(Logical(deciding, (operand,)))
    return _combined(value, found)


def _case(value: Case) -> _Found:
    looked = [(_look(condition), _look(result)) for condition, result in value.branches]
    otherwise = _look(value.otherwise)
    whole = all(each.constant is not None for pair in (*looked, (otherwise,)) for each in pair)
    found: list[_Found] = []
    decided: list[Expression] = []
    for (condition, _), (when, then) in zip(value.branches, looked, strict=True):
        found.append(_unless(decided, when, whole))
        if when.constant is None:
            found.append(_unless(decided, then, whole))
            continue
        holds = Logical("is true", (condition,))
        found.append(_unless([*decided[:_DECIDING_MAX], Logical("not", (holds,))], then, whole))
        decided.append(holds)
    found.append(_unless(decided, otherwise, whole))
    return _combined(value, found)


def _unless(decided: Sequence[Expression], found: _Found, whole: bool) -> _Found:
    """What was found, computed only where none of these holds.

    Where the whole is constant, it is computed in its own order, and operands need no guard.  Behind
    many that may decide nothing is looked for: each part would repeat all of them.
    """

    def guarded(part: Expression) -> Expression:
        if not decided or isinstance(part, Constant):
            return part
        null = Constant(None, part.type)
        return Case(tuple((condition, null) for condition in decided), part, part.type)

    if len(decided) > _DECIDING_MAX:
        return _Found(found.constant if whole else None)
    constant = found.constant if found.constant is None or whole else guarded(found.constant)
    return _Found(constant, tuple(map(guarded, found.besides)))


# What PostgreSQL computes when it plans


def _is_immutable(call: Call) -> bool:
    name = call.function.name
    if call.function.duckdb is None or name in _NOT_IMMUTABLE or name.startswith(_NOT_IMMUTABLE_BEGIN):
        return False
    if name == "age" and len(call.arguments) == 1:
        return False
    return all(argument.type.kind != "timestamptz" for argument in call.arguments)


def _is_immutable_cast(cast: Cast) -> bool:
    """Casts to and from text, and of timestamptz, follow settings of the session."""
    source, target = FACTS[cast.input.type.kind].immutable, FACTS[cast.type.kind].immutable
    return source == target != ""
