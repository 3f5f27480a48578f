"""Where data files are kept: what a store promises, whichever it is.

    who makes a file                    who reads it
    create(path) --whole, durable-->    url(path)      an engine: DuckDB, Spark, Delta
                                        open(path)     ourselves
    the ledger names the path           names, remove  the sweeper, once nobody names it

A path is relative, its parts divided by "/"; layout.py says which there are, and only this package makes
them.  A folder is the beginning of paths up to a "/": it is there when something is in it; nobody makes one.

A store is a value: it is pickled with every Spark task, on whichever machine that runs, and may be used from
any thread.  Nothing is locked and nothing waits.  Two who write the same path at once are a mistake of the
caller's, except where `create` says otherwise.  Whatever cannot be done is an OSError: a FileNotFoundError
where nothing has the path.

What a store keeps is the owner's alone: it has the upstreams' rows and values of secrets in it.

Not here: what is in the files (files.py, state.py, results.py, secrets.py), which of them count (the ledger),
and what a process has on its own machine (layout.py: locks, sockets, scratch).
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import BinaryIO, Protocol

import pyarrow as pa


class DataStore(Protocol):
    """Data files by their paths."""

    def url(self, path: str) -> str:
        """What an engine opens a file by, or Delta a table's folder; people are told it too."""

    def create(
        self, path: str, *, durable: bool = True, replace: bool = True
    ) -> AbstractContextManager[BinaryIO]:
        """Write a file from its beginning to its end, with folders as needed.

        It has its path only when all that was written is there, and survives a power cut before it has it;
        the path is durable too when the block has ended.  (Not `durable`: nothing has to outlive the process
        that reads it.)  What had the path before is there, whole, until then.  Not `replace`: if anything has
        the path by then it stays, and this is a FileExistsError; of several that try at once one succeeds.

        When the block is left by an error nothing has changed.  When the process dies in it the
        path is as it was; what is left may be listed, under a name that begins with the file's and ends
        with UNFINISHED (layout.py), and is removed like any other.
        """

    def open(self, path: str) -> pa.NativeFile:
        """A file to read from, anywhere in it."""

    def size(self, path: str) -> int:
        """How many bytes a file has."""

    def names(self, folder: str) -> list[str]:
        """The names of what is in a folder, folders among them, in any order; none if it is not there.

        A file that was whole when this began is in it, unless it is being removed.
        """

    def remove(self, *paths: str) -> None:
        """Remove files; one that is not there is fine."""

    def remove_folder(self, folder: str) -> None:
        """Remove all that is in a folder, as far as that can be done; what is left is listed as before."""

    def spill(self) -> AbstractContextManager[str]:
        """A new folder on this machine for what an engine cannot keep in memory; gone in the end."""
