"""Where a table's first rows come from: the moment as of which they are read, and from whom.

    Read       of the upstream, at a moment of its own
    Copied     of another table of ours that has all the columns
    Widened    of a narrower table of ours; only further columns are read upstream, by key
    Reread     of the upstream once more; a narrower table of ours tells whether it still has all of them

A point is fixed while its source stands at a binding, and kept in the ledger until the table is
readable: after a crash it says what was begun.  What a moment is only the kind of the upstream knows:
`at` is JSON of its own.

`seen` is what the upstream showed of the table beside its rows at that moment; later looks compare
with it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from headwater.core.errors import InvariantViolation


@dataclass(frozen=True, slots=True)
class Read:
    """All rows are read of the upstream."""

    at: Any
    seen: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Copied:
    """The rows are those of another table of ours, at the binding where the new one joins."""

    donor_id: str
    at: Any  # the frontier of that binding
    seen: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Widened:
    """The rows are those of a narrower table of ours, and some columns are read of the upstream."""

    base_id: str
    columns: tuple[str, ...]  # the reference's names of what is read, keys apart
    at: Any
    seen: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reread:
    """All rows are read of the upstream, and must be those of a narrower table of ours."""

    base_id: str
    at: Any
    seen: Mapping[str, Any] = field(default_factory=dict)


Point = Read | Copied | Widened | Reread

_TAGS: Final = {Read: "read", Copied: "copied", Widened: "widened", Reread: "reread"}


def point_text(point: Point | None) -> str:
    """A point as it is kept; the same point always has the same text."""
    match point:
        case None:
            return "null"
        case Read(at, seen):
            own: dict[str, Any] = {}
        case Copied(donor_id, at, seen):
            own = {"donor_id": donor_id}
        case Widened(base_id, columns, at, seen):
            own = {"base_id": base_id, "columns": list(columns)}
        case Reread(base_id, at, seen):
            own = {"base_id": base_id}
    return json.dumps({"rows": _TAGS[type(point)], **own, "at": at, "seen": seen}, sort_keys=True)


def point_from(text: str) -> Point | None:
    """The point that was kept as this text."""
    value = json.loads(text)
    if value is None:
        return None
    at, seen = value["at"], value["seen"]
    match value["rows"]:
        case "read":
            return Read(at, seen)
        case "copied":
            return Copied(value["donor_id"], at, seen)
        case "widened":
            return Widened(value["base_id"], tuple(value["columns"]), at, seen)
        case "reread":
            return Reread(value["base_id"], at, seen)
    raise InvariantViolation(f"a table's rows cannot be {value['rows']}")
