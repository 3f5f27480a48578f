"""CASE, in both engines."""

from __future__ import annotations

from collections.abc import Callable

from headwater.core.types import unconstrained
from headwater.sql.select.functions.forms import trimmed
from headwater.sql.select.functions.written import untrimmed
from headwater.sql.select.plan.nodes import Case, Expression


def case(engine: str, plan: Case, written: Callable[[Expression], str]) -> str:
    """The zeros of a numeric are trimmed once, behind the branches."""
    results = [written(then) for then in (*(then for _, then in plan.branches), plan.otherwise)]
    bare = [untrimmed(text) for text in results] if unconstrained(plan.type) else results
    branches = "".join(
        f" WHEN {written(when)} THEN {text}" for (when, _), text in zip(plan.branches, bare[:-1], strict=True)
    )
    made = f"(CASE{branches} ELSE {bare[-1]} END)"
    return made if bare == results else trimmed(engine, made)
