"""The client's messages: bytes to values, and nothing but values or an error of the client's.

Method: every kind of message is packed by the test's own packer and must come back;
cut, lengthened or random bodies must end in 08P01 or 22021.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import UserError
from headwater.pgwire import codec
from headwater.pgwire.codec import BODY_BYTES_MAX, parse_header, parse_message
from headwater.pgwire.steps import ProtocolViolation
from tests.support.wire import driver

words = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
formats = st.lists(st.integers(-(2**15), 2**15 - 1), max_size=4).map(tuple)
arguments = st.lists(st.one_of(st.none(), st.binary(max_size=9)), max_size=4).map(tuple)

messages = st.one_of(
    st.builds(lambda sql: (driver.query(sql), codec.Query(sql)), words),
    st.builds(
        lambda sql, name, types: (driver.parse(sql, name, types), codec.Parse(name, sql, types)),
        words,
        words,
        st.lists(st.integers(0, 2**32 - 1), max_size=4).map(tuple),
    ),
    st.builds(
        lambda values, first, second, portal, name: (
            driver.bind(values, first, second, portal, name),
            codec.Bind(portal, name, first, values, second),
        ),
        arguments,
        formats,
        formats,
        words,
        words,
    ),
    st.builds(lambda k, n: (driver.describe(k, n), codec.Describe(k, n)), st.sampled_from("SP"), words),
    st.builds(lambda k, n: (driver.close(k, n), codec.Close(k, n)), st.sampled_from("SP"), words),
    st.builds(
        lambda rows, name: (driver.execute(rows, name), codec.Execute(name, rows)),
        st.integers(-(2**31), 2**31 - 1),
        words,
    ),
    st.builds(lambda data: (driver.message("d", data), codec.CopyData(data)), st.binary()),
    st.builds(lambda text: (driver.message("f", driver.text(text)), codec.CopyFail(text)), words),
    st.just((driver.SYNC, codec.Sync())),
    st.just((driver.FLUSH, codec.FlushOutput())),
    st.just((driver.TERMINATE, codec.Terminate())),
    st.just((driver.COPY_DONE, codec.CopyDone())),
)


@given(messages)
def test_every_message_comes_back(pair: tuple[bytes, codec.Message]) -> None:
    data, expected = pair
    kind, length = parse_header(data[:5])
    assert length == len(data) - 5
    assert parse_message(kind, data[5:]) == expected


@given(messages, st.integers(0, 30))
def test_a_message_that_is_cut_short_is_an_error(pair: tuple[bytes, codec.Message], cut: int) -> None:
    data, expected = pair
    body = data[5:]
    if cut < len(body) and not isinstance(expected, codec.CopyData):
        with pytest.raises(UserError, match=r"message|UTF8"):
            parse_message(data[:1], body[:cut])


@given(st.sampled_from(sorted(BODY_BYTES_MAX)), st.binary(max_size=80))
def test_random_bodies_are_messages_or_errors_of_the_client(kind: bytes, body: bytes) -> None:
    sqlstate = "08P01"
    try:
        parse_message(kind, body)
    except UserError as error:
        sqlstate = error.sqlstate
    assert sqlstate in ("08P01", "22021")


@given(st.binary(min_size=5, max_size=5))
def test_a_length_is_within_its_limit_or_refused(header: bytes) -> None:
    try:
        kind, length = parse_header(header)
    except ProtocolViolation:
        return
    assert 0 <= length <= BODY_BYTES_MAX[kind]
