"""Load generators: upstreams that are arithmetic.

A generator is a sequence of transactions numbered by offset 0, 1, 2, ...; the
number of those that exist follows the wall clock from the moment of creation, so
the upstream goes on while nobody reads it, as a real one does.

    options.py      what was written in SQL -> the facts kept in the catalog
    pace.py         wall clock <-> offsets
    generator.py    what a generator is: outputs, each a function of offsets
    read.py         cut ranges into parts, make batches (the contract's functions)
    generators.py   the list of them; one file each
    chance.py deck.py columns.py lexicon.py      random numbers, sizes, Arrow columns, words

Every value is a function of (seed, offset): nothing is remembered between two
rows, so any range can be made anywhere, again, and is the same.
"""

from __future__ import annotations

from typing import Any

from headwater.core.frontier import Frontier, OffsetFrontier
from headwater.core.relation import Column
from headwater.core.types import UINT8
from headwater.sources.contract import Options, Reference, SourceType
from headwater.sources.load_generator import read
from headwater.sources.load_generator.generators import generator_of
from headwater.sources.load_generator.options import OPTION_NAMES, OPTIONS_BY_GENERATOR, resolve_options

__all__ = [
    "LOAD_GENERATOR",
    "OPTIONS_BY_GENERATOR",
    "OPTION_NAMES",
    "metadata_columns",
    "resolve_options",
]


def _start(options: Options) -> Frontier:
    return OffsetFrontier(0)


def _references(options: Options) -> tuple[Reference, ...]:
    generator = generator_of(options)
    return tuple(output.reference(generator.name) for output in generator.outputs(options))


def metadata_columns(options: Options) -> tuple[Column, ...]:
    """Columns that an export may name although no reference lists them: INCLUDE OFFSET's."""
    generator = generator_of(options)
    return tuple(column for output in generator.outputs(options) for column, _ in output.metadata)


def _progress_rows(frontier: Any) -> list[tuple[Any, ...]]:
    return [(OffsetFrontier.from_json(frontier).offset,)]


LOAD_GENERATOR = SourceType(
    name=read.SOURCE_TYPE,
    progress_columns=(Column("offset", UINT8),),
    progress_rows=_progress_rows,
    frontier_from_json=OffsetFrontier.from_json,
    start=_start,
    references=_references,
    probe=read.probe,
    plan_read=read.plan_read,
    read=read.read,
    plan_snapshot=read.plan_snapshot,
    snapshot=read.snapshot,
    offset=read.offset_of,
)
