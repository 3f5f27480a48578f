"""Diagnostics: one event is one line on stderr.

    WARN  ingestion stalled  source=pg error='could not connect' attempt=4 retry_in_s=8
    level event              facts

The event is a constant text in lower case and everything that varies is a fact,
so that lines can be searched and counted.  Three formats:

    console    for a person: local clock, colours
    keyvalue   for a file: the same line with a full timestamp in UTC
    json       for a collector: one object a line, keys at, level, event, then the facts

`auto` is console on a terminal and keyvalue elsewhere.  Records of libraries
(uvicorn, py4j) that use the standard library's logging come out the same way,
from warnings on.

Not here: what users are told (core/errors.py), numbers (observe/metrics.py).
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from collections.abc import Mapping, MutableMapping
from datetime import UTC, datetime
from typing import Any, TextIO, cast

import structlog
from structlog.typing import FilteringBoundLogger, WrappedLogger

from headwater.core.clock import SYSTEM_CLOCK, Clock
from headwater.options import LogFormat, LogLevel, LogOptions

LEVELS: Mapping[LogLevel, int] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
}
COLOURS = {"DEBUG": "2", "INFO": "32", "WARN": "33", "ERROR": "31;1"}
METHOD_LEVELS = {"warning": "WARN", "critical": "ERROR", "exception": "ERROR"}

Logger = FilteringBoundLogger


def logger(**facts: object) -> Logger:
    """A logger whose lines all carry these facts."""
    return cast(Logger, structlog.get_logger(**facts))


def configure(options: LogOptions, stream: TextIO | None = None, clock: Clock = SYSTEM_CLOCK) -> None:
    """Set up this process's diagnostics; called once, by whoever owns the process."""
    stream = stream or sys.stderr
    terminal = stream.isatty()
    renderer = _Renderer(
        format=chosen_format(options.format, terminal),
        coloured=terminal and "NO_COLOR" not in os.environ,
        clock=clock,
    )
    structlog.configure(
        processors=[structlog.processors.format_exc_info, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[options.level]),
        logger_factory=structlog.WriteLoggerFactory(file=stream),
        cache_logger_on_first_use=False,
    )
    logging.captureWarnings(True)
    root = logging.getLogger()
    root.handlers[:] = [_ForeignRecords()]
    root.setLevel(max(LEVELS[options.level], logging.WARNING))
    threading.excepthook = _thread_ended


def _thread_ended(ended: threading.ExceptHookArgs) -> None:
    """No thread goes without a word: what nobody caught in it is a line like others."""
    if ended.exc_type is SystemExit:
        return
    name = "unknown" if ended.thread is None else ended.thread.name
    error = (ended.exc_type, ended.exc_value, ended.exc_traceback)
    logger().error("a thread ended by an error", thread=name, exc_info=error)


def chosen_format(wanted: LogFormat, terminal: bool) -> LogFormat:
    """What `auto` means here."""
    if wanted != "auto":
        return wanted
    return "console" if terminal else "keyvalue"


def format_line(level: str, event: str, facts: Mapping[str, object]) -> str:
    """The line without its time: level, event, facts."""
    pairs = " ".join(f"{key}={_shown(value)}" for key, value in facts.items())
    return f"{level:<5} {event}" + (f"  {pairs}" if pairs else "")


def _shown(value: object) -> str:
    """A fact's value; quoted when it could be mistaken for several."""
    text = value if isinstance(value, str) else str(value)
    plain = text != "" and text.isprintable() and not any(c in " '\"=" for c in text)
    return text if plain else repr(text)


class _Renderer:
    """The last step of structlog's chain: an event's facts to a line of text."""

    def __init__(self, format: LogFormat, coloured: bool, clock: Clock) -> None:
        self.format = format
        self.coloured = coloured
        self.clock = clock

    def __call__(self, _: WrappedLogger, method: str, facts: MutableMapping[str, Any]) -> str:
        level = METHOD_LEVELS.get(method, method.upper())
        event = str(facts.pop("event", ""))
        traceback = facts.pop("exception", None)
        at = datetime.fromtimestamp(self.clock.now_ms() / 1_000, tz=UTC)
        if self.format == "json":
            named = {"at": _timestamp(at), "level": level, "event": event, **facts}
            if traceback:
                named["traceback"] = traceback
            return json.dumps(named, default=str)
        if self.format == "console":
            line = self._console_line(at, level, event, facts)
        else:
            line = f"{_timestamp(at)} {format_line(level, event, facts)}"
        return f"{line}\n{traceback}" if traceback else line

    def _console_line(self, at: datetime, level: str, event: str, facts: Mapping[str, object]) -> str:
        clock = at.astimezone().strftime("%H:%M:%S")
        line = format_line(level, event, facts)
        if not self.coloured:
            return f"{clock} {line}"
        return f"\x1b[2m{clock}\x1b[0m \x1b[{COLOURS.get(level, '0')}m{line[:5]}\x1b[0m{line[5:]}"


def _timestamp(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class _ForeignRecords(logging.Handler):
    """Brings records of the standard library's logging into our lines."""

    def emit(self, record: logging.LogRecord) -> None:
        facts: dict[str, object] = {"logger": record.name}
        if record.exc_info:
            facts["exc_info"] = record.exc_info
        level = min(max(record.levelno, logging.DEBUG), logging.ERROR)
        # The message is a fact, not the event: it is not ours and varies.
        logger().log(level, "library message", message=record.getMessage().strip(), **facts)
