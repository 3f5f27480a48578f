"""Which entry of the function table a call means: PostgreSQL's rules of overload resolution.

    1. an entry whose argument types are exactly these
    2. among those that the arguments can become by implicit casts: most exact matches,
       then most preferred types, then the category that literals of unknown type suggest
    3. if all known arguments have one type, literals have it too

Polymorphic arguments (anyelement, anyarray, ...) then take their common type.

Not here: casting the arguments (bind/function.py), the entries (functions/).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from headwater.core.errors import UserError
from headwater.core.types import INT2VECTOR, TEXT, SqlType, array_of, list_of, map_of, numeric
from headwater.sql.select.bind.coerce import castable, category, common_numeric, common_type, preferred, same
from headwater.sql.select.bind.types_by_name import type_name
from headwater.sql.select.functions.entry import Function, Wanted
from headwater.sql.select.plan.nodes import Constant, Expression

_CONTAINERS: Final[dict[str, tuple[str, Callable[[SqlType], SqlType]]]] = {
    "anyarray": ("array", array_of),
    "anylist": ("list", list_of),
    "anymap": ("map", map_of),
}
_POLYMORPHIC: Final = frozenset({"anyelement", "anynonarray", "any", "anyrecord", *_CONTAINERS})


@dataclass(frozen=True, slots=True)
class Chosen:
    """An entry and the exact types its arguments are to have."""

    function: Function
    types: tuple[SqlType, ...]


def choose(candidates: Sequence[Function], arguments: Sequence[Expression], operator: bool) -> Chosen | None:
    """The entry for these arguments; None when there is none or no best one."""
    types = [argument.type for argument in arguments]
    fitting = [f for f in candidates if _takes(f, len(types))]
    if operator and len(types) == 2:
        types_alike = _alike(types)
        exact = _exact(fitting, types_alike)
    else:
        exact = _exact(fitting, types)
    if exact is None:
        fitting = [f for f in fitting if _coercible(f, types) and _concrete(f, arguments) is not None]
        exact = _best(fitting, types)
    if exact is None:
        return None
    wanted = _concrete(exact, arguments)
    return None if wanted is None else Chosen(exact, wanted)


def ambiguous(candidates: Sequence[Function], arguments: Sequence[Expression]) -> bool:
    """Whether entries fit, so that the trouble is that none of them fits best."""
    types = [argument.type for argument in arguments]
    return any(_takes(f, len(types)) and _coercible(f, types) for f in candidates)


def _takes(function: Function, count: int) -> bool:
    return count == len(function.arguments) or (function.variadic and count >= len(function.arguments))


def wanted_at(function: Function, index: int) -> Wanted:
    """What an entry wants at a place; a variadic one repeats its last."""
    return function.arguments[min(index, len(function.arguments) - 1)]


def _alike(types: list[SqlType]) -> list[SqlType]:
    """An operand of unknown type is first taken for the other's."""
    left, right = types
    if left.kind == "unknown":
        return [right, right]
    return [left, left] if right.kind == "unknown" else types


def _matches(wanted: Wanted, type_: SqlType) -> bool:
    """Exactly this type, modifiers left out."""
    if isinstance(wanted, str):
        return wanted == "numeric" and type_.kind == "numeric"
    return same(wanted, type_)


def _accepts(wanted: Wanted, type_: SqlType) -> bool:
    """This type, or one it becomes by an implicit cast."""
    if type_.kind == "unknown":
        return True
    if isinstance(wanted, SqlType):
        return castable(type_, wanted, "implicit")
    if wanted == "numeric":
        return castable(type_, numeric(), "implicit")
    if wanted in _CONTAINERS:
        return type_.kind == _CONTAINERS[wanted][0] or (wanted == "anyarray" and type_ == INT2VECTOR)
    if wanted == "anyrecord":
        return type_.kind == "record"
    return wanted != "anynonarray" or type_.kind not in ("array", "list", "map", INT2VECTOR.kind)


def _exact(candidates: Sequence[Function], types: Sequence[SqlType]) -> Function | None:
    for function in candidates:
        if all(_matches(wanted_at(function, i), type_) for i, type_ in enumerate(types)):
            return function
    return None


def _coercible(function: Function, types: Sequence[SqlType]) -> bool:
    return all(_accepts(wanted_at(function, i), type_) for i, type_ in enumerate(types))


def _best(candidates: list[Function], types: Sequence[SqlType]) -> Function | None:
    """PostgreSQL's successive filters; each keeps all when it would keep none."""
    known = [i for i, type_ in enumerate(types) if type_.kind != "unknown"]
    unknown = [i for i, type_ in enumerate(types) if type_.kind == "unknown"]
    if len(candidates) > 1:
        candidates = _most(candidates, lambda f: sum(_matches(wanted_at(f, i), types[i]) for i in known))
    if len(candidates) > 1:
        candidates = _most(
            candidates,
            lambda f: sum(
                _matches(wanted_at(f, i), types[i]) or _prefers(wanted_at(f, i), types[i]) for i in known
            ),
        )
    if len(candidates) > 1 and unknown:
        candidates = _by_category(candidates, unknown)
    if len(candidates) > 1 and known and unknown:
        first = types[known[0]]
        if all(same(types[i], first) for i in known):
            supposed = [Constant(None, first)] * len(types)
            alike = [
                f
                for f in candidates
                if _coercible(f, [first] * len(types)) and _concrete(f, supposed) is not None
            ]
            if len(alike) == 1:
                return alike[0]
    if len(candidates) > 1:
        # Polymorphic entries only stand in for the types that have none of their own.
        plain = [f for f in candidates if not any(_polymorphic(wanted) for wanted in f.arguments)]
        candidates = plain or candidates
    return candidates[0] if len(candidates) == 1 else None


def _polymorphic(wanted: Wanted) -> bool:
    return isinstance(wanted, str) and wanted in _POLYMORPHIC


def _prefers(wanted: Wanted, type_: SqlType) -> bool:
    return isinstance(wanted, SqlType) and preferred(wanted) and category(wanted) == category(type_)


def _most(candidates: list[Function], score: Callable[[Function], int]) -> list[Function]:
    scores = [score(function) for function in candidates]
    best = max(scores)
    return [function for function, value in zip(candidates, scores, strict=True) if value == best]


def _category_of(wanted: Wanted) -> str:
    if isinstance(wanted, SqlType):
        return category(wanted)
    return "N" if wanted == "numeric" else "P"


def _by_category(candidates: list[Function], unknown: Sequence[int]) -> list[Function]:
    """Literals of unknown type are strings if any candidate takes one there, else what all agree on."""
    for place in unknown:
        categories = {_category_of(wanted_at(f, place)) for f in candidates}
        if "S" in categories:
            chosen = "S"
        elif len(categories) == 1:
            chosen = categories.pop()
        else:
            return candidates
        kept = [f for f in candidates if _category_of(wanted_at(f, place)) == chosen]
        favourites = [f for f in kept if _prefers_itself(wanted_at(f, place))]
        candidates = favourites or kept
    return candidates


def _prefers_itself(wanted: Wanted) -> bool:
    return isinstance(wanted, SqlType) and preferred(wanted)


# Polymorphic arguments


def _concrete(function: Function, arguments: Sequence[Expression]) -> tuple[SqlType, ...] | None:
    """The exact type of every argument; None when polymorphic ones do not agree."""
    element = _element(function, arguments)
    types: list[SqlType] = []
    for index, argument in enumerate(arguments):
        wanted = wanted_at(function, index)
        if isinstance(wanted, SqlType):
            types.append(_kept(wanted, argument.type))
        elif wanted == "numeric":
            types.append(common_numeric([argument]))
        elif wanted in ("anyelement", "anynonarray"):
            if element is None:
                return None
            types.append(element)
        elif wanted in _CONTAINERS:
            if element is None:
                return None
            types.append(_CONTAINERS[wanted][1](element))
        else:
            types.append(TEXT if argument.type.kind == "unknown" else argument.type)
    return tuple(types)


def _kept(wanted: SqlType, given: SqlType) -> SqlType:
    """The argument's own modifiers stay where the kind is what was wanted."""
    return given if same(wanted, given) else wanted


def _element(function: Function, arguments: Sequence[Expression]) -> SqlType | None:
    """What anyelement and the elements of anyarray have in common."""
    plain: list[Expression] = []
    inner: list[SqlType] = []
    for index, argument in enumerate(arguments):
        wanted = wanted_at(function, index)
        if wanted in ("anyelement", "anynonarray"):
            plain.append(argument)
        elif isinstance(wanted, str) and wanted in _CONTAINERS and argument.type.element is not None:
            inner.append(argument.type.element)
        elif wanted == "anyarray" and argument.type == INT2VECTOR:
            inner.append(SqlType("int2"))
    if inner:
        return _element_of_containers(inner, plain)
    try:
        return common_type(plain, function.name.upper(), 0) if plain else None
    except UserError:
        return None


def _element_of_containers(inner: list[SqlType], plain: list[Expression]) -> SqlType | None:
    chosen = inner[0]
    others = [*inner[1:], *(value.type for value in plain if value.type.kind != "unknown")]
    for other in others:
        if chosen == other:
            continue
        if chosen.kind == other.kind == "numeric":
            chosen = numeric()
        elif not castable(other, chosen, "implicit"):
            if not castable(chosen, other, "implicit"):
                return None
            chosen = other
    return chosen


# Errors


def no_function(
    name: str, candidates: Sequence[Function], arguments: Sequence[Expression], at: int
) -> UserError:
    """42883, or 42725 when several entries fit equally well."""
    shown = f"{name}({', '.join(type_name(argument.type) for argument in arguments)})"
    if ambiguous(candidates, arguments):
        hint = "Could not choose a best candidate function. You might need to add explicit type casts."
        return UserError(f"function {shown} is not unique", "42725", hint=hint, position=at + 1)
    hint = "No function matches the given name and argument types. You might need to add explicit type casts."
    return UserError(f"function {shown} does not exist", "42883", hint=hint, position=at + 1)


def no_operator(
    symbol: str, candidates: Sequence[Function], arguments: Sequence[Expression], at: int
) -> UserError:
    """The same for an operator."""
    names = [type_name(argument.type) for argument in arguments]
    shown = f"{names[0]} {symbol} {names[1]}" if len(names) == 2 else f"{symbol} {names[0]}"
    casts = "You might need to add explicit type casts."
    if ambiguous(candidates, arguments):
        hint = f"Could not choose a best candidate operator. {casts}"
        return UserError(f"operator is not unique: {shown}", "42725", hint=hint, position=at + 1)
    plural = "types" if len(names) == 2 else "type"
    hint = f"No operator matches the given name and argument {plural}. {casts}"
    return UserError(f"operator does not exist: {shown}", "42883", hint=hint, position=at + 1)
