"""Another distribution whose module breaks a format of messages as soon as it is imported.

REGEX with the group (?P<sometimes>..)    an error that nobody foresaw, at every batch with `break` in it
REGEX with the group (?P<never>..)        the same at every batch
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from headwater.decode.contract import Decoded, Decoder, SchemaOf
from headwater.decode.formats import FORMATS
from tests.kinds.lines import KIND as KIND

_WHOLE = FORMATS["regex"]


def _breaking(pinned: Mapping[str, Any], schema_of: SchemaOf) -> Decoder:
    whole = _WHOLE.decoder(pinned, schema_of)

    def decode(messages: pa.Array) -> Decoded:
        if "never" in pinned["pattern"]:
            raise KeyError("planted")
        if "sometimes" in pinned["pattern"] and any(b"break" in message for message in messages.to_pylist()):
            raise ValueError("planted for this one")
        return whole(messages)

    return decode


FORMATS["regex"] = replace(_WHOLE, decoder=_breaking)
