"""One environment per data directory.

The lock is the operating system's (flock), so it goes with the process that holds
it, however that ends.  The pid in the file is for the message only.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType

from headwater.core.errors import InvariantViolation, UserError
from headwater.persist.layout import environment_lock


class DataDirectoryLock:
    """Holds `<data directory>/environment.lock` from `acquire` to `release`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Take the lock; UserError naming the holder when somebody has it."""
        if self._descriptor is not None:
            raise InvariantViolation(f"the lock on {self._directory} is already held here")
        path = environment_lock(self._directory)
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UserError(
                f'data directory "{self._directory}" cannot be written: {error.strerror}',
                "58030",
                hint="Make it writable for this user, or start the server with another --data-dir.",
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 32).decode("ascii", "replace").strip() or "unknown"
            os.close(descriptor)
            raise UserError(
                f'data directory "{self._directory}" is in use by process {holder}',
                "55006",
                detail="Two servers on one data directory would overwrite each other's work.",
                hint=f"Stop process {holder}, or start this server with another --data-dir.",
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode("ascii"), 0)
        self._descriptor = descriptor

    def release(self) -> None:
        """Let go; the file stays, because removing it would let two processes lock two files."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> DataDirectoryLock:
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()
