"""The catalog of a data directory: the one place that knows which implementation keeps it."""

from __future__ import annotations

from pathlib import Path

from headwater.catalog.sqlite_store import SqliteCatalog
from headwater.catalog.store import CatalogStore
from headwater.core.clock import SYSTEM_CLOCK, Clock
from headwater.metadata.database import metadata_path


def open_catalog(data_dir: Path, clock: Clock = SYSTEM_CLOCK) -> CatalogStore:
    """The catalog; made if there is none."""
    return SqliteCatalog(metadata_path(data_dir), clock)
