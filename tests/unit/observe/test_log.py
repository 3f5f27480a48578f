"""Diagnostics: an event is one line whose facts can be read back.

Method: configure a stream of our own with a clock that stands still, log, and
compare the text.
"""

from __future__ import annotations

import io
import json
import logging
import threading
from collections.abc import Iterator

import pytest
import structlog

from headwater.observe import log
from headwater.options import LogFormat, LogLevel, LogOptions


class StoppedClock:
    """2026-11-15 08:00:12.034 UTC, for ever."""

    def now_ms(self) -> int:
        return 1_794_729_612_034

    def monotonic_s(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        raise AssertionError(f"slept {seconds}")


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level, hook = list(root.handlers), root.level, threading.excepthook
    yield
    threading.excepthook = hook
    structlog.reset_defaults()
    logging.captureWarnings(False)
    root.handlers[:] = handlers
    root.setLevel(level)


def configured(format: LogFormat = "keyvalue", level: LogLevel = "info") -> io.StringIO:
    stream = io.StringIO()
    log.configure(LogOptions(level=level, format=format), stream, StoppedClock())
    return stream


def test_a_warning_has_level_event_and_facts_in_order() -> None:
    stream = configured()
    log.logger(source="pg").warning(
        "ingestion stalled", error='could not connect to "db:5432"', attempt=4, retry_in_s=8
    )
    assert stream.getvalue() == (
        "2026-11-15T08:00:12.034Z WARN  ingestion stalled  "
        "source=pg error='could not connect to \"db:5432\"' attempt=4 retry_in_s=8\n"
    )


def test_an_event_without_facts_ends_with_the_event() -> None:
    assert log.format_line("INFO", "headwater stopped", {}) == "INFO  headwater stopped"


@pytest.mark.parametrize("value", ["", "two words", "a=b", "it's", "line\nbreak"])
def test_a_value_that_could_be_mistaken_is_quoted(value: str) -> None:
    assert log.format_line("INFO", "x", {"k": value}) == f"INFO  x  k={value!r}"


def test_json_is_one_object_a_line_and_keeps_numbers() -> None:
    stream = configured("json")
    log.logger().error("invariant violated", tick=1771, what="went back")
    assert json.loads(stream.getvalue()) == {
        "at": "2026-11-15T08:00:12.034Z",
        "level": "ERROR",
        "event": "invariant violated",
        "tick": 1771,
        "what": "went back",
    }


@pytest.mark.parametrize("format", ["console", "keyvalue", "json"])
def test_an_exception_brings_its_traceback(format: LogFormat) -> None:
    stream = configured(format)
    try:
        raise KeyError("lost")
    except KeyError:
        log.logger().exception("bug in a session")
    assert "ERROR" in stream.getvalue()
    assert "KeyError: 'lost'" in stream.getvalue()


def test_events_below_the_level_are_dropped() -> None:
    stream = configured(level="warn")
    log.logger().info("unheard")
    log.logger().warning("heard")
    assert "unheard" not in stream.getvalue()
    assert "heard" in stream.getvalue()


def test_warnings_of_libraries_come_out_the_same_way_and_their_chatter_does_not() -> None:
    stream = configured(level="debug")
    logging.getLogger("uvicorn.error").info("Started server")
    logging.getLogger("py4j").warning("lost %s sockets", 2)
    assert stream.getvalue() == (
        "2026-11-15T08:00:12.034Z WARN  library message  message='lost 2 sockets' logger=py4j\n"
    )


def test_auto_is_for_people_on_a_terminal_and_for_files_elsewhere() -> None:
    assert log.chosen_format("auto", terminal=True) == "console"
    assert log.chosen_format("auto", terminal=False) == "keyvalue"
    assert log.chosen_format("json", terminal=True) == "json"


def test_a_thread_that_ends_by_an_error_leaves_a_line() -> None:
    stream = configured()

    def break_down() -> None:
        raise MemoryError("no more")

    thread = threading.Thread(target=break_down, name="of the test")
    thread.start()
    thread.join()
    line, _, trace = stream.getvalue().partition("\n")
    assert line.endswith("ERROR a thread ended by an error  thread='of the test'")
    assert "MemoryError: no more" in trace
