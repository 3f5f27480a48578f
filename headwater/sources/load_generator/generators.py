"""All generators by name: the one place to add a line for a new one."""

from __future__ import annotations

from headwater.core.errors import InvariantViolation
from headwater.sources.contract import Options
from headwater.sources.load_generator.auction import AUCTION
from headwater.sources.load_generator.clock import CLOCK
from headwater.sources.load_generator.counter import COUNTER
from headwater.sources.load_generator.datums import DATUMS
from headwater.sources.load_generator.generator import Generator, Output
from headwater.sources.load_generator.key_value import KEY_VALUE
from headwater.sources.load_generator.marketing import MARKETING
from headwater.sources.load_generator.tpch import TPCH

GENERATORS: dict[str, Generator] = {
    generator.name: generator for generator in (AUCTION, CLOCK, COUNTER, DATUMS, KEY_VALUE, MARKETING, TPCH)
}


def generator_of(options: Options) -> Generator:
    """The generator a source was made with."""
    return GENERATORS[options["generator"]]


def output_of(options: Options, path: tuple[str, ...]) -> Output:
    """The output behind a reference's path."""
    generator = generator_of(options)
    for output in generator.outputs(options):
        if output.reference(generator.name).path() == path:
            return output
    raise InvariantViolation(f"load generator {generator.name} has no output {'.'.join(path)}")
