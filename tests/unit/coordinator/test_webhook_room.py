"""Who makes room when bodies of requests take too much of it."""

from __future__ import annotations

import pytest

from headwater.coordinator.webhook_room import Arriving, Room


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Room:
    monkeypatch.setattr("headwater.coordinator.webhook_room.WEBHOOK_BYTES_MAX", 100)
    return Room()


def arriving(room: Room, host: str, size: int) -> Arriving:
    body = Arriving(host, lambda: None)
    room.begin(body)
    assert room.add(body, b"x" * size)
    return body


def test_the_oldest_of_the_greediest_address_makes_room(room: Room) -> None:
    one = arriving(room, "a", 50)
    few, many = arriving(room, "b", 25), arriving(room, "b", 25)
    assert not one.pushed_out
    another = arriving(room, "c", 10)
    assert [body.pushed_out for body in (one, few, many, another)] == [True, False, False, False]
    assert room.add(few, b"y" * 40)
    assert bytes(few.data) == b"x" * 25 + b"y" * 40
    assert not any(body.pushed_out for body in (few, many, another))


def test_whoever_takes_most_makes_way_itself(room: Room) -> None:
    other = arriving(room, "a", 30)
    body = arriving(room, "b", 60)
    assert not room.add(body, b"x" * 20)
    assert not other.pushed_out


def test_a_body_that_is_there_makes_no_way_and_leaves_its_room_once(room: Room) -> None:
    there = arriving(room, "a", 90)
    room.there(there)
    body = Arriving("b", lambda: None)
    room.begin(body)
    assert not room.add(body, b"x" * 20)
    room.end(body)
    room.end(there)
    room.end(there)
    assert arriving(room, "b", 100)
