"""Counters of sources and tables: what came, what was written, what is durable, and how long a start took."""

from __future__ import annotations

from typing import Any

from structlog.testing import capture_logs

from headwater.cluster.counters import Counters, Tallies
from headwater.core.change import FetchedFile, FileEntry, Received
from headwater.core.limits import DEFECTS_TOLD_MAX
from headwater.core.protocol import Statistics


class Clock:
    """Says what it was told."""

    now_s = 0.0

    def monotonic_s(self) -> float:
        return self.now_s

    def now_ms(self) -> int:
        return int(self.now_s * 1000)

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


def test_a_snapshot_is_staged_by_chunks_and_committed_as_a_whole() -> None:
    counters = Counters()
    counters.fetched(3, Received(3, 30))
    counters.fetched(2, Received(2, 20))
    assert (counters.updates_staged, counters.updates_committed) == (5, 0)
    counters.filled(5)
    assert (counters.updates_staged, counters.updates_committed) == (5, 5)
    counters.ticked([FileEntry("f", 4, 1)], Received(2, 7))
    assert counters.values() == {
        "messages_received": 7,
        "bytes_received": 57,
        "updates_staged": 9,
        "updates_committed": 9,
    }


def test_rows_that_another_process_has_staged_are_committed_all_the_same() -> None:
    counters = Counters()
    counters.fetched(2, Received(2, 20))
    counters.filled(10)
    assert (counters.updates_staged, counters.updates_committed) == (10, 10)
    assert counters.received == Received(2, 20)


def test_the_time_a_start_took_is_taken_once_and_again_after_a_pause() -> None:
    counters = Counters()
    assert not counters.arrive(1.0), "it has not begun"
    counters.begin(1.0)
    counters.begin(2.0)
    assert counters.arrive(3.5)
    assert not counters.arrive(9.0)
    assert counters.gauges["rehydration_latency_ms"] == 2_500
    counters.rest()
    assert counters.gauges == {}
    counters.begin(20.0)
    assert counters.arrive(20.25)
    assert counters.gauges["rehydration_latency_ms"] == 250


def test_all_rows_that_were_read_again_are_known_though_few_of_them_differed() -> None:
    tallies = Tallies("u1", lambda _: None, Clock())
    tallies.progress("u2", 50, 0)
    tallies.fetched("u2", FetchedFile("a", 40, 9, received=Received(40, 400)))
    tallies.progress("u2", 50, 40)
    tallies.filled("u2", [FileEntry("b", 2, 9)], differences=True)
    values = tallies.of("u2").values()
    assert (values["snapshot_records_known"], values["snapshot_records_staged"]) == (40, 40)
    assert (values["snapshot_committed"], values["updates_committed"]) == (True, 2)


def test_a_tick_counts_for_its_tables_and_for_the_source() -> None:
    heard: list[Any] = []
    tallies = Tallies("u1", heard.append, Clock())
    tallies.begin()
    tallies.fetched("u2", FetchedFile("a", 2, 9, received=Received(2, 40)))
    tallies.fetched("u3", FileEntry("b", 2, 9))
    tallies.filled("u2", [FileEntry("a", 2, 9)])
    tallies.ticked(
        {"u2": [FileEntry("c", 2, 9)]}, {"u2": Received(1, 5), "u3": Received(4, 8)}, {"offset": 6}
    )
    tallies.arrive()
    newest = {message.id: message.values for message in heard if isinstance(message, Statistics)}
    assert newest["u1"]["messages_received"] == 5
    assert (newest["u1"]["ticks"], newest["u1"]["offset"]) == (1, 6)
    assert newest["u1"]["rehydration_latency_ms"] == 0
    assert (newest["u2"]["messages_received"], newest["u2"]["updates_committed"]) == (3, 4)
    assert newest["u2"]["snapshot_committed"] is True
    assert newest["u3"]["messages_received"] == 4, (
        "a copy came from no upstream, and messages without rows count"
    )
    assert {message.id for message in tallies.messages()} == {"u1", "u2", "u3"}


def test_where_an_error_came_about_is_logged_once_for_each_table() -> None:
    tallies = Tallies("u1", lambda message: None, Clock())
    with capture_logs() as logged:
        for defect in ("first", "first", "second"):
            tallies.defective({"u2": Received(1, 1, (defect,)), "u3": Received(1, 1)})
        tallies.fetched("u4", FetchedFile("f", 1, 1, received=Received(1, 1, ("first",))))
    assert [(line["table"], line["defect"]) for line in logged] == [
        *(("u2", "first"), ("u2", "second"), ("u4", "first")),
    ]


def test_of_many_errors_some_are_told() -> None:
    told = Received()
    for number in range(100):
        told += Received(1, 2, (str(number),))
    assert told == Received(100, 200, tuple(map(str, range(DEFECTS_TOLD_MAX))))
