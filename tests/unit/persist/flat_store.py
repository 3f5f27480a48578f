"""A second store, for tests: one folder of objects under names of any length, as object stores have them.

It has no folders of its own and keeps nothing that is unfinished where it could be listed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO
from urllib.parse import quote, unquote

import pyarrow as pa

from headwater.persist.store import DataStore


@dataclass(frozen=True)
class FlatStore(DataStore):
    root: Path

    def url(self, path: str) -> str:
        return str(self.root / quote(path, safe=""))

    @contextmanager
    def create(self, path: str, *, durable: bool = True, replace: bool = True) -> Iterator[BinaryIO]:
        with TemporaryDirectory(dir=self.root.parent) as folder:
            made = Path(folder) / "made"
            with made.open("wb") as file:
                yield file
            (os.replace if replace else os.link)(made, self.url(path))

    def open(self, path: str) -> pa.NativeFile:
        return pa.OSFile(self.url(path))

    def size(self, path: str) -> int:
        return os.stat(self.url(path)).st_size

    def _below(self, folder: str) -> list[str]:
        return [path for path in map(unquote, os.listdir(self.root)) if path.startswith(f"{folder}/")]

    def names(self, folder: str) -> list[str]:
        return sorted({path.removeprefix(f"{folder}/").split("/")[0] for path in self._below(folder)})

    def remove(self, *paths: str) -> None:
        for path in paths:
            Path(self.url(path)).unlink(missing_ok=True)

    def remove_folder(self, folder: str) -> None:
        self.remove(*self._below(folder))

    @contextmanager
    def spill(self) -> Iterator[str]:
        with TemporaryDirectory() as folder:
            yield folder
