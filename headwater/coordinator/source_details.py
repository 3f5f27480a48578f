"""What the catalog keeps of a source, checked and shaped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headwater.catalog.state import CatalogState
from headwater.core.errors import UserError
from headwater.core.limits import TICK_INTERVAL_MS_MAX, TICK_INTERVAL_MS_MIN
from headwater.sources.contract import Reference


def check_interval(wanted_ms: int) -> None:
    """TIMESTAMP INTERVAL has bounds."""
    if not TICK_INTERVAL_MS_MIN <= wanted_ms <= TICK_INTERVAL_MS_MAX:
        raise UserError(
            f"invalid timestamp interval of {wanted_ms}ms, must be in the range"
            f" [{TICK_INTERVAL_MS_MIN}ms, {TICK_INTERVAL_MS_MAX}ms]",
            "22023",
        )


def full_options(state: CatalogState, options: Mapping[str, Any]) -> dict[str, Any]:
    """A source's options as its type wants them: with those that its connection has now."""
    connection_id = options.get("connection_id")
    if connection_id is None:
        return dict(options)
    return {**options, "connection": dict(state.items[connection_id].details["options"])}


def reference_json(reference: Reference) -> dict[str, Any]:
    """As kept in the catalog, for mz_source_references."""
    return {
        "namespace": list(reference.namespace),
        "name": reference.name,
        "columns": list(reference.relation.column_names()),
    }


def secrets_of(value: Any) -> set[str]:
    """The ids of all secrets that are named anywhere in options."""
    if isinstance(value, dict):
        named = {value["secret"]} if isinstance(value.get("secret"), str) else set()
        return named.union(*map(secrets_of, value.values()))
    if isinstance(value, list):
        return set().union(*map(secrets_of, value))
    return set()
