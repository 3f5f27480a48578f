"""CSV: a batch of messages has the fields that Python's csv module finds in each.

Method: random records, with quotes and ends of lines anywhere, against the csv module; what it would take
and we refuse (open quotes, several records) is told apart with a record behind.
"""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.decode.csv import CSV
from tests.unit.decode.batches import decode

_FIELD = st.one_of(
    st.text("ab é", max_size=3),
    st.text('a"', max_size=4),
    st.text('a",\r\n', max_size=5).map(lambda text: '"' + text.replace('"', '""') + '"'),
)
_RECORD = st.one_of(
    st.tuples(
        st.lists(_FIELD, min_size=1, max_size=3).map(",".join), st.sampled_from(("", "\n", "\r\n"))
    ).map("".join),
    st.text('a",\r\n', max_size=8),
)


def _expected(text: str, width: int) -> list[str] | None:
    """Its fields, if they are as many, one record, and all closed."""
    behind = list(csv.reader(io.StringIO(f"{text}\nEND", newline="")))
    if behind[-1] != ["END"]:
        return None
    body = text
    for last in ("\n", "\r"):
        body = body.removesuffix(last)
    records = list(csv.reader(io.StringIO(body, newline=""))) or [[""]]
    if body == "":
        records = [[""]]
    elif body[-1] in "\r\n" and behind[-2:] != [records[0], ["END"]]:
        return None
    return records[0] if len(records) == 1 and len(records[0]) == width else None


@settings(max_examples=400, deadline=None)
@given(st.lists(_RECORD, max_size=6), st.integers(1, 3))
def test_a_batch_has_the_fields_of_its_messages(records: list[str], width: int) -> None:
    columns, errors = decode(CSV, _pinned(width), [record.encode() for record in records])
    for row, record in enumerate(records):
        expected = _expected(record, width)
        assert (errors[row] is None) == (expected is not None), (record, errors[row])
        found = [column[row] for column in columns]
        assert found == ([None] * width if expected is None else expected)


def _pinned(width: int, delimiter: str = ",") -> dict[str, object]:
    return {"header": None, "columns": width, "delimiter": delimiter}


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"a", "CSV: expected 2 columns, got 1"),
        (b"a,b,c", "CSV: expected 2 columns, got 3"),
        (b'a,"b', "CSV: a quoted field has no end"),
        (b"a,b\nc,d", "CSV: more than one record in a message"),
        (b"a,\xff", 'CSV: invalid byte sequence for encoding "UTF8"'),
    ],
)
def test_a_bad_record_is_an_error_and_its_neighbours_are_not(message: bytes, reason: str) -> None:
    columns, errors = decode(CSV, _pinned(2), [b"1,2", message, b'"3","4"\n'])
    assert columns == [["1", None, "3"], ["2", None, "4"]]
    assert errors == [None, reason, None]


def test_columns_have_the_names_of_the_header_and_any_delimiter() -> None:
    pinned = {"header": ["id", "name"], "columns": 2, "delimiter": "|"}
    assert [column.name for column in CSV.columns(pinned)] == ["id", "name"]
    assert [column.name for column in CSV.columns(_pinned(2))] == ["column1", "column2"]
    assert decode(CSV, pinned, [b'1|"a|b"', b"2|a,b"])[0] == [["1", "2"], ["a|b", "a,b"]]
