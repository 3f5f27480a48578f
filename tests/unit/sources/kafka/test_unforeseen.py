"""Errors in decoding that nobody foresaw: which messages they cost, and when they cost the table.

Method: decoders that raise errors at certain messages, in certain numbers of them, or always.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from headwater.core.errors import TransientError
from headwater.core.limits import KAFKA_UNFORESEEN_MAX
from headwater.decode.contract import Decoded
from headwater.sources.kafka.schemas import PinnedFormat
from headwater.sources.kafka.unforeseen import Careful

TEXT = PinnedFormat("text")
WHY = "TEXT: internal error: KeyError: 7"


def decoder(breaks: Callable[[list[bytes]], bool], error: type[BaseException] = KeyError) -> Careful:
    """Of texts, with an odd error of its own at `bad`."""

    def decode(messages: pa.Array) -> Decoded:
        found = messages.to_pylist()
        assert messages.offset == 0
        if breaks(found):
            raise error(7)
        texts = [None if message == b"bad" else message.decode() for message in found]
        errors = ["TEXT: bad" if message == b"bad" else None for message in found]
        return Decoded(
            (pa.array(texts, pa.string()),), pa.array(errors, pa.string()) if None in texts else None
        )

    return Careful(decode, TEXT)


def decoded(made: Careful, messages: list[bytes]) -> list[str]:
    """By message its text, or what is wrong with it."""
    found = made(pa.array(messages, pa.binary()))
    (texts,) = found.columns
    errors = found.errors if found.errors is not None else pa.nulls(len(messages), pa.string())
    return [text or error for text, error in zip(texts.to_pylist(), errors.to_pylist(), strict=True)]


@pytest.mark.parametrize("count", [1, 2, 3, 100])
def test_messages_that_break_a_decoder_are_bad_messages_and_cost_no_others(count: int) -> None:
    for place in {0, count // 2, count - 1}:
        messages = [b"%d" % number for number in range(count)]
        messages[place] = b"!"
        made = decoder(lambda found: b"!" in found)
        wanted = [WHY if number == place else str(number) for number in range(count)]
        assert decoded(made, messages) == wanted
        assert len(made.defects) == 1
        assert "raise error(7)" in made.defects[0]


def test_errors_of_messages_stay_beside_those_that_nobody_foresaw() -> None:
    made = decoder(lambda found: b"!" in found)
    assert decoded(made, [b"a", b"bad", b"!", b"b"]) == ["a", "TEXT: bad", WHY, "b"]


def test_what_fails_together_and_not_apart_is_decoded_apart() -> None:
    made = decoder(lambda found: len(found) > 10)
    messages = [b"%d" % number for number in range(100)]
    assert decoded(made, messages) == [str(number) for number in range(100)]
    assert len(made.defects) == 1


def test_on_many_messages_it_is_not_the_messages() -> None:
    few, many = KAFKA_UNFORESEEN_MAX, KAFKA_UNFORESEEN_MAX + 1
    assert decoded(decoder(lambda found: b"!" in found), [b"!", b"a"] * few) == [WHY, "a"] * few
    calls = 0

    def breaks(found: list[bytes]) -> bool:
        nonlocal calls
        calls += 1
        return b"!" in found

    with pytest.raises(KeyError):
        decoded(decoder(breaks), [b"!"] * 10_000)
    assert calls < 100, "it is given up early"
    with pytest.raises(KeyError):
        decoded(decoder(breaks), [b"!", b"a"] * many)


@pytest.mark.parametrize("error", [MemoryError, OSError, ImportError, TransientError])
def test_what_the_machine_lacks_is_no_message_s_fault(error: type[BaseException]) -> None:
    with pytest.raises(error):
        decoded(decoder(lambda found: b"!" in found, error), [b"a", b"!"])
