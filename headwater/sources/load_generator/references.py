"""What a generator has: its outputs as references, and columns beside them."""

from __future__ import annotations

from headwater.core.relation import Column
from headwater.sources.contract import Options, Reference
from headwater.sources.load_generator.generators import generator_of


def references(options: Options) -> tuple[Reference, ...]:
    """The outputs of a generator."""
    generator = generator_of(options)
    return tuple(output.reference(generator.name) for output in generator.outputs(options))


def single_output(options: Options) -> bool:
    """Whether there is one only."""
    return len(references(options)) == 1


def metadata_columns(options: Options) -> tuple[Column, ...]:
    """Columns that an export may name although no reference lists them: INCLUDE OFFSET's."""
    generator = generator_of(options)
    return tuple(column for output in generator.outputs(options) for column, _ in output.metadata)
