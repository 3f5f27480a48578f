"""Where Java is, as Spark looks for it.

Not here: which versions will do, and what to install (doctor.py).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path


def java_command(environment: Mapping[str, str]) -> str | None:
    """JAVA_HOME's java if that is set, else the first in PATH; None when it cannot be run."""
    home = environment.get("JAVA_HOME")
    path = (
        str(Path(home) / "bin" / "java") if home else shutil.which("java", path=environment.get("PATH", ""))
    )
    return path if path is not None and os.access(path, os.X_OK) else None
