"""A server whose processes can be told to die at a place, while they run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from headwater.observe.failpoints import FOLDER_VARIABLE
from tests.support.server import QUICK_SPARK, HeadwaterServer


class DyingServer(HeadwaterServer):
    """With a folder in which a file arms a failpoint."""

    def __init__(self, folder: Path, environment: Mapping[str, str] = MappingProxyType({})) -> None:
        self.armed = folder / "armed"
        self.armed.mkdir()
        super().__init__(
            folder / "data",
            spark_conf=QUICK_SPARK,
            environment={FOLDER_VARIABLE: str(self.armed), **environment},
        )

    def arm(self, failpoint: str, action: str = "exit") -> Path:
        """Whoever comes by does that; the file, which is gone once somebody has."""
        file = self.armed / failpoint
        file.write_text(action)
        return file

    def disarm(self) -> None:
        """Nothing makes it die any more."""
        for file in self.armed.iterdir():
            file.unlink(missing_ok=True)
