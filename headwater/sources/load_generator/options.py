"""The options of LOAD GENERATOR, checked and completed once, at CREATE SOURCE.

What comes out is kept in the catalog and is all that a generator ever knows:

    generator           auction | clock | counter | datums | key_value | marketing | tpch
    started_at_ms       the wall clock at creation; offsets are counted from here
    tick_interval_ms    between two offsets; null is none: nothing happens after the start
    as_of, up_to        offsets that exist at once; where the upstream ends (null: never)
    seed                of all random numbers
    scale_factor                                     TPCH
    max_cardinality                                  COUNTER
    keys, snapshot_rounds, transactional_snapshot,
    value_size, partitions, batch_size               KEY VALUE
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from headwater.core import limits
from headwater.core.errors import UserError
from headwater.core.interval import parse_interval

TICK_INTERVAL_MS_DEFAULT = 1_000
SCALE_FACTOR_DEFAULT = 0.01
SEED_DEFAULT = 0

_WHOLE_MAX = 2**63 - 1

_TICKS = ("TICK INTERVAL", "AS OF", "UP TO")
_KEY_VALUE_NEEDED = ("KEYS", "SNAPSHOT ROUNDS", "VALUE SIZE", "SEED", "PARTITIONS", "BATCH SIZE")

OPTIONS_BY_GENERATOR: dict[str, tuple[str, ...]] = {
    "AUCTION": _TICKS,
    "CLOCK": _TICKS,
    "COUNTER": (*_TICKS, "MAX CARDINALITY"),
    "DATUMS": _TICKS,
    "KEY VALUE": ("TICK INTERVAL", "TRANSACTIONAL SNAPSHOT", *_KEY_VALUE_NEEDED),
    "MARKETING": _TICKS,
    "TPCH": (*_TICKS, "SCALE FACTOR"),
}
"""The options that each generator takes, as written in SQL."""

OPTION_NAMES: tuple[str, ...] = tuple(
    dict.fromkeys(name for names in OPTIONS_BY_GENERATOR.values() for name in names)
)


def resolve_options(generator: str, given: Mapping[str, Any], now_ms: int) -> dict[str, Any]:
    """The options of a new source, from those written in SQL.

    `generator` and the names in `given` are as in SQL (`KEY VALUE`, `TICK INTERVAL`), in any
    case; values are literals: numbers, text, booleans, None for an option without a value.
    """
    kind = _words(generator)
    if kind not in OPTIONS_BY_GENERATOR:
        raise UserError(f"unknown load generator {kind}", "42704")
    written = {_words(name): value for name, value in given.items()}
    for name in written:
        if name not in OPTIONS_BY_GENERATOR[kind]:
            raise UserError(f"{kind} load generators do not support {name} values", "22023")
    as_of = _whole("AS OF", written.get("AS OF", 0))
    up_to = None if "UP TO" not in written else _whole("UP TO", written["UP TO"])
    if up_to is not None and up_to < as_of:
        raise UserError("UP TO cannot be less than AS OF", "22023")
    default_ms = None if kind in ("TPCH", "KEY VALUE") else TICK_INTERVAL_MS_DEFAULT
    return {
        "generator": kind.lower().replace(" ", "_"),
        "started_at_ms": now_ms,
        "tick_interval_ms": _interval_ms(written["TICK INTERVAL"])
        if "TICK INTERVAL" in written
        else default_ms,
        "as_of": as_of,
        # What exists at once is told at the offset AS OF: if the upstream ends there, nothing is.
        "up_to": 0 if up_to is not None and up_to <= as_of else up_to,
        "seed": SEED_DEFAULT,
        **_own_options(kind, written),
    }


def _own_options(kind: str, written: Mapping[str, Any]) -> dict[str, Any]:
    match kind:
        case "COUNTER":
            most = written.get("MAX CARDINALITY")
            given = "MAX CARDINALITY" in written
            return {"max_cardinality": _positive("MAX CARDINALITY", most) if given else None}
        case "TPCH":
            return {"scale_factor": _scale_factor(written.get("SCALE FACTOR", SCALE_FACTOR_DEFAULT))}
        case "KEY VALUE":
            return _key_value(written)
    return {}


def _key_value(written: Mapping[str, Any]) -> dict[str, Any]:
    for name in _KEY_VALUE_NEEDED:
        if name not in written:
            raise UserError(f"LOAD GENERATOR KEY VALUE requires {name}", "42601")
    keys = _positive("KEYS", written["KEYS"], limits.GENERATOR_KEYS_MAX)
    rounds = _positive("SNAPSHOT ROUNDS", written["SNAPSHOT ROUNDS"])
    value_size = _positive("VALUE SIZE", written["VALUE SIZE"], limits.GENERATOR_VALUE_BYTES_MAX)
    partitions = _positive("PARTITIONS", written["PARTITIONS"])
    batch_size = _positive("BATCH SIZE", written["BATCH SIZE"])
    if keys % partitions:
        raise UserError("KEYS must be a multiple of PARTITIONS", "22023")
    if keys <= batch_size:
        raise UserError("KEYS must be larger than BATCH SIZE", "22023")
    if keys % (partitions * batch_size):
        raise UserError("PARTITIONS * BATCH SIZE must be a divisor of KEYS", "22023")
    return {
        "keys": keys,
        "snapshot_rounds": rounds,
        "transactional_snapshot": _boolean(
            "TRANSACTIONAL SNAPSHOT", written.get("TRANSACTIONAL SNAPSHOT", True)
        ),
        "value_size": value_size,
        "seed": _whole("SEED", written["SEED"]),
        "partitions": partitions,
        "batch_size": batch_size,
    }


def _words(name: str) -> str:
    return " ".join(name.upper().replace("_", " ").split())


def _whole(name: str, value: Any) -> int:
    """A whole number from 0 on."""
    if value is None:
        raise UserError(f"{name} requires a value", "42601")
    try:
        number = None if isinstance(value, bool) else Decimal(str(value).strip())
    except ArithmeticError:
        number = None
    if number is None or not number.is_finite() or number != int(number):
        raise UserError(f"{name} must be a whole number, not {value}", "22023")
    if not 0 <= number <= _WHOLE_MAX:
        raise UserError(f"{name} must be between 0 and {_WHOLE_MAX}, not {value}", "22023")
    return int(number)


def _positive(name: str, value: Any, most: int = _WHOLE_MAX) -> int:
    number = _whole(name, value)
    if number == 0:
        raise UserError(f"{name} must be larger than 0", "22023")
    if number > most:
        raise UserError(f"{name} must not be larger than {most}", "22023")
    return number


def _boolean(name: str, value: Any) -> bool:
    """A boolean; an option without a value means true."""
    text = "true" if value is None else str(value).lower()
    if text not in ("true", "false", "t", "f", "on", "off", "yes", "no"):
        raise UserError(f"{name} must be true or false, not {value}", "22023")
    return text in ("true", "t", "on", "yes")


def _scale_factor(value: Any) -> float:
    """A scale factor with at least one supplier."""
    try:
        factor = 0.0 if value is None or isinstance(value, bool) else float(value)
    except ValueError:
        factor = 0.0
    if not 0.0001 <= factor <= limits.GENERATOR_SCALE_FACTOR_MAX:
        raise UserError(
            f"unsupported scale factor {value}",
            "22023",
            detail=f"A scale factor is a number between 0.0001 and {limits.GENERATOR_SCALE_FACTOR_MAX}.",
        )
    return factor


def _interval_ms(value: Any) -> int | float:
    """An interval's length in milliseconds; a fraction when it is not whole."""
    if not isinstance(value, str):
        raise UserError(
            f"TICK INTERVAL must be an interval, not {value}",
            "22023",
            hint="Write it as text, for example '1s' or '100ms'.",
        )
    total_us = parse_interval(value).total_microseconds()
    if total_us <= 0:
        raise UserError("TICK INTERVAL must be larger than 0", "22023")
    return total_us // 1_000 if total_us % 1_000 == 0 else total_us / 1_000
