"""Data files in the data directory, on a file system that all processes of the product see.

    write <name>.<unique>.unfinished --sync--> rename to <name> --sync the folder-->

Files have mode 0600 and folders 0700, whatever the process makes others with.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

import pyarrow as pa

from headwater.core.clock import unique_name
from headwater.persist.layout import UNFINISHED, spill_folder
from headwater.persist.private import FILE_MODE, FOLDER_MODE
from headwater.persist.store import DataStore


@dataclass(frozen=True, slots=True)
class LocalStore(DataStore):
    """Files below one directory."""

    root: Path

    def url(self, path: str) -> str:
        return f"{self.root}/{path}"

    @contextmanager
    def create(self, path: str, *, durable: bool = True, replace: bool = True) -> Iterator[BinaryIO]:
        target = self.url(path)
        unfinished = f"{target}.{unique_name()[:8]}{UNFINISHED}"
        descriptor = _new_file(unfinished)
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                if durable:
                    os.fsync(descriptor)
            if replace:
                os.replace(unfinished, target)
            else:
                os.link(unfinished, target)
                os.unlink(unfinished)
        except BaseException:
            with suppress(OSError):  # what stays behind is swept
                os.unlink(unfinished)
            raise
        if durable:
            _sync_folder(os.path.dirname(target))

    def open(self, path: str) -> pa.NativeFile:
        return pa.OSFile(self.url(path))

    def size(self, path: str) -> int:
        return os.stat(self.url(path)).st_size

    def names(self, folder: str) -> list[str]:
        try:
            return os.listdir(self.url(folder))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def remove(self, *paths: str) -> None:
        for path in paths:
            with suppress(FileNotFoundError):
                os.unlink(self.url(path))

    def remove_folder(self, folder: str) -> None:
        shutil.rmtree(self.url(folder), ignore_errors=True)

    @contextmanager
    def spill(self) -> Iterator[str]:
        spilled = spill_folder(self.root)
        _make_folder(spilled)
        with TemporaryDirectory(dir=spilled, ignore_cleanup_errors=True) as folder:
            yield folder


def _new_file(path: str) -> int:
    """A descriptor; the folder is made if there is none."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        return os.open(path, flags, FILE_MODE)
    except FileNotFoundError:
        _make_folder(Path(path).parent)
        return os.open(path, flags, FILE_MODE)


def _make_folder(folder: Path) -> None:
    if not folder.is_dir():
        _make_folder(folder.parent)
        with suppress(FileExistsError):  # by another process; or it is a file, as opening one in it will say
            folder.mkdir(FOLDER_MODE)


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
