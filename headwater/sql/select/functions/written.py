"""What the writer of a text knows of it, told along with it.

An expression of a plan becomes a text of an engine's SQL, and forms put texts into texts.  Whoever puts
one in may ask what it is, and never looks at its characters:

    Simple    a column, a constant, or little computed of these by the engine itself
    Column    a column's name
    Literal   a constant; `value` is its canonical text
    Trimmed   a numeric whose needless zeros are taken away; `bare` is the text that has them
    Guarded   a decimal that was computed, with the inputs that may be NaN

Whatever is put together of texts by anybody else is a plain str, of which nothing is known.  Which kernels
are called by a whole text is noted while it is written (`calling`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Final

_WEIGHT_MAX: Final = 3
_KERNEL: Final = re.compile(r"\bhw_\w+")
_CALLED: Final[ContextVar[list[str] | None]] = ContextVar("called", default=None)


class Simple(str):
    """Cheap to compute and short: it may be written several times.  `weight` counts columns and constants."""

    __slots__ = ("weight",)
    weight: int


class Column(Simple):
    """The name of a column."""

    __slots__ = ()


class Literal(Simple):
    """A constant.  None is the value of NULL."""

    __slots__ = ("value",)
    value: str | None


class Trimmed(str):
    """A numeric's text without needless zeros."""

    __slots__ = ("bare",)
    bare: str


class Guarded(str):
    """A computed decimal, with the inputs that may be NaN and what is computed of them if none is.

    So that a sum of sums asks once of each input, and its text does not grow with its depth.
    """

    __slots__ = ("computed", "inputs")
    inputs: tuple[tuple[str, int], ...]
    computed: str


def simple(text: str) -> Simple:
    """A part of a column."""
    made = Simple(text)
    made.weight = 1
    return made


def named_column(name: str) -> Column:
    """A column."""
    made = Column(name)
    made.weight = 1
    return made


def literal(text: str, value: str | None) -> Literal:
    """A constant."""
    made = Literal(text)
    made.weight, made.value = 1, value
    return made


@contextmanager
def calling() -> Iterator[list[str]]:
    """Collects the kernels that are called by what is written meanwhile."""
    called: list[str] = []
    token = _CALLED.set(called)
    try:
        yield called
    finally:
        _CALLED.reset(token)
        for kernel in called:
            note(kernel)


def note(kernel: str) -> None:
    """Whoever writes a kernel's call tells it."""
    called = _CALLED.get()
    if called is not None:
        called.append(kernel)


def used(template: str) -> str:
    """A template of the function table that is about to be filled, which may call kernels."""
    for kernel in _kernels(template):
        note(kernel)
    return template


@cache
def _kernels(template: str) -> tuple[str, ...]:
    return tuple(_KERNEL.findall(template))


@cache
def of_the_engine(template: str) -> bool:
    """Whether a template is of the engine's own functions alone: no kernel, no aggregate."""
    return not _kernels(template) and "<<" not in template


def may_have_lambda(form: object) -> bool:
    """Whether what a form makes of its arguments may have a lambda, in which Spark takes no query."""
    return not isinstance(form, str) or _has_lambda(form)


@cache
def _has_lambda(template: str) -> bool:
    return " -> " in template


def native(text: str, *parts: str) -> str:
    """What the engine itself computes of these parts: simple if they are, and few."""
    weight = sum(part.weight if isinstance(part, Simple) else _WEIGHT_MAX + 1 for part in parts)
    if weight > _WEIGHT_MAX:
        return text
    made = Simple(text)
    made.weight = weight
    return made


def trimming(bare: str, around: tuple[str, str]) -> Trimmed:
    """A numeric whose zeros are taken away by what is put around it."""
    before, behind = around
    made = Trimmed(f"{before}{bare}{behind}")
    made.bare = bare
    return made


def guarded(text: str, inputs: tuple[tuple[str, int], ...], computed: str) -> Guarded:
    """A decimal that was computed of these inputs, each with its scale."""
    made = Guarded(text)
    made.inputs, made.computed = inputs, computed
    return made


def untrimmed(text: str) -> str:
    """The text of a numeric with the zeros that were about to be taken away."""
    return text.bare if isinstance(text, Trimmed) else text
