"""Room for plans as deep as the limits allow.

Plans are walked by recursion.  Their depth is bounded by the parser (EXPRESSION_DEPTH_MAX), but
Python's own bound counts every function on the way and would be met first.

Not here: the bound on what users may write (cursor.py).
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from headwater.core.errors import UserError
from headwater.core.limits import EXPRESSION_DEPTH_MAX

_FRAMES_PER_LEVEL = 40

P = ParamSpec("P")
R = TypeVar("R")


def deep(function: Callable[P, R]) -> Callable[P, R]:
    """Runs with enough frames for the deepest plan; beyond that is the user's error."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        wanted = EXPRESSION_DEPTH_MAX * _FRAMES_PER_LEVEL
        if sys.getrecursionlimit() < wanted:
            sys.setrecursionlimit(wanted)
        try:
            return function(*args, **kwargs)
        except RecursionError as error:
            raise UserError("statement is nested too deeply", "54001") from error

    return run
