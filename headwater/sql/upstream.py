"""Upstreams: what may follow FROM in CREATE SOURCE.

    LOAD GENERATOR AUCTION (TICK INTERVAL '1s')
    POSTGRES CONNECTION c (PUBLICATION 'p')
    words    variant or connection   options

What a kind of upstream looks like in SQL is a value, its `Grammar`, which whoever knows the kind
registers (sources/dialects.py).  What was written is a value too, an `Upstream`, of the same shape for
all kinds: whoever only moves, renames or shows it need not know which one it is.

Not here: what the options mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from headwater.core.errors import InvariantViolation, UserError
from headwater.sql.cursor import Cursor, Name
from headwater.sql.options import (
    OptionReader,
    exclude_or_ignore,
    field_of,
    parse_options,
    qualified_names,
    render_values,
)
from headwater.sql.words import Branch, tree

TEXT_COLUMNS: Final = "TEXT COLUMNS"
EXCLUDE_COLUMNS: Final = "EXCLUDE COLUMNS"
COLUMN_OPTIONS: Final[Mapping[str, OptionReader]] = {
    TEXT_COLUMNS: qualified_names,
    EXCLUDE_COLUMNS: qualified_names,
}
"""Options of kinds whose tables have columns to choose from.

They belong to statements that also create tables; they are read in all, so that whoever writes them
is told where they belong."""

_REFUSED: Final = {
    "SQL SERVER": "SQL SERVER sources not supported",
    "WEBHOOK": "WEBHOOK sources not supported in this form",
}
_REFUSED_HIDDEN: Final = {"FILE": "FILE sources not supported"}


@dataclass(frozen=True, slots=True)
class Grammar:
    """What is written of a kind of upstream."""

    words: str
    options: Mapping[str, OptionReader] = field(default_factory=dict)
    variants: tuple[str, ...] = ()  # one of these comes after the words
    connected: bool = False  # CONNECTION and a name come after the words
    unwritten: tuple[str, ...] = ()  # options that are read, but never kept
    single: Callable[[Upstream], bool] = lambda upstream: False  # whether it has one output only


@dataclass(frozen=True, slots=True)
class Upstream:
    """What was written; `options` in the order of the grammar."""

    words: str
    variant: str | None = None
    connection: Name | None = None
    options: tuple[tuple[str, Any], ...] = ()

    def option(self, name: str) -> Any:
        """The value of an option; None if it was not written."""
        return dict(self.options).get(name)

    def columns(self, option: str) -> tuple[Name, ...]:
        """The columns that TEXT or EXCLUDE COLUMNS names."""
        return self.option(option) or ()

    @property
    def single(self) -> bool:
        """Whether there is one output only, as far as what is written tells."""
        return _GRAMMARS[self.words].single(self)

    def with_options(self, values: Mapping[str, Any]) -> Upstream:
        """With these options; None and nothing take one away."""
        merged = {**dict(self.options), **values}
        kept = ((name, merged.get(name)) for name in _GRAMMARS[self.words].options)
        return replace(self, options=tuple(pair for pair in kept if pair[1] is not None and pair[1] != ()))

    def without_columns(self) -> Upstream:
        """Without what it says of columns."""
        return self.with_options(dict.fromkeys(COLUMN_OPTIONS))

    def render(self) -> str:
        connection = None if self.connection is None else f"CONNECTION {self.connection}"
        options = render_values(self.options)
        parts = (self.words, self.variant, connection, f"({options})" if options else None)
        return " ".join(part for part in parts if part is not None)


_GRAMMARS: dict[str, Grammar] = {}


def register(grammar: Grammar) -> None:
    """From now on it may be written."""
    if _GRAMMARS.setdefault(grammar.words, grammar) is not grammar:
        raise InvariantViolation(f"two kinds of upstreams are called {grammar.words}")


def parse_upstream(cursor: Cursor) -> Upstream:
    """What comes after FROM."""
    position = cursor.error_position()
    kind = cursor.choose(_kinds())
    if isinstance(kind, str):
        raise UserError(kind, "0A000", position=position)
    return _parse(cursor, kind)


def _kinds() -> Branch[Grammar | str]:
    known: list[tuple[str, Grammar | str]] = list(_GRAMMARS.items())
    return tree((*known, *_REFUSED.items()), hidden=_REFUSED_HIDDEN.items())


def _parse(cursor: Cursor, grammar: Grammar) -> Upstream:
    variant = cursor.choose(tree((name, name) for name in grammar.variants)) if grammar.variants else None
    connection = None
    if grammar.connected:
        cursor.expect("CONNECTION")
        connection = cursor.name()
    position = cursor.error_position()
    options = parse_options(cursor, grammar.options) if cursor.at_symbol("(") else {}
    exclude_or_ignore(options, position)
    values = {name: options.get(field_of(name)) for name in grammar.options if name not in grammar.unwritten}
    return Upstream(grammar.words, variant, connection).with_options(values)
