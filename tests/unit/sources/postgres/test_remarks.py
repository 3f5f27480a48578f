"""What a stream says beside changes, message by message."""

from __future__ import annotations

from headwater.sources.postgres.frontier import Transaction
from headwater.sources.postgres.remarks import Remark, Remarks, truncated
from tests.unit.sources.postgres import stream

COLUMNS = (("id", 23), ("name", 25))
ROOT, LEAF, OTHER = 100, 101, 102
T1, T2 = Transaction(10, 1, 0), Transaction(20, 2, 0)


def heard(*messages: bytes, transaction: Transaction = T1, remarks: Remarks | None = None) -> Remarks:
    remarks = Remarks() if remarks is None else remarks
    remarks.begin()
    for message in messages:
        remarks.hear(message[0], message, transaction)
    return remarks


def pairs(remarks: Remarks) -> list[tuple[int, int]]:
    return [(remark.root, remark.oid) for remark in remarks if remark.root]


def test_a_partition_is_described_right_after_its_root() -> None:
    shape = stream.relation
    said = heard(shape(COLUMNS, ROOT), b"Y....", shape(COLUMNS, LEAF), stream.insert((1, "x"), ROOT))
    assert pairs(said) == [(ROOT, LEAF)]
    said = heard(shape(COLUMNS, OTHER), stream.insert((1, "x"), OTHER), shape(COLUMNS, ROOT))
    assert pairs(said) == []
    heard(shape(COLUMNS, LEAF), transaction=T2, remarks=said)
    assert pairs(said) == []


def test_what_is_written_to_a_table_after_it_was_truncated_is_counted_by_transaction() -> None:
    wrote, end = stream.insert((1, "x"), ROOT), stream.commit(10, 11)
    said = heard(
        wrote, stream.truncate(ROOT, OTHER), wrote, wrote, wrote, stream.delete(key=(1, None), oid=ROOT), end
    )
    assert [remark for remark in said if not remark.message] == [Remark(T1, ROOT, rows=2)]
    heard(wrote, end, transaction=T2, remarks=said)
    assert [remark for remark in said if not remark.message][1:] == [Remark(T2, ROOT, rows=1)]
    said.forget(20)
    heard(wrote, end, transaction=T2, remarks=said)
    assert [remark.rows for remark in said if not remark.message] == [1]  # of before


def test_what_was_taken_is_forgotten_and_the_rest_is_not() -> None:
    said = heard(stream.truncate(ROOT))
    heard(stream.truncate(LEAF), transaction=T2, remarks=said)
    said.forget(20)
    assert [remark.oid for remark in said] == [LEAF]
    assert truncated(stream.truncate(7, 8)) == (7, 8)
