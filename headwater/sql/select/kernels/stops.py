"""Whose kernels they are: a statement can stop its own, and nobody else's.

DuckDB hears an interrupt between two vectors, so a kernel that takes long must be told itself.  It calls
kernels in whichever thread has time, its own threads among them, and says nothing about the query.  So
each statement has a number, and every kernel of its SQL gets it as its first argument:

    hw_numeric_add(c0, c1)  --told-->  hw_numeric_add(17, c0, c1)

The kernel then computes at the pace of statement 17 (core/pace.py), wherever it runs.  No number is given
twice, so nobody stops another's.

Not here: when a statement is stopped (coordinator/engine.py); where kernels look (kernel.py between rows,
and loops of their own where one row may take long).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Final

import pyarrow as pa

from headwater.core import pace

_NUMBERS: Final = count(1)
_RUNNING: Final[dict[int, pace.Pace]] = {}
_OVER: Final = pace.Pace()
# What is quoted is skipped: constants, and the names of a record's fields.
_CALL: Final = re.compile(r"""'[^']*'|"[^"]*"|\bhw_\w+\(""")


class Stop:
    """The means to stop the kernels of one statement; to be closed when it is over."""

    def __init__(self) -> None:
        self._number = next(_NUMBERS)
        self._pace = _RUNNING[self._number] = pace.Pace()

    def told(self, sql: str) -> str:
        """The statement's SQL, in which its kernels are told whose they are."""
        return told(sql, self._number)

    def stop(self) -> None:
        """From any thread: kernels that run end soon, and so do those that begin later."""
        self._pace.stop()

    def close(self) -> None:
        """Nothing runs any more, or what does was stopped."""
        _RUNNING.pop(self._number, None)


def told(sql: str, number: int = 0) -> str:
    """SQL in which kernels are told their statement's number; nobody can stop those of number 0."""
    if "hw_" not in sql:
        return sql
    parts: list[str] = []
    place = 0
    for found in _CALL.finditer(sql):
        if found[0][0] == "h":
            parts += (sql[place : found.end()], f"{number}, ")
            place = found.end()
    return "".join(parts) + sql[place:]


@contextmanager
def running_for(numbers: pa.ChunkedArray) -> Iterator[None]:
    """Computes at the pace of the statement with this number, which is the same in every row."""
    number = numbers[0].as_py() if len(numbers) else 0
    with pace.kept(_RUNNING.get(number, _OVER)):
        yield
