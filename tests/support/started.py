"""A server of an upstream that a test starts, in a folder of its own, and that ends with the test."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Self


class Started(ABC):
    """`with` starts and ends it; what it says is in the file `log` of its folder."""

    directory: Path

    @abstractmethod
    def start(self) -> object:
        """Wait until it answers."""

    @abstractmethod
    def stop(self) -> None:
        """End it and remove its files."""

    def log(self) -> str:
        """What it has said."""
        log = self.directory / "log"
        return log.read_text(errors="replace") if log.exists() else "(no log)"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
