"""Parts of a snapshot are read where its sessions are."""

from __future__ import annotations

import pytest

from headwater.core.errors import TransientError
from headwater.core.points import Read
from headwater.sources.contract import SnapshotChunk
from headwater.sources.mysql.snapshot import Range, Reading
from tests.unit.sources.mysql.stream import export


def test_a_task_on_another_machine_says_that_it_cannot_read() -> None:
    chunk = SnapshotChunk(
        "mysql", {}, Read({}, {}), export(), 0, 1, Range("SELECT 1", "/nowhere", "far-away")
    )
    with Reading(lambda _: b"") as read, pytest.raises(TransientError) as told:
        next(iter(read(chunk)))
    assert "cannot read the snapshot, whose sessions are lent out on far-away alone" in str(told.value)
    assert "--spark-master local[*]" in str(told.value.hint)
