"""The stream becomes changes.

Goal: every kind of message, in any mixture, gives the changes that PostgreSQL's rows went through.
Method: messages are written by a plain encoder (stream.py); histories made up at random are applied to
a dictionary on one side and decoded and replayed on the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core import flaws
from headwater.core.change import FLAWS, KEY, OP, SEQUENCE, Received
from headwater.core.errors import DefiniteError
from headwater.core.export import ODD_KEYS
from headwater.core.flaws import Flaw, Flaws
from headwater.sources.contract import Export, ReadPart, Reset
from headwater.sources.postgres.decode import Segment, read
from headwater.sources.stretches import Shown
from tests.unit.sources.postgres import stream
from tests.unit.sources.postgres.stream import SHAPE, UNCHANGED


def decoded(part: Segment, *exports: Export) -> list[Any]:
    """(op, row) in order, `Reset`s and errors."""
    found: list[Any] = []
    for _, item in read(ReadPart("postgres", {}, None, None, exports, 0, part)):
        if isinstance(item, pa.RecordBatch):
            rows = sorted(item.to_pylist(), key=lambda row: row["_sequence"])
            found += [(row["_op"], row["id"], row["name"]) for row in rows]
        elif not isinstance(item, Received):
            found.append(item)
    return found


def in_transaction(*messages: bytes, xid: int = 7) -> list[bytes]:
    return [stream.begin(100, xid), SHAPE, *messages, stream.commit(100, 110)]


def test_each_kind_of_change_of_a_keyed_table() -> None:
    messages = in_transaction(
        stream.insert((1, "a")),
        stream.insert((2, None)),
        stream.update((1, "b")),
        stream.update((3, "c"), key=(2, None)),
        stream.update((3, "d"), old=(3, "c")),
        stream.delete(key=(1, None)),
        stream.delete(old=(3, "d")),
    )
    assert decoded(stream.segment(messages), stream.export()) == [
        ("+", 1, "a"),
        ("+", 2, None),
        ("+", 1, "b"),
        ("-", 2, None),
        ("+", 3, "c"),
        ("+", 3, "d"),
        ("-", 1, None),
        ("-", 3, "d"),
    ]


def test_a_counted_table_takes_old_rows_away() -> None:
    messages = in_transaction(
        stream.insert((1, "a")),
        stream.update((1, "b"), old=(1, "a")),
        stream.delete(old=(1, "b")),
    )
    assert decoded(stream.segment(messages), stream.export("counted")) == [
        ("+", 1, "a"),
        ("-", 1, "a"),
        ("+", 1, "b"),
        ("-", 1, "b"),
    ]


@pytest.mark.parametrize(
    "message", [stream.update((1, "b")), stream.delete(key=(1, None)), stream.update((1, "b"), key=(2, None))]
)
def test_a_counted_table_without_old_rows_is_a_definite_error(message: bytes) -> None:
    (error,) = decoded(stream.segment(in_transaction(message)), stream.export("counted"))
    assert isinstance(error, DefiniteError)
    assert error.message.startswith("old row missing from replication stream")
    assert (error.reference, error.position) == ("db.public.t", "0/64")


@pytest.mark.parametrize(
    "message", [stream.delete(key=(None, "b")), stream.update((1, "c"), key=(None, "b"))]
)
def test_a_key_that_is_not_sent_is_a_definite_error(message: bytes) -> None:
    """As after a change of the replica identity to another index."""
    (error,) = decoded(stream.segment(in_transaction(message)), stream.export())
    assert str(error).startswith("old row missing from replication stream")


def test_an_unchanged_value_is_the_one_of_the_old_row() -> None:
    messages = in_transaction(stream.update((1, UNCHANGED), old=(1, "long")))
    assert decoded(stream.segment(messages), stream.export()) == [("+", 1, "long")]


def test_an_unchanged_value_that_is_not_sent_is_left_as_it_was() -> None:
    messages = in_transaction(stream.update((1, UNCHANGED)), stream.update((2, "b")))
    assert decoded(stream.segment(messages), stream.export()) == [("~1", 1, None), ("+", 2, "b")]


def test_an_unchanged_value_of_a_row_that_moved_comes_along_from_the_row_that_went() -> None:
    messages = in_transaction(
        stream.update((1, UNCHANGED), key=(2, None)), stream.update((3, "c"), key=(1, None))
    )
    part = stream.segment(messages)
    assert decoded(part, stream.export()) == [("-", 2, None), ("~@1", 1, None), ("-", 1, None), ("+", 3, "c")]


def test_an_unchanged_key_is_the_one_that_was_sent_before_it() -> None:
    messages = in_transaction(stream.update((UNCHANGED, "b"), key=(1, None)))
    assert decoded(stream.segment(messages), stream.export()) == [("+", 1, "b")]


def test_a_truncation_resets_and_only_what_follows_counts() -> None:
    messages = in_transaction(
        stream.insert((1, "a")), stream.truncate(5, stream.OID), stream.insert((2, "b"))
    )
    assert decoded(stream.segment(messages), stream.export()) == [Reset(), ("+", 2, "b")]


def test_a_table_is_not_given_what_its_snapshot_shows() -> None:
    messages = [
        *in_transaction(stream.insert((1, "a")), xid=7),
        *in_transaction(stream.truncate(stream.OID), xid=8),
    ]
    messages += in_transaction(stream.insert((2, "b")), xid=9)
    part = stream.segment(messages, points={"u1": Shown("7:9:7")})
    assert decoded(part, stream.export()) == [("+", 1, "a"), ("+", 2, "b")]
    assert decoded(part, stream.export(table_id="u2")) == [Reset(), ("+", 2, "b")]


def test_what_a_point_shows_says_nothing_of_columns_that_were_read_at_it() -> None:
    narrow = stream.relation([("id", 23)])
    messages = in_transaction(narrow, stream.insert((1,)), stream.delete((2,)), xid=6)
    messages += in_transaction(stream.update((1, "then")), xid=6)
    messages += in_transaction(stream.insert((3, "later")), xid=9)
    part = stream.segment(messages, points={"u1": Shown("7:9:7", ("name",))})
    assert decoded(part, stream.export()) == [
        ("~1", 1, None),
        ("-", 2, None),
        ("~1", 1, None),
        ("+", 3, "later"),
    ]


def test_a_truncation_that_a_point_shows_ends_the_adding_of_columns() -> None:
    messages = in_transaction(stream.truncate(stream.OID), stream.insert((1, "a")), xid=6)
    part = stream.segment(messages, points={"u1": Shown("7:9:7", ("name",))})
    (error,) = decoded(part, stream.export())
    assert "truncated while columns were added" in str(error)


def test_a_truncation_takes_with_it_what_a_point_has_shown_before() -> None:
    messages = in_transaction(stream.insert((1, "shown")), xid=6)
    messages += in_transaction(stream.truncate(stream.OID), stream.insert((2, "after")), xid=9)
    part = stream.segment(messages, points={"u1": Shown("7:9:7", ("name",))})
    assert decoded(part, stream.export()) == [Reset(), ("+", 2, "after")]


def test_changes_are_read_in_the_shape_they_were_written_in() -> None:
    more = stream.relation([("id", 23), ("more", 25), ("name", 25)])
    messages = in_transaction(stream.insert((1, "a")), more, stream.insert((2, "x", "b")))
    assert decoded(stream.segment(messages), stream.export()) == [("+", 1, "a"), ("+", 2, "b")]


GONE = "column name was dropped or renamed, or is no longer published"


@pytest.mark.parametrize(
    ("shape", "what"),
    [
        (stream.relation([("id", 23)]), GONE),
        (stream.relation([("id", 20), ("name", 25)]), "column id has type bigint instead of integer"),
        (
            stream.relation([("id", 9_999), ("name", 25)]),
            "column id has type with OID 9999 instead of integer",
        ),
        (stream.relation([("id", 23), ("title", 25)]), GONE),
        (stream.relation([("id", 23), ("name", 25)], name="renamed"), "it is called public.renamed now"),
    ],
)
def test_another_shape_stops_the_table_where_it_is_first_used(shape: bytes, what: str) -> None:
    messages = in_transaction(stream.insert((1, "a")), shape, stream.insert((2, "b")))
    *before, error = decoded(stream.segment(messages), stream.export())
    assert before == [("+", 1, "a")]
    assert error.message == (
        f"incompatible schema change: source table t with oid 16384 has been altered: {what}"
    )


def test_a_key_that_cannot_be_stored_is_told_apart_by_what_it_was() -> None:
    export = replace(stream.export(), options=ODD_KEYS)
    messages = [stream.insert((key, "a")) for key in ("1", "x", "y", "x")]
    messages += [stream.update(("z", "b"), ("y", None)), stream.delete(("x", None))]
    segment = stream.segment(in_transaction(*messages))
    _, (_, batch) = read(ReadPart("postgres", {}, None, None, (export,), 0, segment))
    assert isinstance(batch, pa.RecordBatch)
    rows = sorted(batch.to_pylist(), key=lambda row: int(row[SEQUENCE]))
    told = [(row[OP], row["id"], row[KEY] and row[KEY].replace(b"\0", b"/")) for row in rows]
    assert told == [
        ("+", 1, None),
        *(("+", None, b"id/%b/" % key) for key in (b"x", b"y", b"x")),
        ("-", None, b"id/y/"),
        ("+", None, b"id/z/"),
        ("-", None, b"id/x/"),
    ]
    assert [row[FLAWS] is None for row in rows] == [row[KEY] is None for row in rows]


def test_a_key_of_which_nobody_expected_that_ends_the_table() -> None:
    rows = [stream.insert((n, "a")) for n in range(50)]
    messages = in_transaction(*rows, stream.insert(("12x", "b")), *rows)
    (error,) = decoded(stream.segment(messages), stream.export())
    assert error.message == (
        'value "12x" of column "id", part of the key, cannot be stored: invalid input syntax for type integer'
    )


def test_another_value_that_cannot_be_stored_is_a_flaw_of_its_row() -> None:
    bad = {3, 17, 18, 49}
    rows = [stream.insert((n, b"\xff" if n in bad else "a")) for n in range(50)]
    segment = stream.segment(in_transaction(*rows))
    _, (_, batch) = read(ReadPart("postgres", {}, None, None, (stream.export(),), 0, segment))
    assert isinstance(batch, pa.RecordBatch)
    found = {row["id"]: flaws.from_text(row[FLAWS]) for row in batch.to_pylist() if row[FLAWS] is not None}
    flaw = Flaws({"name": Flaw("\\xff", "it is not text in UTF-8")}, found[3].position)
    assert found == dict.fromkeys(bad, flaw)
    assert [row["name"] for row in batch.to_pylist()] == [None if n in bad else "a" for n in range(50)]


def test_a_null_where_there_must_be_none_is_a_definite_error() -> None:
    (error,) = decoded(stream.segment(in_transaction(stream.insert((None, "a")))), stream.export())
    assert error.message == "PG column public.t.id contained NULL data, despite having NOT NULL constraint"


def test_other_tables_are_passed_over() -> None:
    other = stream.relation([("x", 25)], oid=99, name="other")
    messages = in_transaction(other, stream.insert(("?",), oid=99), stream.insert((1, "a")))
    assert decoded(stream.segment(messages), stream.export()) == [("+", 1, "a")]


def test_a_stretch_may_begin_in_the_middle_of_a_transaction() -> None:
    part = stream.segment([stream.insert((1, "a"))], relations=(SHAPE,), transaction=(0x64, 7), first=5)
    (_, received), (_, batch) = read(ReadPart("postgres", {}, None, None, (stream.export(),), 0, part))
    assert received == Received(1, len(stream.insert((1, "a"))))
    assert isinstance(batch, pa.RecordBatch)
    assert batch.to_pylist() == [{"id": 1, "name": "a", "_op": "+", "_sequence": 11}]


names = st.one_of(st.none(), st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
steps = st.lists(
    st.tuples(st.sampled_from("iudkt"), st.integers(0, 5), names, st.integers(0, 5)), max_size=40
)


@given(steps)
def test_any_history_of_a_keyed_table_is_replayed(
    history: Sequence[tuple[str, int, str | None, int]],
) -> None:
    rows: dict[int, str | None] = {}
    messages = []
    for kind, key, name, other in history:
        if kind == "i" and key not in rows:
            messages.append(stream.insert((key, name)))
            rows[key] = name
        elif kind == "u" and key in rows:
            messages.append(stream.update((key, name)))
            rows[key] = name
        elif kind == "d" and key in rows:
            messages.append(stream.delete(key=(key, None)))
            del rows[key]
        elif kind == "k" and key in rows and other not in rows:
            messages.append(stream.update((other, name), key=(key, None)))
            del rows[key]
            rows[other] = name
        elif kind == "t" and other == 0:
            messages.append(stream.truncate(stream.OID))
            rows.clear()
    replayed: dict[int, str | None] = {}
    for change in decoded(stream.segment(in_transaction(*messages)), stream.export()):
        if isinstance(change, Reset):
            replayed.clear()
        elif change[0] == "+":
            replayed[change[1]] = change[2]
        else:
            del replayed[change[1]]
    assert replayed == rows


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2), names), max_size=30))
def test_any_history_of_a_counted_table_is_replayed(history: Sequence[tuple[bool, int, str | None]]) -> None:
    rows: Counter[tuple[int, str | None]] = Counter()
    messages = []
    for deleting, key, name in history:
        found = next(iter(rows.elements()), None)
        if deleting and found is not None:
            messages.append(stream.delete(old=found))
            rows[found] -= 1
        else:
            messages.append(stream.insert((key, name)))
            rows[key, name] += 1
    replayed: Counter[tuple[int, str | None]] = Counter()
    for op, key, name in decoded(stream.segment(in_transaction(*messages)), stream.export("counted")):
        replayed[key, name] += 1 if op == "+" else -1
    assert +replayed == +rows


OTHER = stream.relation([("id", 23), ("name", 25)], identity=("name",))
"""What the upstream says once its replica identity is an index over the name alone."""


@pytest.mark.parametrize(
    "message",
    [
        stream.update((2, "a")),  # the name is the same, and so nothing is said of the old row
        stream.update((1, "b"), key=(None, "a")),
        stream.delete(key=(None, "a")),
    ],
)
def test_an_identity_without_the_key_ends_the_table_at_the_first_change(message: bytes) -> None:
    messages = in_transaction(stream.insert((1, "a")), OTHER, stream.insert((5, "e")), message)
    came, error = decoded(stream.segment(messages), stream.export())
    assert came == ("+", 1, "a")
    assert isinstance(error, DefiniteError)
    assert error.position == "0/64"
    assert str(error).startswith("old row missing from replication stream")
    assert "replica identity of source table t with oid 16384 was switched and no longer has id" in str(error)
    assert "ALTER TABLE public.t REPLICA IDENTITY FULL" in str(error)


def test_a_switch_that_is_taken_back_before_any_change_does_not_matter() -> None:
    messages = in_transaction(
        OTHER, stream.insert((1, "a")), SHAPE, stream.update((2, "a"), key=(1, None)), OTHER
    )
    assert decoded(stream.segment(messages), stream.export()) == [
        ("+", 1, "a"),
        ("-", 1, None),
        ("+", 2, "a"),
    ]


def test_a_wider_identity_carries_the_key_too() -> None:
    wider = stream.relation([("id", 23), ("name", 25)], identity=("name", "id"))
    messages = in_transaction(wider, stream.update((1, "b"), key=(1, "a")), stream.delete(key=(1, "b")))
    assert decoded(stream.segment(messages), stream.export()) == [("+", 1, "b"), ("-", 1, "b")]


def test_texts_of_another_type_are_followed_until_a_row_must_be_found_by_them() -> None:
    as_text = stream.export("counted")
    as_text.pinned.columns[1]["text"] = True
    keyed = stream.export()
    keyed.pinned.columns[1]["text"] = True
    other = stream.relation([("id", 23), ("name", 1700)])
    follows = in_transaction(other, stream.insert((1, "1.00")))
    assert decoded(stream.segment(follows), as_text) == [("+", 1, "1.00")]
    changed = in_transaction(other, stream.update((1, "2.00"), old=(1, "1.00")))
    assert decoded(stream.segment(changed), keyed) == [("+", 1, "2.00")]
    alike = in_transaction(stream.relation([("id", 23), ("name", 1043)]), stream.delete(old=(1, "a")))
    assert decoded(stream.segment(alike), as_text) == [("-", 1, "a")]
    (error,) = decoded(stream.segment(changed), as_text)
    assert "name of source table t with oid 16384 now has a different type" in str(error)


def test_what_was_received_are_the_messages_of_the_table_whatever_becomes_of_them() -> None:
    """What a truncation undoes has come all the same, and what other tables were sent has not."""
    mine = (stream.insert((1, "a")), stream.truncate(stream.OID), stream.insert((2, "b")))
    messages = in_transaction(*mine, stream.insert(("?",), oid=99))
    found = list(read(ReadPart("postgres", {}, None, None, (stream.export(),), 0, stream.segment(messages))))
    received = [item for _, item in found if isinstance(item, Received)]
    assert received == [Received(len(mine), sum(map(len, mine)))]
    assert decoded(stream.segment(messages), stream.export()) == [Reset(), ("+", 2, "b")]
