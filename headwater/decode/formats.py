"""All formats of messages, by name."""

from __future__ import annotations

from typing import Final

from headwater.decode.avro import AVRO
from headwater.decode.contract import Format
from headwater.decode.csv import CSV
from headwater.decode.json import JSON
from headwater.decode.protobuf import PROTOBUF
from headwater.decode.regex import REGEX
from headwater.decode.text import BYTES, TEXT

FORMATS: Final[dict[str, Format]] = {
    format_.name: format_ for format_ in (AVRO, BYTES, CSV, JSON, PROTOBUF, REGEX, TEXT)
}

COMPOSITE: Final = frozenset({"avro", "csv", "regex", "protobuf"})
"""Formats whose columns have names of their own."""
