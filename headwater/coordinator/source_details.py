"""What the catalog keeps of a source, checked and shaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from headwater.catalog.details import Connection, Ingestion, ListedReference
from headwater.catalog.state import CatalogState, Item
from headwater.coordinator.variables import flag
from headwater.core.errors import UserError
from headwater.core.limits import TICK_INTERVAL_MS_MAX, TICK_INTERVAL_MS_MIN
from headwater.core.protocol import RunIngestion
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import Reference
from headwater.sources.dialects import CONNECTION_KINDS
from headwater.sources.external import EXTERNAL_ONLY

_EXTERNAL: Final = "storage_enforce_external_addresses"


def check_interval(wanted_ms: int) -> None:
    """TIMESTAMP INTERVAL has bounds."""
    if not TICK_INTERVAL_MS_MIN <= wanted_ms <= TICK_INTERVAL_MS_MAX:
        raise UserError(
            f"invalid timestamp interval of {wanted_ms}ms, must be in the range"
            f" [{TICK_INTERVAL_MS_MIN}ms, {TICK_INTERVAL_MS_MAX}ms]",
            "22023",
        )


def check_kinds(state: CatalogState) -> None:
    """UserError unless all kinds that the catalog has sources and connections of are installed."""
    connections = {kind.type for kind in CONNECTION_KINDS.values()}
    for item in state.items.values():
        match item.details:
            case Ingestion(source_type=found):
                installed = found in SOURCE_TYPES
            case Connection(connection_type=found):
                installed = found in connections
            case _:
                continue
        if not installed:
            raise UserError(
                f'{item.kind} "{item.name}" is of the kind "{found}", which is not installed',
                "58000",
                hint="Install the package that has this kind again, then start the server.",
            )


def full_options(state: CatalogState, options: Mapping[str, Any]) -> dict[str, Any]:
    """A source's options as its type wants them: with those that its connection has now."""
    connection_id = options.get("connection_id")
    if connection_id is None:
        return dict(options)
    return {**options, "connection": for_upstream(state, state.items[connection_id].connection.options)}


def for_upstream(state: CatalogState, options: Mapping[str, Any]) -> dict[str, Any]:
    """A connection's options as whoever connects is told of them: with where it may not go."""
    return {**options, **({EXTERNAL_ONLY: True} if flag(state.system_variables, _EXTERNAL) else {})}


def listed(references: Iterable[Reference]) -> tuple[ListedReference, ...]:
    """As kept in the catalog, for mz_source_references."""
    return tuple(
        ListedReference(reference.namespace, reference.name, reference.relation.column_names())
        for reference in references
    )


def secrets_of(value: Any) -> set[str]:
    """The ids of all secrets that are named anywhere in options."""
    if isinstance(value, dict):
        named = {value["secret"]} if isinstance(value.get("secret"), str) else set()
        return named.union(*map(secrets_of, value.values()))
    if isinstance(value, list):
        return set().union(*map(secrets_of, value))
    return set()


def with_registries(state: CatalogState, export: dict[str, Any]) -> dict[str, Any]:
    """An export as the cluster is told of it: with what its formats need to reach their registries now."""
    ids = sorted(_registries_of(export["pinned"]["reference"]))
    if not ids:
        return export
    found = [state.items[id_] for id_ in ids if id_ in state.items]
    options = {item.id: for_upstream(state, item.connection.options) for item in found}
    return {**export, "options": [*export["options"], ["registries", options]]}


def _registries_of(value: Any) -> set[str]:
    """The ids of connections that formats are pinned with."""
    if not isinstance(value, dict):
        return set()
    named = {value["registry"]} if isinstance(value.get("registry"), str) else set()
    return named.union(*map(_registries_of, value.values()))


def ingestion_of(state: CatalogState, source: Item, exports: list[dict[str, Any]]) -> RunIngestion:
    """What a cluster is told of a source."""
    cluster = state.clusters.get(source.cluster_id or "")
    return RunIngestion(
        source.id,
        source.ingestion.source_type,
        full_options(state, source.ingestion.options),
        source.ingestion.timestamp_interval_ms,
        [with_registries(state, export) for export in exports],
        cluster.name if cluster is not None else "quickstart",
        cluster is not None and cluster.replication_factor == 0,
    )
