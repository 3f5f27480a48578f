"""What has arrived is handed out in whole transactions, whatever is in memory or in files.

Method: random streams are added and taken in random portions, with segments of a few bytes so that
files are used; what comes out, put together and decoded, is what went in.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.change import Received
from headwater.core.errors import DefiniteError
from headwater.sources.contract import ReadPart
from headwater.sources.postgres import spool as spool_module
from headwater.sources.postgres.decode import read
from headwater.sources.postgres.frontier import Transaction
from headwater.sources.postgres.spool import Overlap, Spool
from tests.unit.sources.postgres import stream


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_module, "REPLICATION_SEGMENT_BYTES", 200)
    monkeypatch.setattr(spool_module, "REPLICATION_TICK_BYTES_MAX", 600)


def taken(spool: Spool, until: int) -> tuple[list[int], int | None]:
    """The ids of the rows of a tick, in order, and where more is waiting."""
    got = spool.take(until, {})
    found: list[dict[str, Any]] = []
    for segment, tables in got.segments:
        assert tables <= {stream.OID}
        for _, batch in read(ReadPart("postgres", {}, None, None, (stream.export(),), 0, segment)):
            if not isinstance(batch, Received):
                assert isinstance(batch, pa.RecordBatch)
                found += batch.to_pylist()
    found.sort(key=lambda row: row["_sequence"])
    spool.done()
    return [row["id"] for row in found], got.reached


@given(st.lists(st.integers(0, 12), max_size=12), st.data())
def test_every_transaction_comes_out_whole_and_once(sizes: list[int], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        spool = Spool(Path(folder), Overlap(0, None))
        expected: list[int] = []
        got: list[int] = []
        ends: dict[int, int] = {0: 0}  # how many rows there are at the end of each transaction
        lsn, number = 0, 0
        for size in sizes:
            lsn += 10
            messages = [stream.begin(lsn, lsn), *([stream.SHAPE] if size % 3 == 0 or not number else [])]
            messages += [stream.insert((number + n, "x" * (n * 7))) for n in range(size)]
            for message in messages:
                assert spool.add(message) is None
                assert spool.inside
            if data.draw(st.booleans()):  # a tick while the transaction is under way
                got += taken(spool, lsn + 100)[0]
                assert len(got) in ends.values()
            assert spool.add(stream.commit(lsn, lsn + 5)) == lsn + 5
            assert not spool.inside
            expected += range(number, number + size)
            number += size
            ends[lsn + 5] = number
            if data.draw(st.booleans()):
                until = data.draw(st.integers(0, lsn + 20))
                rows, reached = taken(spool, until)
                got += rows
                if reached is None:
                    assert len(got) == max(n for end, n in ends.items() if end <= until or n <= len(got))
                else:
                    assert len(got) == ends[reached]
        reached = 0
        while reached is not None:
            rows, reached = taken(spool, lsn + 100)
            got += rows
        assert got == expected
        assert spool.waiting_bytes == 0
        spool.close()
        assert not list(Path(folder).iterdir())


def test_a_tick_takes_a_transaction_that_is_larger_than_it_may_be(tmp_path: Path) -> None:
    spool = Spool(tmp_path, Overlap(0, None))
    spool.add(stream.begin(1, 1))
    spool.add(stream.SHAPE)
    for number in range(200):
        spool.add(stream.insert((number, "some text")))
    assert list(tmp_path.iterdir()), "nothing has gone to files"
    spool.add(stream.commit(1, 2))
    spool.add(stream.begin(3, 2))
    spool.add(stream.insert((200, "next")))
    spool.add(stream.commit(3, 4))
    assert taken(spool, 10) == (list(range(200)), 2)
    assert taken(spool, 10) == ([200], None)


def test_what_was_read_before_is_left_out_and_the_shapes_of_its_tables_are_kept(tmp_path: Path) -> None:
    spool = Spool(tmp_path, Overlap(5, Transaction(20, 8, 0)))
    for lsn, xid in ((10, 7), (20, 8), (30, 9)):
        spool.add(stream.begin(lsn, xid))
        if xid == 7:
            spool.add(stream.SHAPE)
        spool.add(stream.insert((xid, "x")))
        assert spool.inside
        assert spool.add(stream.commit(lsn, lsn + 5)) == (None if xid < 9 else 35)
        assert not spool.inside
    assert taken(spool, 100) == ([9], None)


@pytest.mark.parametrize("began", [Transaction(20, 9, 0), Transaction(20, 8, 1), Transaction(21, 9, 0)])
def test_a_stream_that_does_not_bring_again_what_was_read_last_is_of_another_history(
    tmp_path: Path, began: Transaction
) -> None:
    spool = Spool(tmp_path, Overlap(5, Transaction(20, 8, 0)))
    message = bytearray(stream.begin(began.lsn, began.xid))
    message[16] = began.time
    with pytest.raises(DefiniteError, match="transaction 8 is not at 0/14 any more"):
        spool.add(bytes(message))


def test_a_stream_that_has_passed_what_was_read_last_must_have_brought_it(tmp_path: Path) -> None:
    spool = Spool(tmp_path, Overlap(5, Transaction(20, 8, 0)))
    spool.reached(20)
    with pytest.raises(DefiniteError, match="transaction 8 is not at 0/14 any more"):
        spool.reached(21)
    Spool(tmp_path, Overlap(21, Transaction(20, 8, 0))).reached(30)  # it is not sent again
    Spool(tmp_path, Overlap(5, None)).reached(30)
