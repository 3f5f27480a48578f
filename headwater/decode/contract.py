"""What a format of messages is: columns that it makes, and a function from bytes to them, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headwater.core.relation import Column


@dataclass(frozen=True, slots=True)
class Decoded:
    """A batch of messages as columns."""

    # In stored form, one for each Column; NULL throughout where the message is bad.
    columns: tuple[pa.Array, ...]
    # Text: why a message could not be decoded; NULL where it could.  None: all could.
    errors: pa.Array | None = None


SchemaOf = Callable[[int], str]
"""The text of the registry's schema with an id; UserError if there is none, TransientError if nobody says."""

Decoder = Callable[[pa.Array], Decoded]
"""Of a binary column without NULLs."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format as a record of functions; `pinned` is what the catalog keeps of it, as JSON values."""

    name: str
    columns: Callable[[Mapping[str, Any]], tuple[Column, ...]]  # of `pinned`
    decoder: Callable[[Mapping[str, Any], SchemaOf], Decoder]
