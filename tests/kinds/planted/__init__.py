"""Another distribution whose module breaks decoders as soon as it is imported.

REGEX with the group (?P<sometimes>..)    an error that nobody foresaw, at every batch with `break` in it
REGEX with the group (?P<never>..)        the same at every batch
jsonb of PostgreSQL, json of MySQL        the same at every value with `break` in it
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from headwater.core.types import JSONB, SqlType
from headwater.decode.contract import Decoded, Decoder, SchemaOf
from headwater.decode.formats import FORMATS
from headwater.formats.text import from_text
from headwater.sources.mysql import values
from headwater.sources.postgres import flaws
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


def _breaking_from_text(texts: pa.Array, type_: SqlType) -> pa.Array:
    if type_ == JSONB and any(text is not None and "break" in text for text in texts.to_pylist()):
        raise KeyError("planted")
    return from_text(texts, type_)


for module in (flaws, values):
    vars(module)["from_text"] = _breaking_from_text
