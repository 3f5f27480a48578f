"""What a source or table has done since this process started, for statistics."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headwater.core.change import FileEntry


@dataclass(slots=True)
class Counters:
    """What a source or table has done since this process started."""

    messages_received: int = 0
    bytes_received: int = 0
    updates_staged: int = 0
    updates_committed: int = 0
    gauges: dict[str, Any] = field(default_factory=dict)

    def add(self, files: list[FileEntry]) -> None:
        rows, size = sum(f.rows for f in files), sum(f.bytes for f in files)
        self.messages_received += rows
        self.bytes_received += size
        self.updates_staged += rows
        self.updates_committed += rows

    def values(self) -> dict[str, Any]:
        return {
            "messages_received": self.messages_received,
            "bytes_received": self.bytes_received,
            "updates_staged": self.updates_staged,
            "updates_committed": self.updates_committed,
            **self.gauges,
        }
