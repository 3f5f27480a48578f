"""UNION, INTERSECT and EXCEPT over rows that may be equal without being the same.

The engines' own compare whole rows as they are, and 1.50 and 1.5 are two texts.  Here the rows of
both sides stand under each other and are grouped by keys that are equal just when the rows are; a
group says whether it has rows of the left and of the right side, and shows one of the left if it
has any.  With ALL the first of equal rows of one side meets the first of the other, the second the
second, and so on.

The text is the same for both engines.

Not here: what a row's keys are (functions/comparisons.py).
"""

from __future__ import annotations

from collections.abc import Callable

from headwater.sql.select.plan.nodes import SetOperation


def matched(
    node: SetOperation, sides: tuple[str, str], names: list[str], keys: list[str], fresh: Callable[[], str]
) -> str:
    """A SELECT of the rows of either side, or of those of the left that have, or have not, their like.

    `sides` are SELECTs of columns that are called `names`; `keys` are expressions over those.
    """
    left = fresh()
    marks = [fresh() for _ in keys]
    computed = ", ".join(f"{key} AS {mark}" for key, mark in zip(keys, marks, strict=True))
    both = " UNION ALL ".join(
        f"SELECT *, {is_left} AS {left} FROM ({side})"
        for side, is_left in zip(sides, ("TRUE", "FALSE"), strict=True)
    )
    rows = f"SELECT *, {computed} FROM ({both})"
    if node.all:
        turn = fresh()
        parts = ", ".join((left, *marks))
        rows = f"SELECT *, row_number() OVER (PARTITION BY {parts} ORDER BY {left}) AS {turn} FROM ({rows})"
        marks.append(turn)
    values = ", ".join(
        f"coalesce(any_value({name}) FILTER (WHERE {left}), any_value({name})) AS {name}" for name in names
    )
    wanted = {
        "union": "TRUE",
        "intersect": f"bool_or({left}) AND bool_or(NOT {left})",
        "except": f"bool_and({left})",
    }
    return f"SELECT {values} FROM ({rows}) GROUP BY {', '.join(marks)} HAVING {wanted[node.kind]}"
