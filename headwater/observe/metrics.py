"""Metrics: every number the product exposes, declared once.

The environment process owns the registry; clusters report their statistics
through the protocol and the environment adds them here.  Callers use the small
functions below and never a metric itself, so that names and labels cannot drift.

    who calls                        function
    storage, on what a cluster says  ticked, folded, stalled
    storage, on a drop               source_dropped
    storage, on a cluster's start    cluster_started
    coordinator                      queried, subscription_opened, subscription_closed, retained_log_...,
                                     loop_slow, webhook_rows, webhook_appended
    pgwire                           connection_opened, connection_closed
    http                             webhook_answered, exposition

What sources and tables are at the moment (status, lag) is not kept here: it is asked for when somebody
wants to know (`ObjectNumbers`), so that it goes on while nobody reports, and ends with the object.

Not here: statistics users can SELECT (catalog/builtin), the HTTP route (http/metrics.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

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
_BYTES = Counter("headwater_bytes", "Bytes received from the upstream", ["source"], registry=REGISTRY)
_RETAINED_LOG_BYTES = Gauge(
    "headwater_upstream_log_held_bytes",
    "Log that the upstream keeps because the source has not acknowledged it",
    ["source"],
    registry=REGISTRY,
)
_RETAINED_LOG_LEFT_BYTES = Gauge(
    "headwater_upstream_log_left_bytes",
    "How much more may come until the upstream lets go of log that the source needs; absent without a limit",
    ["source"],
    registry=REGISTRY,
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
_LOOP_SLOW = Counter(
    "headwater_loop_slow_callbacks",
    "Times the event loop, and all sessions with it, was kept from going on for over 0.1 s",
    registry=REGISTRY,
)
_WEBHOOK_REQUESTS = Counter(
    "headwater_webhook_requests",
    "Requests for webhooks, by the status of the answer",
    ["status"],
    registry=REGISTRY,
)
_ANSWERS: dict[int, Counter] = {}
"""The same by status: looking one up by its label costs more than to count."""
_WEBHOOK_ROWS = Counter("headwater_webhook_rows", "Rows that requests have written", registry=REGISTRY)
_WEBHOOK_SECONDS = Histogram(
    "headwater_webhook_batch_seconds",
    "Time to check, decode and write the requests of a batch",
    buckets=SECONDS_BUCKETS,
    registry=REGISTRY,
)
_CONNECTIONS = Gauge("headwater_connections", "Open SQL connections", registry=REGISTRY)
_SUBSCRIPTIONS = Gauge("headwater_subscriptions", "Running subscriptions", registry=REGISTRY)

_OF_A_SOURCE: tuple[Counter | Gauge | Histogram, ...] = (
    _TICKS,
    _TICK_SECONDS,
    _ROWS,
    _BYTES,
    _STALLS,
    _RETAINED_LOG_BYTES,
    _RETAINED_LOG_LEFT_BYTES,
)


@dataclass(frozen=True, slots=True)
class ObjectNumbers:
    """What is exposed of a source, or of a table from a source."""

    id: str
    name: str
    type: Literal["source", "table"]
    source: str  # the name of the source that feeds a table; a source's own
    status: str
    hydrated: bool
    lag_s: float | None

    def labels(self) -> list[str]:
        return [self.id, self.name, self.type, self.source]


_LABELS = ["id", "name", "type", "source"]


class _Objects(Collector):
    """Gauges of sources and tables, made at the moment when they are asked for."""

    def __init__(self, objects: Iterable[ObjectNumbers]) -> None:
        self._objects = list(objects)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        status = GaugeMetricFamily(
            "headwater_status", "1 for the status that a source or table has", labels=[*_LABELS, "status"]
        )
        hydrated = GaugeMetricFamily(
            "headwater_hydrated", "Whether a source or table can be read: 1 or 0", labels=_LABELS
        )
        lag = GaugeMetricFamily(
            "headwater_lag_seconds", "How far a source or table is behind the clock", labels=_LABELS
        )
        for found in self._objects:
            status.add_metric([*found.labels(), found.status], 1)
            hydrated.add_metric(found.labels(), int(found.hydrated))
            if found.lag_s is not None:
                lag.add_metric(found.labels(), found.lag_s)
        yield from (status, hydrated, lag)


def ticked(source: str, seconds: float, row_count: int, received_bytes: int) -> None:
    """A tick of `source` has committed."""
    _TICKS.labels(source).inc()
    _TICK_SECONDS.labels(source).observe(seconds)
    _ROWS.labels(source).inc(row_count)
    _BYTES.labels(source).inc(received_bytes)


def retained_log_measured(source: str, held_bytes: int, left_bytes: int | None) -> None:
    """The upstream of `source` keeps so much for it, and would keep so much more."""
    _RETAINED_LOG_BYTES.labels(source).set(held_bytes)
    if left_bytes is None:
        _RETAINED_LOG_LEFT_BYTES.remove_by_labels({"source": source})
    else:
        _RETAINED_LOG_LEFT_BYTES.labels(source).set(left_bytes)


def retained_log_unknown(source: str) -> None:
    """Nobody knows what the upstream of `source` keeps for it now."""
    for metric in (_RETAINED_LOG_BYTES, _RETAINED_LOG_LEFT_BYTES):
        metric.remove_by_labels({"source": source})


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


def loop_slow() -> None:
    """A callback of the event loop has taken long."""
    _LOOP_SLOW.inc()


def webhook_answered(status: int) -> None:
    """A request for a webhook has been answered."""
    counter = _ANSWERS.get(status)
    if counter is None:
        counter = _ANSWERS[status] = _WEBHOOK_REQUESTS.labels(str(status))
    counter.inc()


def webhook_rows(count: int) -> None:
    """Requests have written so many rows."""
    _WEBHOOK_ROWS.inc(count)


def webhook_appended(seconds: float) -> None:
    """A batch of requests has been written."""
    _WEBHOOK_SECONDS.observe(seconds)


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


def exposition(objects: Iterable[ObjectNumbers] = ()) -> bytes:
    """All metrics in Prometheus' text form, with those of sources and tables as they are now."""
    return generate_latest(REGISTRY) + generate_latest(_Objects(objects))


def value(name: str, **labels: str) -> float | None:
    """What a sample stands at; None if it was never touched.  For tests."""
    return REGISTRY.get_sample_value(name, labels)
