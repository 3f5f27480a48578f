"""Headers as columns are what a walk over the messages finds, one after the other."""

from __future__ import annotations

import random
from typing import Any

import pytest
from confluent_kafka import Message

from headwater.sources.kafka.consume import Messages
from headwater.sources.kafka.headers import Headers

Pairs = list[tuple[str, Any]]


def column(messages: list[Message], name: str, binary: bool) -> tuple[list[Any], dict[int, str]]:
    """The values, and what is wrong with whom, by a plain walk."""
    values: list[Any] = []
    wrong: dict[int, str] = {}
    for place, message in enumerate(messages):
        pairs: Any = message.headers() or []
        value = None
        matching = [value for key, value in pairs if key == name]
        if matching:
            value = matching[-1]
        else:
            wrong[place] = "not found: " + ", ".join(key for key, _ in pairs)
        if value is not None and not binary:
            try:
                value = value.decode()
            except UnicodeDecodeError:
                wrong[place], value = "ill-formed", None
            if value is not None and "\0" in value:  # no text of PostgreSQL
                wrong[place], value = "a zero byte", None
        values.append(value)
    return values, wrong


@pytest.mark.parametrize("seed", range(20))
def test_headers_are_those_of_their_messages(seed: int) -> None:
    chance = random.Random(seed)

    def pairs() -> Pairs | None:
        if chance.random() < 0.2:
            return None
        values = (b"", b"x", "ä".encode(), None) + ((b"\xff", b"a\0b") if chance.random() < 0.1 else ())
        return [(chance.choice("abc"), chance.choice(values)) for _ in range(chance.randrange(4))]

    messages = [Message(topic="t", headers=pairs()) for _ in range(chance.choice((1, 5, 200)))]
    walked: list[Any] = [message.headers() or [] for message in messages]
    told = Headers(Messages("t", messages)).all().to_pylist()
    assert told == [[{"key": key, "value": value} for key, value in found] for found in walked]
    for binary in (True, False):
        headers = Headers(Messages("t", messages))
        values, wrong = column(messages, "a", binary)
        assert headers.column("a", binary).to_pylist() == values
        assert headers.missing.keys() == wrong.keys()
        for place, why in wrong.items():
            expected = why.removeprefix("not found: ")
            said = headers.missing[place]
            assert said.endswith(f"[{expected}]") or why in said


class Odd(Message):
    """As the client gives a message with a header whose key is no text: it must not be asked again."""

    asked = False

    def headers(self) -> Any:
        assert not self.asked
        self.asked = True
        return [(b"\xff".decode(), b"x")]


def test_a_key_that_is_no_text_is_wrong_in_its_message_alone() -> None:
    messages = [Message(topic="t", headers=[("a", b"1")]), Odd(topic="t"), Message(topic="t")]
    found = Messages("t", messages)
    headers = Headers(found)
    assert headers.all().to_pylist() == [[{"key": "a", "value": b"1"}], [], []]
    assert headers.missing.keys() == {1}
    headers = Headers(found.take([0, 1]))
    assert headers.column("a", binary=False).to_pylist() == ["1", None]
    assert headers.missing.keys() == {1}
    assert "in the key of a header" in headers.missing[1]
