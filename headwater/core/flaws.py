"""Flaws: values of a row that could not be stored, as files keep them.

A row that came with such a value has NULL in its place, and its flaws in a column of their own, a text:

    {"column": "the value as the upstream prints it", ...}
    {"why": {"column": "reason", ...}, "at": "position upstream"}
    timestamp at which it came

The first line is part of the row: where rows have no key, one that goes is the one that came only if both
have the same.  The other lines are told to people.  Text has no line breaks inside of JSON.

    "" as a column   the row as a whole: a message of which nothing could be read

Not here: what is done about them (cluster/tasks.py, coordinator/value_errors.py), how they combine
(persist/combine.py).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Flaw:
    """A value that could not be stored, and why."""

    value: str
    why: str


@dataclass(frozen=True, slots=True)
class Flaws:
    """Those of one row."""

    columns: Mapping[str, Flaw]
    position: str
    ts: int = 0  # 0: not committed yet


def to_text(flaws: Flaws) -> str:
    """As a source tells of them: without a timestamp."""
    values = {name: flaw.value for name, flaw in flaws.columns.items()}
    told = {"why": {name: flaw.why for name, flaw in flaws.columns.items()}, "at": flaws.position}
    return f"{_line(values)}\n{_line(told)}"


def from_text(text: str) -> Flaws:
    """What a file has."""
    first, second, *rest = text.split("\n")
    values, told = json.loads(first), json.loads(second)
    columns = {name: Flaw(value, told["why"].get(name, "")) for name, value in values.items()}
    return Flaws(columns, told["at"], int(rest[0]) if rest else 0)


def _line(value: Mapping[str, object]) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
