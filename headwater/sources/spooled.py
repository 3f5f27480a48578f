"""A log that has arrived and has not been read yet, as bytes: in memory, and in files once it is long.

    Held      bytes of a stretch of the log, as they are added and cut
    Stored    the same as a plain value, for tasks
    Files     where a spool's long stretches lie, until ticks have read them

Not here: what the bytes say, and who may touch them from which thread (spool.py of each kind).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from headwater.core.clock import unique_name


@dataclass(frozen=True, slots=True)
class Stored:
    """Bytes that are here or in a file."""

    data: bytes
    path: str | None = None  # of the file that has them, when they are not here
    offset: int = 0
    size: int = 0  # of them in the file

    def load(self) -> bytes:
        if self.path is None:
            return self.data
        with Path(self.path).open("rb") as file:
            file.seek(self.offset)
            return file.read(self.size)


@dataclass(slots=True)
class Held:
    """Bytes that nobody has read yet: all of them in memory, or all in a file."""

    data: bytearray = field(default_factory=bytearray)
    path: Path | None = None
    offset: int = 0
    size: int = 0

    def add(self, data: bytes) -> None:
        """More of them, in memory."""
        self.data += data
        self.size += len(data)

    def cut(self, at: int) -> tuple[Held, Held]:
        """The first so many, and the rest."""
        before = Held(self.data[:at], self.path, self.offset, at)
        offset = 0 if self.path is None else self.offset + at
        return before, Held(self.data[at:], self.path, offset, self.size - at)

    def stored(self) -> Stored:
        """As they are now."""
        return Stored(bytes(self.data), None if self.path is None else str(self.path), self.offset, self.size)


class Files:
    """The files of one spool."""

    def __init__(self, folder: Path, ending: str) -> None:
        self._folder = folder
        self._ending = ending
        self._handed: list[Path] = []  # a tick is reading these

    def spill(self, held: Held) -> None:
        """Bytes from memory into a file of their own."""
        self._folder.mkdir(parents=True, exist_ok=True)
        held.path = self._folder / f"{unique_name()[:16]}.{self._ending}"
        held.path.write_bytes(held.data)
        held.data = bytearray()

    def hand(self, held: Held) -> None:
        """A tick reads these bytes; their file stays until `done`."""
        if held.path is not None and held.path not in self._handed:
            self._handed.append(held.path)

    def done(self, waiting: Iterable[Held]) -> list[Path]:
        """What was handed has been read: files that nothing of what is waiting lies in."""
        needed = {held.path for held in waiting}
        gone = [path for path in self._handed if path not in needed]
        self._handed = [path for path in self._handed if path in needed]
        return gone

    def all(self, waiting: Iterable[Held]) -> list[Path]:
        """Every file that there is."""
        return [*{*self._handed, *(held.path for held in waiting if held.path is not None)}]


def unlink(paths: Iterable[Path]) -> None:
    """Files that nobody needs any more."""
    for path in paths:
        path.unlink(missing_ok=True)
