"""What has arrived of a log is handed out in whole transactions, whatever is in memory or in files.

Method: random transactions of a table that is followed and of one that is not, cut into random pieces, are
added and taken in random portions, with parts of a few bytes so that files are used; what comes out, put
together and decoded, is what went in.
"""

from __future__ import annotations

import tempfile
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.change import Received
from headwater.core.errors import DefiniteError
from headwater.sources.contract import ReadPart
from headwater.sources.mysql import spool as spool_module
from headwater.sources.mysql.decode import read
from headwater.sources.mysql.events import Events
from headwater.sources.mysql.spool import Spool
from headwater.sources.mysql.statements import Effect
from tests.unit.sources.mysql.stream import COMMIT, begin, export, insert, query, shape, unreadable_shape


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_module, "REPLICATION_SEGMENT_BYTES", 300)
    monkeypatch.setattr(spool_module, "REPLICATION_TICK_BYTES_MAX", 900)


def spool_in(folder: Path) -> Spool:
    made = Spool(folder, "mariadb", folded=False)
    made.watch([("s", "t")])
    return made


def add(spool: Spool, *events: bytes) -> None:
    spool.add(Events.of(events))


def taken(spool: Spool, count: int) -> list[int]:
    """The ids of the rows of so many transactions, in order."""
    found: list[dict[str, Any]] = []
    for segment, tables in spool.take(count, {}):
        assert tables <= {("s", "t")}
        if not tables:
            continue
        part = []
        for _, batch in read(ReadPart("mysql", {}, None, None, (export(),), 0, segment)):
            assert not isinstance(batch, DefiniteError), batch
            if not isinstance(batch, Received):
                assert isinstance(batch, pa.RecordBatch)
                part += batch.to_pylist()
        found += sorted(part, key=lambda row: row["_sequence"])
    spool.done()
    return [row["id"] for row in found]


@given(st.lists(st.integers(0, 30), max_size=10), st.data())
def test_every_transaction_comes_out_whole_and_once(sizes: list[int], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        spool = spool_in(Path(folder))
        events: list[bytes] = []
        wanted: list[list[int]] = []
        for number, size in enumerate(sizes, 1):
            ids = [number * 100 + place for place in range(size)]
            events += [begin(number), shape("u"), insert("u", 1), shape("t")]
            events += [insert("t" if place % 3 else "u", id_) for place, id_ in enumerate(ids)]
            events.append(COMMIT)
            wanted.append([id_ for place, id_ in enumerate(ids) if place % 3])
        got: list[list[int]] = []
        while events:
            size = data.draw(st.integers(1, 12))
            add(spool, *events[:size])
            events = events[size:]
            if data.draw(st.booleans()) and (ahead := spool.ahead()):
                count = data.draw(st.integers(1, len(ahead)))
                assert [transaction.gtid.number for transaction in ahead[:1]] == [len(got) + 1]
                assert taken(spool, count) == list(chain(*wanted[len(got) : len(got) + count]))
                got += wanted[len(got) : len(got) + count]
        while ahead := spool.ahead():
            assert taken(spool, len(ahead)) == list(chain(*wanted[len(got) : len(got) + len(ahead)]))
            got += wanted[len(got) : len(got) + len(ahead)]
        assert got == wanted
        assert spool.waiting_bytes == 0
        spool.close()
        assert not list(Path(folder).iterdir())


def test_a_transaction_that_is_larger_than_memory_may_be_lies_in_files(tmp_path: Path) -> None:
    spool = spool_in(tmp_path / "spool")
    add(spool, begin(1), shape("t"))
    for number in range(200):
        add(spool, insert("t", number))
    assert spool.inside
    assert spool.ahead() == []
    assert len(list((tmp_path / "spool").iterdir())) > 5, "nothing has gone to files"
    add(spool, COMMIT, begin(2), shape("t"), insert("t", 200), COMMIT)
    assert taken(spool, 1) == list(range(200))
    assert taken(spool, 1) == [200]
    assert not list((tmp_path / "spool").iterdir())


def test_files_stay_until_what_is_in_them_is_durable(tmp_path: Path) -> None:
    spool = spool_in(tmp_path)
    for number in range(1, 4):
        add(spool, begin(number), shape("t"), insert("t", *range(20)), COMMIT)
    before = set(tmp_path.iterdir())
    assert before
    spool.take(1, {})
    assert set(tmp_path.iterdir()) == before
    spool.done()
    assert set(tmp_path.iterdir()) < before
    spool.close()
    assert not list(tmp_path.iterdir())


def test_nothing_more_is_taken_in_while_too_much_waits_but_for_the_end_of_a_transaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool_module, "BINLOG_WAITING_BYTES_MAX", 1_000)
    spool = spool_in(tmp_path)
    add(spool, begin(1), shape("t"), insert("t", *range(200)))
    assert not spool.full, "it would wait for an end that cannot come"
    add(spool, COMMIT)
    assert spool.full
    taken(spool, 1)
    assert not spool.full


def test_changes_that_were_left_out_are_told_to_who_wants_them_now(tmp_path: Path) -> None:
    spool = spool_in(tmp_path)
    add(spool, begin(1), shape("u"), insert("u", 1), COMMIT)
    assert spool.waiting_bytes == len(begin(1) + COMMIT)
    add(spool, begin(2), shape("t"), insert("t", 1), COMMIT)
    assert spool.watch([("s", "t"), ("s", "u")])
    taken(spool, 2)
    assert not spool.watch([("s", "t"), ("s", "u")]), "they are behind us"


def test_remarks_are_of_the_transactions_that_are_taken(tmp_path: Path) -> None:
    spool = spool_in(tmp_path)
    add(spool, begin(1), shape("t"), insert("t", 1), COMMIT, begin(2), query(b"DROP TABLE t"), COMMIT)
    assert spool.remarks(1) == []
    assert [remark.statement.effect for remark in spool.remarks(2)] == [Effect.DROPPED]
    taken(spool, 1)
    assert [str(remark.gtid) for remark in spool.remarks(1)] == ["0-1-2"]
    taken(spool, 1)
    assert spool.remarks(0) == []


def test_a_shape_that_cannot_be_read_is_of_its_table_alone(tmp_path: Path) -> None:
    spool = spool_in(tmp_path)
    strange = (begin(1), unreadable_shape("u"), insert("u", 1), COMMIT)
    add(spool, *strange, begin(2), shape("t"), insert("t", 7), COMMIT)
    assert taken(spool, 2) == [7]
    add(spool, begin(3), unreadable_shape("t"), insert("t", 8), COMMIT)
    [(segment, _)] = spool.take(1, {})
    found = [one for _, one in read(ReadPart("mysql", {}, None, None, (export(),), 0, segment))]
    errors = [str(one) for one in found if isinstance(one, DefiniteError)]
    assert len(errors) == 1
    assert "what the binary log tells of table t cannot be read: a table map is cut off" in errors[0]
