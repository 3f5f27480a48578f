"""Statistics of sources as rows: the stored ones, and those of a source with its exports added."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from headwater.catalog.builtin.facts import SourceStatistics
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import Columns
from headwater.catalog.builtin.values import duration
from headwater.catalog.state import CatalogState

STATISTICS_COLUMNS = shape(
    """
    id text
    replica_id text?
    messages_received uint8
    bytes_received uint8
    updates_staged uint8
    updates_committed uint8
    records_indexed uint8
    bytes_indexed uint8
    rehydration_latency interval?
    snapshot_records_known uint8?
    snapshot_records_staged uint8?
    snapshot_committed bool
    offset_known uint8?
    offset_committed uint8?
    """
)


def statistics_rows(rows: Sequence[SourceStatistics]) -> Columns:
    """Column-wise."""
    return {
        "id": [s.id for s in rows],
        "replica_id": [s.replica_id for s in rows],
        "messages_received": [s.messages_received for s in rows],
        "bytes_received": [s.bytes_received for s in rows],
        "updates_staged": [s.updates_staged for s in rows],
        "updates_committed": [s.updates_committed for s in rows],
        "records_indexed": [s.records_indexed for s in rows],
        "bytes_indexed": [s.bytes_indexed for s in rows],
        "rehydration_latency": [duration(s.rehydration_latency_ms) for s in rows],
        "snapshot_records_known": [s.snapshot_records_known for s in rows],
        "snapshot_records_staged": [s.snapshot_records_staged for s in rows],
        "snapshot_committed": [s.snapshot_committed for s in rows],
        "offset_known": [s.offset_known for s in rows],
        "offset_committed": [s.offset_committed for s in rows],
    }


def with_exports(state: CatalogState, stored: Sequence[SourceStatistics]) -> Sequence[SourceStatistics]:
    """The stored rows, with each source's row being the sum of its own and its exports'."""
    own: dict[tuple[str, str | None], list[SourceStatistics]] = {}
    exports: dict[tuple[str, str | None], list[SourceStatistics]] = {}
    rows = []
    for row in stored:
        item = state.items.get(row.id)
        if item is None:
            continue
        source_id = state.named_source(item.source_id or item.id).id
        key = (source_id, row.replica_id)
        if item.source_id is None:
            own.setdefault(key, []).append(row)
            continue
        exports.setdefault(key, []).append(row)
        if row.id != source_id:
            rows.append(row)
    # A source may have said nothing of its own yet.
    for key in {**own, **exports}:
        added = exports.get(key, [])
        rows.append(_sum(*key, own.get(key, []), added))
    return rows


def _sum(
    source_id: str,
    replica_id: str | None,
    own: Sequence[SourceStatistics],
    of_exports: Sequence[SourceStatistics],
) -> SourceStatistics:
    """Counters add up.  How far the source is it says itself: a table that has ended does not hold it up."""
    rows = [*own, *of_exports]
    known = _known(s.offset_known for s in own) or _known(s.offset_known for s in of_exports)
    committed = _known(s.offset_committed for s in own) or _known(s.offset_committed for s in of_exports)
    latency = _known(s.rehydration_latency_ms for s in own) or _known(
        s.rehydration_latency_ms for s in of_exports
    )
    return replace(
        SourceStatistics(source_id, replica_id),
        messages_received=sum(s.messages_received for s in rows),
        bytes_received=sum(s.bytes_received for s in rows),
        updates_staged=sum(s.updates_staged for s in rows),
        updates_committed=sum(s.updates_committed for s in rows),
        records_indexed=sum(s.records_indexed for s in rows),
        bytes_indexed=sum(s.bytes_indexed for s in rows),
        rehydration_latency_ms=max(latency, default=None),
        snapshot_records_known=_sum_known(s.snapshot_records_known for s in rows),
        snapshot_records_staged=_sum_known(s.snapshot_records_staged for s in rows),
        snapshot_committed=all(s.snapshot_committed for s in of_exports),
        offset_known=max(known, default=None),
        offset_committed=min(committed, default=None),
    )


def _known(values: Iterable[int | None]) -> list[int]:
    return [value for value in values if value is not None]


def _sum_known(values: Iterable[int | None]) -> int | None:
    known = _known(values)
    return sum(known) if known else None
