"""The file of a metadata database."""

from __future__ import annotations

from pathlib import Path


def metadata_path(data_dir: Path) -> Path:
    """The database of catalog and ledger."""
    return data_dir / "metadata.sqlite"
