"""Answers of servers are taken apart whatever sizes they and their pieces have."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from headwater.sources.mysql import results
from headwater.sources.mysql.results import Refusal, answer

Row = Sequence[bytes | None]
END = b"\xfe\0\0\x02\0"


def packets(*payloads: bytes) -> bytes:
    """Each with its length and number; long ones in several."""
    told, number = b"", 0
    for payload in payloads:
        while True:
            piece, payload = payload[:0xFFFFFF], payload[0xFFFFFF:]
            told += len(piece).to_bytes(3, "little") + bytes([number % 256]) + piece
            number += 1
            if len(piece) < 0xFFFFFF:
                break
    return told


def packed(value: bytes | None) -> bytes:
    if value is None:
        return b"\xfb"
    size = len(value)
    if size < 251:
        return bytes([size]) + value
    for mark, width in ((0xFC, 2), (0xFD, 3), (0xFE, 8)):
        if size < 1 << 8 * width:
            return bytes([mark]) + size.to_bytes(width, "little") + value
    raise AssertionError


def answered(rows: Sequence[Row], width: int, end: bytes = END) -> bytes:
    told = [b"".join(map(packed, row)) for row in rows]
    return packets(bytes([width]), *[b"column"] * width, END, *told, end)


def by(data: bytes, size: int) -> Callable[[int], bytes]:
    """Hands the data out in pieces of one size."""
    place = 0

    def receive(wanted: int) -> bytes:
        nonlocal place
        piece = data[place : place + min(size, wanted)]
        place += len(piece)
        if not piece:
            raise EOFError
        return piece

    return receive


def read(data: bytes, width: int, size: int) -> list[tuple[bytes | None, ...]]:
    found: list[tuple[bytes | None, ...]] = []
    for columns in answer(by(data, size), width):
        found += zip(*(column.to_pylist() for column in columns), strict=True)
    return found


ROWS: list[Row] = [
    (b"1", b"one", None),
    (b"", b"x" * 250, b"y" * 251),
    (None, None, None),
    (b"\xfe\xff\xfb", b"z" * 70_000, b""),
]


@pytest.mark.parametrize("size", [1, 7, 4096, 10**7])
def test_rows_come_out_as_they_were_sent(size: int) -> None:
    assert read(answered(ROWS, 3), 3, size) == [tuple(row) for row in ROWS]


def test_rows_come_in_several_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "MYSQL_RESULT_BYTES", 100)
    rows: list[Row] = [(b"%d" % number, b"v" * (number % 40)) for number in range(1_000)]
    assert read(answered(rows, 2), 2, 64) == [tuple(row) for row in rows]


def test_a_row_may_be_longer_than_a_packet() -> None:
    long = bytes(range(256)) * 70_000
    rows: list[Row] = [(b"1", b"a"), (b"2", long), (b"3", long[: 0xFFFFFF - 6]), (b"4", None)]
    assert read(answered(rows, 2), 2, 1 << 20) == [tuple(row) for row in rows]


@pytest.mark.parametrize("width", [1, 2])
def test_an_answer_may_have_no_rows(width: int) -> None:
    assert read(answered([], width), width, 100) == []


def test_a_refusal_says_what_the_server_says() -> None:
    refused = packets(b"\xff\x7a\x04#42S02Table 'x' doesn't exist")
    with pytest.raises(Refusal, match="Table 'x' doesn't exist") as caught:
        read(refused, 3, 100)
    assert caught.value.code == 1146


def test_a_refusal_may_come_after_rows() -> None:
    data = answered(ROWS, 3, b"\xff\x84\x05#HY000Table definition has changed")
    with pytest.raises(Refusal, match="Table definition has changed"):
        read(data, 3, 4096)


def test_an_answer_that_is_cut_off_is_not_taken_for_one() -> None:
    with pytest.raises(EOFError):
        read(answered(ROWS, 3)[:-9], 3, 4096)
