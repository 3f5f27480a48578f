"""One entry of the function table: a signature and how each engine spells it.

A function, operator, aggregate, window function, table function or cast that is
not an entry does not exist: the binder answers 0A000 or `function ... does not
exist`, nothing is ever passed through to an engine.

An engine's form is a template in which `{0}`, `{1}` stand for the arguments (in
that engine's working types), or a function from the argument texts and types to
text for what a template cannot say.  A missing form means that a plan with this
entry can only go to the other engine.

Templates may call kernels (`hw_...`), our own column-wise functions in
`sql/select/kernels/`, which are registered in both engines under the same name,
so that where the engines differ from PostgreSQL or from each other one piece of
Python gives one answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from headwater.core.types import SqlType

Form: TypeAlias = "str | Callable[[tuple[str, ...], tuple[SqlType, ...]], str]"
TypeRule: TypeAlias = "SqlType | Callable[[tuple[SqlType, ...]], SqlType]"

# Wanted argument types: an exact type, or one of PostgreSQL's pseudo-types by name
# ("anyelement", "anyarray", "anynonarray", "any"), or "numeric" for a numeric of any scale.
Wanted: TypeAlias = "SqlType | str"

Shape = Literal["scalar", "operator", "aggregate", "window", "table"]


@dataclass(frozen=True, slots=True)
class Function:
    """A signature with its forms.

    `name` is the SQL name, or the symbol for an operator (`+`; a prefix operator has one
    argument).  Strict functions answer NULL when any argument is NULL: the generators rely
    on the engine for that unless `null_guard` asks them to wrap the form in a CASE.
    """

    name: str
    arguments: tuple[Wanted, ...]
    returns: TypeRule
    duckdb: Form | None
    spark: Form | None
    shape: Shape = "scalar"
    variadic: bool = False  # the last argument may be repeated
    null_guard: bool = False
    columns: tuple[tuple[str, TypeRule], ...] = field(default=())  # table functions: what they put out
    zoned: bool | Function = False
    """Whether the answer depends on the session's zone.  If it does, forms find the zone in the types of
    arguments that hold moments; where no argument does, it is this other function that is called, with
    the zone as one more argument."""

    def return_type(self, arguments: tuple[SqlType, ...]) -> SqlType:
        return self.returns if isinstance(self.returns, SqlType) else self.returns(arguments)
