"""Headers as columns are what a walk over the messages finds, one after the other."""

from __future__ import annotations

import random
from typing import Any

import pytest
from confluent_kafka import Message

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
    told = Headers(messages).all().to_pylist()
    assert told == [[{"key": key, "value": value} for key, value in found] for found in walked]
    for binary in (True, False):
        headers = Headers(messages)
        values, wrong = column(messages, "a", binary)
        assert headers.column("a", binary).to_pylist() == values
        assert headers.missing.keys() == wrong.keys()
        for place, why in wrong.items():
            expected = why.removeprefix("not found: ")
            said = headers.missing[place]
            assert said.endswith(f"[{expected}]") or why in said
