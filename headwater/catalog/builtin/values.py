"""Values of system relations in their stored forms."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from headwater.catalog.builtin.table import Columns
from headwater.formats import jsonb as jsonb_text


def moment(milliseconds: int | None) -> int | None:
    """A `timestamptz`: microseconds since the epoch."""
    return None if milliseconds is None else milliseconds * 1_000


def duration(milliseconds: int | None) -> dict[str, int] | None:
    """An `interval` without months or days."""
    return None if milliseconds is None else {"months": 0, "days": 0, "microseconds": milliseconds * 1_000}


def jsonb(value: object) -> str:
    """The canonical text of a JSON value."""
    return jsonb_text.canonical_jsonb(json.dumps(value))


def canonical_jsonb(text: str | None) -> str | None:
    """The same for what is JSON text already."""
    return None if text is None else jsonb_text.canonical_jsonb(text)


def transposed(names: Sequence[str], rows: Iterable[Sequence[object]]) -> Columns:
    """Column-wise from row-wise, for relations whose rows are made one at a time."""
    columns: list[list[object]] = [list(values) for values in zip(*rows, strict=True)]
    return dict(zip(names, columns or [[] for _ in names], strict=True))
