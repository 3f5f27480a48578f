"""Kinds of sources that are not ours, installed as any package is: by an entry point on Python's path."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]


def install(folder: Path, package: str) -> dict[str, str]:
    """Put a package of this folder where a server that is started with these variables finds it."""
    distribution = folder / "headwater_kind-1.0.dist-info"
    distribution.mkdir(parents=True)
    (distribution / "METADATA").write_text("Metadata-Version: 2.1\nName: headwater-kind\nVersion: 1.0\n")
    (distribution / "entry_points.txt").write_text(f"[headwater.sources]\nkind = {package}\n")
    return {"PYTHONPATH": os.pathsep.join((str(folder), str(ROOT)))}
