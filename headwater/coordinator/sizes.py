"""Sizes, as values of variables: bytes with or without a unit."""

from __future__ import annotations

import re

from headwater.core.limits import STATEMENT_MEMORY_BYTES_MIN


def size(text: str) -> str:
    """Bytes, with or without a unit, as they were written."""
    match = re.fullmatch(r"([0-9]{1,15}) *(B|kB|MB|GB|TB)?", text.strip(), re.IGNORECASE)
    if match is None:
        raise ValueError("a number of bytes, or one with a unit: B, kB, MB, GB or TB")
    unit = {"b": "B", "kb": "kB", "mb": "MB", "gb": "GB", "tb": "TB"}[(match[2] or "B").lower()]
    return f"{int(match[1])}{unit}"


def statement_memory(text: str) -> str:
    """A size that something can be computed in; 0 is none."""
    try:
        count = size_bytes(size(text))
    except ValueError:
        count = -1
    if count and count < STATEMENT_MEMORY_BYTES_MIN:
        raise ValueError(f"a size such as '256MB', of at least {STATEMENT_MEMORY_BYTES_MIN >> 20}MB, or 0")
    return size(text)


def size_bytes(text: str) -> int:
    """Bytes of a size's canonical text."""
    number, unit = text.rstrip("BkMGT"), text.lstrip("0123456789")
    return int(number) << {"B": 0, "kB": 10, "MB": 20, "GB": 30, "TB": 40}[unit]
