"""Options: what CREATE SOURCE may say, what it is told when it may not, and how offsets follow the clock.

Method: tables of statements' options with the stored value or the exact message.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headwater.core.errors import InvariantViolation, UserError
from headwater.core.frontier import OffsetFrontier
from headwater.sources.load_generator import (
    KIND,
    metadata_columns,
    pace,
    read,
    references,
    resolve_options,
)
from tests.unit.sources.load_generator.upstreams import KEY_VALUE, NOW_MS, export_of, small

SECOND_MS = 1_000


def test_options_are_completed_with_defaults_and_are_plain_json() -> None:
    options = resolve_options("AUCTION", {}, NOW_MS)
    assert options == {
        "generator": "auction",
        "started_at_ms": NOW_MS,
        "tick_interval_ms": 1_000,
        "as_of": 0,
        "up_to": None,
        "seed": 0,
    }
    assert json.loads(json.dumps(resolve_options("key value", KEY_VALUE, 0))) == resolve_options(
        "KEY VALUE", KEY_VALUE, 0
    )


@pytest.mark.parametrize(
    ("generator", "given", "name", "value"),
    [
        ("TPCH", {}, "scale_factor", 0.01),
        ("TPCH", {}, "tick_interval_ms", None),
        ("TPCH", {"SCALE FACTOR": "0.5"}, "scale_factor", 0.5),
        ("COUNTER", {}, "max_cardinality", None),
        ("COUNTER", {"MAX CARDINALITY": "8"}, "max_cardinality", 8),
        ("CLOCK", {"TICK INTERVAL": "100ms"}, "tick_interval_ms", 100),
        ("CLOCK", {"TICK INTERVAL": "50 microseconds"}, "tick_interval_ms", 0.05),
        ("CLOCK", {"tick_interval": "1 day"}, "tick_interval_ms", 86_400_000),
        ("KEY VALUE", KEY_VALUE, "transactional_snapshot", True),
        ("KEY VALUE", KEY_VALUE | {"TRANSACTIONAL SNAPSHOT": "false"}, "transactional_snapshot", False),
        ("KEY VALUE", KEY_VALUE | {"TRANSACTIONAL SNAPSHOT": None}, "transactional_snapshot", True),
        ("KEY VALUE", KEY_VALUE, "tick_interval_ms", None),
    ],
)
def test_an_option_is_stored(generator: str, given: dict[str, Any], name: str, value: object) -> None:
    assert resolve_options(generator, given, NOW_MS)[name] == value


@pytest.mark.parametrize(
    ("generator", "given", "message"),
    [
        ("AUCTION", {"SCALE FACTOR": 1}, "AUCTION load generators do not support SCALE FACTOR values"),
        ("CLOCK", {"MAX CARDINALITY": 1}, "CLOCK load generators do not support MAX CARDINALITY values"),
        ("KEY VALUE", KEY_VALUE | {"AS OF": 1}, "KEY VALUE load generators do not support AS OF values"),
        ("COUNTER", {"SEED": 1}, "COUNTER load generators do not support SEED values"),
        ("COUNTER", {"AS OF": 5, "UP TO": 4}, "UP TO cannot be less than AS OF"),
        ("COUNTER", {"AS OF": -1}, "AS OF must be between 0 and 9223372036854775807, not -1"),
        ("COUNTER", {"AS OF": "many"}, "AS OF must be a whole number, not many"),
        ("COUNTER", {"UP TO": 1.5}, "UP TO must be a whole number, not 1.5"),
        ("COUNTER", {"UP TO": None}, "UP TO requires a value"),
        ("COUNTER", {"MAX CARDINALITY": 0}, "MAX CARDINALITY must be larger than 0"),
        ("COUNTER", {"TICK INTERVAL": "0s"}, "TICK INTERVAL must be larger than 0"),
        ("COUNTER", {"TICK INTERVAL": "-1s"}, "TICK INTERVAL must be larger than 0"),
        ("COUNTER", {"TICK INTERVAL": 5}, "TICK INTERVAL must be an interval, not 5"),
        ("TPCH", {"SCALE FACTOR": 0}, "unsupported scale factor 0"),
        ("TPCH", {"SCALE FACTOR": -1.5}, "unsupported scale factor -1.5"),
        ("TPCH", {"SCALE FACTOR": "big"}, "unsupported scale factor big"),
        ("TPCH", {"SCALE FACTOR": "nan"}, "unsupported scale factor nan"),
        ("KEY VALUE", {}, "LOAD GENERATOR KEY VALUE requires KEYS"),
        ("KEY VALUE", {"KEYS": 8}, "LOAD GENERATOR KEY VALUE requires SNAPSHOT ROUNDS"),
        ("KEY VALUE", KEY_VALUE | {"KEYS": 25}, "KEYS must be a multiple of PARTITIONS"),
        ("KEY VALUE", KEY_VALUE | {"KEYS": 26}, "PARTITIONS * BATCH SIZE must be a divisor of KEYS"),
        ("KEY VALUE", KEY_VALUE | {"BATCH SIZE": 24}, "KEYS must be larger than BATCH SIZE"),
        ("KEY VALUE", KEY_VALUE | {"SNAPSHOT ROUNDS": 0}, "SNAPSHOT ROUNDS must be larger than 0"),
        ("KEY VALUE", KEY_VALUE | {"KEYS": 0}, "KEYS must be larger than 0"),
        ("KEY VALUE", KEY_VALUE | {"PARTITIONS": 0}, "PARTITIONS must be larger than 0"),
        ("KEY VALUE", KEY_VALUE | {"BATCH SIZE": 0}, "BATCH SIZE must be larger than 0"),
        ("KEY VALUE", KEY_VALUE | {"VALUE SIZE": 0}, "VALUE SIZE must be larger than 0"),
        ("KEY VALUE", KEY_VALUE | {"VALUE SIZE": 10**9}, "VALUE SIZE must not be larger than 16777216"),
        (
            "KEY VALUE",
            KEY_VALUE | {"TRANSACTIONAL SNAPSHOT": "maybe"},
            "TRANSACTIONAL SNAPSHOT must be true or false, not maybe",
        ),
        ("WEATHER", {}, "unknown load generator WEATHER"),
    ],
)
def test_an_option_is_refused_with_its_reason(generator: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        resolve_options(generator, given, NOW_MS)
    assert caught.value.message == message
    assert caught.value.sqlstate in ("22023", "42601", "42704")


@pytest.mark.parametrize(
    ("given", "elapsed_ms", "offset"),
    [
        ({}, 0, 1),
        ({}, 999, 1),
        ({}, 1_000, 2),
        ({}, 3_600 * SECOND_MS, 3_601),
        ({}, -5_000, 1),
        ({"AS OF": 300}, 0, 301),
        ({"AS OF": 300}, 2_500, 303),
        ({"TICK INTERVAL": "10ms"}, 1_000, 101),
        ({"TICK INTERVAL": "250 us"}, 1, 5),
        ({"UP TO": 3}, 1_000, 2),
        ({"UP TO": 3}, 2_000, None),
        ({"UP TO": 3}, 9_000, None),
        ({"AS OF": 4, "UP TO": 5}, 0, None),
        ({"UP TO": 0}, 0, None),
    ],
)
def test_offsets_follow_the_wall_clock(given: dict[str, Any], elapsed_ms: int, offset: int | None) -> None:
    options = resolve_options("COUNTER", given, NOW_MS)
    assert read.probe(options, NOW_MS + elapsed_ms) == OffsetFrontier(offset)


@pytest.mark.parametrize(
    ("given", "offsets"),
    [
        ({}, [None, None]),
        ({"TICK INTERVAL": "1s"}, [1, 3]),
        ({"TRANSACTIONAL SNAPSHOT": False}, [None, None]),
        ({"TRANSACTIONAL SNAPSHOT": False, "TICK INTERVAL": "1s"}, [8, 10]),
    ],
)
def test_the_snapshot_of_key_value_exists_at_once(given: dict[str, Any], offsets: list[int | None]) -> None:
    options = resolve_options("KEY VALUE", KEY_VALUE | given, NOW_MS)
    probed = [read.probe(options, NOW_MS + elapsed_ms) for elapsed_ms in (0, 2_000)]
    assert probed == [OffsetFrontier(offset) for offset in offsets]


def test_the_time_of_an_offset_never_lies_before_the_epoch() -> None:
    options = resolve_options("CLOCK", {"AS OF": 2**62}, NOW_MS)
    times = pace.time_us(options, np.array([0, 2**62 - 1, 2**62, 2**62 + 1]))
    assert (times - NOW_MS * 1_000).tolist() == [-NOW_MS * 1_000, -1_000_000, 0, 1_000_000]


def test_a_source_starts_at_zero_and_shows_its_offset_as_progress() -> None:
    assert KIND.open(
        small("clock"), str.encode, None, Path(), lambda message, hint: False
    ).start == OffsetFrontier(0)
    assert KIND.progress_rows(7) == [(7,)]
    assert KIND.progress_rows(None) == [(None,)]
    assert [(column.name, str(column.type)) for column in KIND.progress_columns({})] == [("offset", "uint8")]
    assert KIND.offset(OffsetFrontier(None)) is None
    assert [column.name for column in metadata_columns(small("key value"))] == ["offset"]
    assert metadata_columns(small("tpch")) == ()


def test_a_table_that_keeps_rows_otherwise_than_they_come_is_a_bug() -> None:
    options = small("clock")
    (reference,) = references(options)
    export = export_of(reference)
    wrong = type(export)(export.table_id, export.reference, export.relation, export.columns, "appended")
    with pytest.raises(InvariantViolation, match=r"keeps mz_load_generators\.clock\.clock appended"):
        read.plan_snapshot(options, wrong, OffsetFrontier(1), 10)


def test_an_endless_generator_has_no_end_to_read_to() -> None:
    options = small("clock")
    with pytest.raises(InvariantViolation, match="an end that it has not"):
        read.plan_read(options, OffsetFrontier(0), OffsetFrontier(None), (), 10)
