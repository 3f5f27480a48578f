"""Errors in decoding that nobody foresaw: each stays with its message, or with its table.

    a decoder raises     its batch is halved until the messages that do it are alone: these cannot be decoded
    on many of them      or wherever else changes are made: the table ends, once that has come several times
    on the machine       no memory, no file, a module that cannot be loaded: nobody's, and tried again

Decoders raise nothing (decode/contract.py), so each of these is a defect.

Not here: what is the same for all kinds (sources/unforeseen.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from headwater.core.change import Received
from headwater.core.errors import DefiniteError
from headwater.core.limits import KAFKA_UNFORESEEN_MAX
from headwater.decode.contract import Decoded, Decoder
from headwater.formats.arrow import arrow_type
from headwater.sources.contract import Export
from headwater.sources.kafka.consume import Messages, place_of
from headwater.sources.kafka.schemas import PinnedFormat
from headwater.sources.unforeseen import attempted, end_of, named, where

_HINT: Final = (
    "A defect: the cluster's log says where. What the table had before can be read AS OF an earlier time."
    " With a version that can read these messages, ALTER SOURCE {source} RESYNC reads them again; or drop the"
    " table and create it with another FORMAT."
)


@dataclass(slots=True)
class Careful:
    """A decoder that raises nothing, as long as few messages are to blame; `defects`: where it did."""

    decoder: Decoder
    pinned: PinnedFormat
    defects: list[str] = field(default_factory=list)

    def __call__(self, messages: pa.Array) -> Decoded:
        made = attempted(lambda: self.decoder(messages))
        if not isinstance(made, Exception):
            return made
        decoded = self._halved(messages, made, [KAFKA_UNFORESEEN_MAX])
        self.defects.append(where(made))
        return decoded

    def _halved(self, messages: pa.Array, error: Exception, left: list[int]) -> Decoded:
        """What can be decoded of messages that together cannot be; the error if that is too little."""
        if len(messages) <= 1:
            left[0] -= 1
            if left[0] < 0:
                raise error
            nulls = tuple(pa.nulls(len(messages), arrow_type(column.type)) for column in self.pinned.columns)
            reason = f"{self.pinned.format.upper()}: internal error: {named(error)}"
            return Decoded(nulls, pa.array([reason] * len(messages), pa.string()))
        half = len(messages) // 2
        parts = [self._part(part, left) for part in (messages[:half], messages[half:])]
        columns = zip(*(part.columns for part in parts), strict=True)
        errors = [
            pa.nulls(count, pa.string()) if part.errors is None else part.errors
            for part, count in zip(parts, (half, len(messages) - half), strict=True)
        ]
        return Decoded(tuple(map(pa.concat_arrays, columns)), pa.concat_arrays(errors))

    def _part(self, messages: pa.Array, left: list[int]) -> Decoded:
        made = attempted(lambda: self.decoder(pa.concat_arrays([messages])))
        return self._halved(messages, made, left) if isinstance(made, Exception) else made


def ended(
    export: Export, found: Messages | None, error: Exception
) -> Iterator[tuple[Export, DefiniteError | Received]]:
    """What becomes of a table of which messages could not be made changes; None: of none at all."""
    place = "", ""
    if found is not None:
        partition, offset = place_of(found.found[0])
        place = f"{partition}:{offset}", f" (from partition {partition}, offset {offset} on)"
    made = end_of(export, error, "messages were decoded", place, _HINT)
    yield export, made.error
    yield export, made.told
