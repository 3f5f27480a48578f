"""LOAD GENERATOR: data made up as it goes, for trying things out.

    LOAD GENERATOR {AUCTION | MARKETING | TPCH | COUNTER | CLOCK | DATUMS | KEY VALUE} [(option, ...)]

Not here: which options go with which generator, and the generators themselves
(sources/load_generator).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.sql.cursor import Cursor
from headwater.sql.options import (
    Duration,
    OptionReader,
    boolean,
    duration,
    field_of,
    integer,
    number,
    parse_options,
    render_options,
)
from headwater.sql.words import tree

OPTIONS: Final[dict[str, OptionReader]] = {
    "TICK INTERVAL": duration,
    "AS OF": integer,
    "UP TO": integer,
    "SCALE FACTOR": number,
    "MAX CARDINALITY": integer,
    "KEYS": integer,
    "SNAPSHOT ROUNDS": integer,
    "TRANSACTIONAL SNAPSHOT": boolean,
    "VALUE SIZE": integer,
    "SEED": integer,
    "PARTITIONS": integer,
    "BATCH SIZE": integer,
}

_GENERATORS: Final = ("AUCTION", "MARKETING", "TPCH", "COUNTER", "CLOCK", "DATUMS", "KEY VALUE")
_NAMES: Final = tree((name, name) for name in _GENERATORS)


@dataclass(frozen=True, slots=True)
class LoadGenerator:
    """A generator by its words (`KEY VALUE`), and its options; None is not said."""

    generator: str
    tick_interval: Duration | None = None
    as_of: int | None = None
    up_to: int | None = None
    scale_factor: float | None = None
    max_cardinality: int | None = None
    keys: int | None = None
    snapshot_rounds: int | None = None
    transactional_snapshot: bool | None = None
    value_size: int | None = None
    seed: int | None = None
    partitions: int | None = None
    batch_size: int | None = None

    def written(self) -> dict[str, int | float | bool | str]:
        """The options that were written, by their names in SQL; an interval is its text."""
        values = {option: getattr(self, field_of(option)) for option in OPTIONS}
        return {
            option: value.text if isinstance(value, Duration) else value
            for option, value in values.items()
            if value is not None
        }

    def render(self) -> str:
        options = render_options(self, OPTIONS)
        return f"LOAD GENERATOR {self.generator}" + (f" ({options})" if options else "")


def parse(cursor: Cursor) -> LoadGenerator:
    """What comes after LOAD GENERATOR."""
    generator = cursor.choose(_NAMES)
    options = parse_options(cursor, OPTIONS) if cursor.at_symbol("(") else {}
    return LoadGenerator(generator, **options)
