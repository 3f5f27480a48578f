"""The protocol between environment and cluster: what is sent is what is heard.

Method: for every kind of message an instance is drawn from the types of its fields, framed,
taken apart as the receiving side does, and compared.  Lengths are checked at the limit with a limit
made small, since nobody wants frames of 256 MiB in a unit test.
"""

from __future__ import annotations

import dataclasses
import struct
from typing import Any, get_type_hints
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.core import protocol
from headwater.core.errors import InvariantViolation
from headwater.core.limits import PROTOCOL_FRAME_BYTES_MAX

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
BY_TYPE: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(0, 2**63),
    str: st.text(max_size=20),
    bool: st.booleans(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    str | None: st.none() | st.text(max_size=20),
    list[str]: st.lists(st.text(max_size=5), max_size=3),
    dict[str, int]: st.dictionaries(st.text(max_size=5), st.integers(0, 2**63), max_size=3),
    dict[str, Any]: st.dictionaries(st.text(max_size=5), JSON_VALUES, max_size=3),
    list[dict[str, Any]]: st.lists(st.dictionaries(st.text(max_size=5), JSON_VALUES, max_size=3), max_size=3),
}


def instances(kind: Any) -> st.SearchStrategy[Any]:
    hints = get_type_hints(kind)
    return st.builds(kind, **{f.name: BY_TYPE[hints[f.name]] for f in dataclasses.fields(kind)})


def heard(frame: bytes) -> tuple[Any, bytes]:
    """Take a frame apart as both receivers do: lengths, header, payload."""
    header_bytes, payload_bytes = protocol.decode_lengths(frame[: protocol.LENGTHS_BYTES])
    rest = frame[protocol.LENGTHS_BYTES :]
    assert len(rest) == header_bytes + payload_bytes
    return protocol.decode_header(rest[:header_bytes]), rest[header_bytes:]


@pytest.mark.parametrize("name", sorted(protocol.MESSAGES))
@settings(max_examples=15, deadline=None)
@given(data=st.data(), payload=st.binary(max_size=40))
def test_every_message_arrives_as_it_was_sent(name: str, data: st.DataObject, payload: bytes) -> None:
    message = data.draw(instances(protocol.MESSAGES[name]))
    assert heard(protocol.encode(message, payload)) == (message, payload)


def test_every_message_of_the_module_can_be_received() -> None:
    declared = {name for name, value in vars(protocol).items() if dataclasses.is_dataclass(value)}
    assert declared == set(protocol.MESSAGES)


def test_a_message_of_another_version_is_not_guessed_at() -> None:
    with pytest.raises(InvariantViolation, match="a kind that is not known"):
        protocol.decode_header(b'{"type": "Greeting", "epoch": 1}')
    with pytest.raises(InvariantViolation, match="a kind that is not known"):
        protocol.decode_header(b'{"epoch": 1}')


@pytest.mark.parametrize(
    "lengths", [(PROTOCOL_FRAME_BYTES_MAX + 1, 0), (0, PROTOCOL_FRAME_BYTES_MAX + 1), (2**32 - 1, 2**32 - 1)]
)
def test_a_length_over_the_limit_is_refused_before_anything_is_read(lengths: tuple[int, int]) -> None:
    with pytest.raises(InvariantViolation, match=f"announces {lengths[0]} \\+ {lengths[1]} bytes"):
        protocol.decode_lengths(struct.pack(">II", *lengths))


def test_lengths_at_the_limit_are_accepted() -> None:
    both = (PROTOCOL_FRAME_BYTES_MAX, PROTOCOL_FRAME_BYTES_MAX)
    assert protocol.decode_lengths(struct.pack(">II", *both)) == both


@pytest.mark.parametrize(("payload_bytes", "fits"), [(200, True), (201, False)])
def test_a_frame_over_the_limit_is_not_sent(payload_bytes: int, fits: bool) -> None:
    with patch.object(protocol, "PROTOCOL_FRAME_BYTES_MAX", 200):
        if fits:
            assert heard(protocol.encode(protocol.Shutdown(), b"x" * payload_bytes))[1]
        else:
            with pytest.raises(InvariantViolation, match="over the limit"):
                protocol.encode(protocol.Shutdown(), b"x" * payload_bytes)


def test_a_header_over_the_limit_is_not_sent() -> None:
    with patch.object(protocol, "PROTOCOL_FRAME_BYTES_MAX", 200), pytest.raises(InvariantViolation):
        protocol.encode(protocol.CancelPeek("x" * 300))
