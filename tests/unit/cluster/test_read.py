"""Peeks on Spark: a cancelled one says nothing more, and a driver that is gone is noticed by whoever cancels.

Method: a Reader whose Spark has gone, with a peek under way.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError

from headwater.cluster.read import Reader, Run
from headwater.core.protocol import CancelPeek, Peek, PeekDone
from headwater.persist.local import LocalStore


class GoneSpark:
    """Every way to the JVM ends like this."""

    def __getattr__(self, name: str) -> Any:
        raise Py4JError("the JVM has gone")


def peek(attempt: int = 1) -> Peek:
    return Peek("p1", "SELECT 1", {}, {}, "reads", attempt=attempt)


@pytest.fixture
def lost() -> list[Exception]:
    return []


def reader_with(run: Run, tmp_path: Path, lost: list[Exception]) -> Reader:
    spark: Any = GoneSpark()
    reader = Reader(spark, LocalStore(tmp_path), lambda _: None, lost.append)
    reader._running[run.peek.peek_id] = run
    return reader


def test_a_cancelled_peek_has_nothing_more_to_say() -> None:
    said: list[Sequence[tuple[Any, bytes]]] = []
    run = Run(peek(), said.append)
    run.report((PeekDone("p1"), b""))
    run.cancelled.set()
    run.report((PeekDone("p1"), b""))
    assert said == [((PeekDone("p1"), b""),)]


def test_attempts_are_cancelled_apart() -> None:
    assert Run(peek(1), lambda _: None).job_group != Run(peek(2), lambda _: None).job_group


@pytest.mark.parametrize("all_of_them", [False, True])
def test_who_cancels_notices_that_the_driver_has_gone(
    tmp_path: Path, lost: list[Exception], all_of_them: bool
) -> None:
    run = Run(peek(), lambda _: None)
    reader = reader_with(run, tmp_path, lost)
    if all_of_them:
        reader.cancel_all()
    else:
        reader.cancel(CancelPeek("p1"))
    assert run.cancelled.is_set()
    assert [str(error) for error in lost] == ["the JVM has gone"]
