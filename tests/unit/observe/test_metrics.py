"""Metrics: the functions move the samples they name, and a dropped source leaves none behind.

Method: labels that no other test uses, and differences rather than values.
"""

from __future__ import annotations

import pytest

from headwater.observe import metrics


def test_a_tick_counts_once_and_adds_its_rows_and_bytes() -> None:
    metrics.ticked("metrics_a", seconds=0.2, row_count=10, received_bytes=500)
    metrics.ticked("metrics_a", seconds=0.3, row_count=5, received_bytes=100)
    assert metrics.value("headwater_ticks_total", source="metrics_a") == 2
    assert metrics.value("headwater_rows_total", source="metrics_a") == 15
    assert metrics.value("headwater_bytes_total", source="metrics_a") == 600
    assert metrics.value("headwater_tick_seconds_sum", source="metrics_a") == pytest.approx(0.5)


def test_a_dropped_source_is_no_longer_exposed_and_dropping_twice_is_fine() -> None:
    metrics.ticked("metrics_b", 0.1, 1, 1)
    metrics.stalled("metrics_b")
    assert b'source="metrics_b"' in metrics.exposition()
    metrics.source_dropped("metrics_b")
    metrics.source_dropped("metrics_b")
    assert b'source="metrics_b"' not in metrics.exposition()


def test_queries_are_told_apart_by_engine_and_outcome() -> None:
    before = metrics.value("headwater_queries_total", engine="spark", outcome="error") or 0
    metrics.queried("spark", "error", 1.5)
    metrics.queried("duckdb", "ok", 0.01)
    assert metrics.value("headwater_queries_total", engine="spark", outcome="error") == before + 1


def test_gauges_of_open_things_return_to_where_they_were() -> None:
    before = metrics.value("headwater_connections"), metrics.value("headwater_subscriptions")
    metrics.connection_opened()
    metrics.subscription_opened()
    after = metrics.value("headwater_connections"), metrics.value("headwater_subscriptions")
    metrics.connection_closed()
    metrics.subscription_closed()
    assert after != before
    assert (metrics.value("headwater_connections"), metrics.value("headwater_subscriptions")) == before


@pytest.mark.parametrize("name", ["headwater_folds_total", "headwater_fold_seconds_count"])
def test_a_fold_counts_and_is_timed(name: str) -> None:
    before = metrics.value(name) or 0
    metrics.folded(2.0)
    assert metrics.value(name) == before + 1


def test_every_metric_is_ours_by_name() -> None:
    families = [line.split()[2] for line in metrics.exposition().decode().splitlines() if "# TYPE" in line]
    assert len(families) >= 12
    assert [name for name in families if not name.startswith("headwater_")] == []
