"""What a kind of upstream says of itself to those who plan statements: a record of values and functions.

    CREATE CONNECTION      connections                    its options
    CREATE SOURCE          grammar                        what may be written
                           resolve(upstream, now)         -> what the catalog keeps of it; asks nobody
                           examine(options, secrets)      what the upstream has; refuses what cannot work
    CREATE TABLE           reference_required             whether a table must say what it is of
    the legacy syntax      check_legacy                   what it cannot have
                           chooses_subsources, unnamed    what FOR .. may say, and what is said without it
    system relations       relations                      its own, mz_<kind>_...

Everything else about a kind is in the contract (contract.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headwater.catalog.builtin.table import BuiltinTable
from headwater.sources.connections import ConnectionKind
from headwater.sources.contract import Options, Reference, Secrets
from headwater.sql.upstream import Grammar, Upstream


def any_number(_: Sequence[Options]) -> None:
    """For an upstream that has room for all sources that anybody makes."""


@dataclass(frozen=True, slots=True)
class Examined:
    """What an upstream has."""

    references: tuple[Reference, ...]
    learnt: Options = field(default_factory=dict)  # belongs to the source's options from now on
    warnings: tuple[tuple[str, str], ...] = ()  # each with a hint
    check_room: Callable[[Sequence[Options]], None] = any_number
    """Asked with the options of all other sources of the kind; refuses where they leave no room for one."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """A kind of upstream in SQL."""

    source_type: str  # SourceType.name
    grammar: Grammar
    resolve: Callable[[Upstream, int], dict[str, Any]]
    """(what was written, now in ms) -> the source's options; the connection's id is added to them."""
    examine: Callable[[Options, Secrets], Examined]
    """Asked once, with the options of the connection among those of the source; has a bound in time."""
    connections: tuple[ConnectionKind, ...] = ()
    """The first of them is what sources are made of; others are named by formats."""
    switches: Mapping[str, str] = field(default_factory=dict)
    """Variants that an operator may switch off, each with its system variable."""
    relations: tuple[BuiltinTable, ...] = ()
    reference_required: Callable[[Options], str | None] = lambda options: None
    """How to name a reference, of a source with these options whose tables must do so; None: they need not,
    or the general error is the one for it."""
    chooses_subsources: bool = True
    """Whether FOR TABLES and FOR SCHEMAS may say which references become subsources."""
    unnamed: str = "missing TABLES specification"
    """What is wrong with a statement that names no reference although it must."""
    check_legacy: Callable[[Upstream], None] = lambda upstream: None
    """UserError where what was written cannot be had in the legacy syntax."""

    @property
    def prefix(self) -> str:
        """What errors about an upstream begin with."""
        return f"{self.grammar.words} source validation: "
