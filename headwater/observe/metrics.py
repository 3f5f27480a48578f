"""Metrics: every number the product exposes, declared once.

The environment process owns the registry; clusters report their statistics
through the protocol and the environment adds them here.  Callers use the small
functions below and never a metric itself, so that names and labels cannot drift.

    who calls                        function
    storage, on statistics           ticked, folded, lag_changed, source_dropped
    storage, on a cluster's start    cluster_started
    coordinator                      queried, subscription_opened, subscription_closed
    pgwire                           connection_opened, connection_closed
    http                             exposition

Not here: statistics users can SELECT (catalog/builtin), the HTTP route (http/metrics.py).
"""

from __future__ import annotations

from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

Engine = Literal["catalog", "constant", "duckdb", "spark"]
Outcome = Literal["ok", "error", "cancelled"]

CONTENT_TYPE = CONTENT_TYPE_LATEST
SECONDS_BUCKETS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

REGISTRY = CollectorRegistry()

_TICKS = Counter(
    "headwater_ticks", "Ticks that committed a range of the upstream", ["source"], registry=REGISTRY
)
_TICK_SECONDS = Histogram(
    "headwater_tick_seconds",
    "Time from the probe to the commit of a tick",
    ["source"],
    buckets=SECONDS_BUCKETS,
    registry=REGISTRY,
)
_ROWS = Counter("headwater_rows", "Changes committed", ["source"], registry=REGISTRY)
_BYTES = Counter("headwater_bytes", "Bytes of change files committed", ["source"], registry=REGISTRY)
_LAG_SECONDS = Gauge(
    "headwater_lag_seconds", "How far a source's upper is behind the clock", ["source"], registry=REGISTRY
)
_STALLS = Counter("headwater_stalls", "Times a source became stalled", ["source"], registry=REGISTRY)
_FOLDS = Counter("headwater_folds", "Folds of a tail into a state", registry=REGISTRY)
_FOLD_SECONDS = Histogram(
    "headwater_fold_seconds", "Time of a fold", buckets=SECONDS_BUCKETS, registry=REGISTRY
)
_QUERIES = Counter(
    "headwater_queries",
    "Statements that returned rows, by engine and outcome",
    ["engine", "outcome"],
    registry=REGISTRY,
)
_QUERY_SECONDS = Histogram(
    "headwater_query_seconds",
    "Time from a statement's start to its last row",
    ["engine"],
    buckets=SECONDS_BUCKETS,
    registry=REGISTRY,
)
_CLUSTER_RESTARTS = Counter(
    "headwater_cluster_restarts", "Times a cluster process was started again", ["cluster"], registry=REGISTRY
)
_LOOP_FAILURES = Counter(
    "headwater_loop_failures",
    "Times a loop of the server failed and began again",
    ["loop"],
    registry=REGISTRY,
)
_CONNECTIONS = Gauge("headwater_connections", "Open SQL connections", registry=REGISTRY)
_SUBSCRIPTIONS = Gauge("headwater_subscriptions", "Running subscriptions", registry=REGISTRY)

_OF_A_SOURCE: tuple[Counter | Gauge | Histogram, ...] = (
    _TICKS,
    _TICK_SECONDS,
    _ROWS,
    _BYTES,
    _LAG_SECONDS,
    _STALLS,
)


def ticked(source: str, seconds: float, row_count: int, file_bytes: int) -> None:
    """A tick of `source` has committed."""
    _TICKS.labels(source).inc()
    _TICK_SECONDS.labels(source).observe(seconds)
    _ROWS.labels(source).inc(row_count)
    _BYTES.labels(source).inc(file_bytes)


def lag_changed(source: str, lag_s: float) -> None:
    """The upper of `source` is `lag_s` behind the clock."""
    _LAG_SECONDS.labels(source).set(lag_s)


def stalled(source: str) -> None:
    """`source` went from another status to stalled."""
    _STALLS.labels(source).inc()


def source_dropped(source: str) -> None:
    """`source` is gone; its series go with it."""
    for metric in _OF_A_SOURCE:
        metric.remove_by_labels({"source": source})


def folded(seconds: float) -> None:
    """A tail was folded into its state."""
    _FOLDS.inc()
    _FOLD_SECONDS.observe(seconds)


def queried(engine: Engine, outcome: Outcome, seconds: float) -> None:
    """A statement that returns rows has ended."""
    _QUERIES.labels(engine, outcome).inc()
    _QUERY_SECONDS.labels(engine).observe(seconds)


def cluster_started(cluster: str, again: bool) -> None:
    """A cluster's process was started; from 0 on, because a rise from nothing is not seen as one."""
    _CLUSTER_RESTARTS.labels(cluster).inc(int(again))


def loop_begun(loop: str, again: bool) -> None:
    """A loop in the background has begun; from 0 on, because a rise from nothing is not seen as one."""
    _LOOP_FAILURES.labels(loop).inc(int(again))


def connection_opened() -> None:
    """A client has connected."""
    _CONNECTIONS.inc()


def connection_closed() -> None:
    """A client has gone."""
    _CONNECTIONS.dec()


def subscription_opened() -> None:
    """A SUBSCRIBE has begun."""
    _SUBSCRIPTIONS.inc()


def subscription_closed() -> None:
    """A SUBSCRIBE has ended, however it did."""
    _SUBSCRIPTIONS.dec()


def exposition() -> bytes:
    """All metrics in Prometheus' text form."""
    return generate_latest(REGISTRY)


def value(name: str, **labels: str) -> float | None:
    """What a sample stands at; None if it was never touched.  For tests."""
    return REGISTRY.get_sample_value(name, labels)
