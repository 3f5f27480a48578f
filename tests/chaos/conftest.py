"""One server for the chaos tests that do not end it: starting Spark is what takes time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.files import check_files
from tests.support.server import QUICK_SPARK, HeadwaterServer


@pytest.fixture(scope="package")
def busy_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeadwaterServer]:
    """A server that tests share and whose cluster they may kill; at the end its files must be in order."""
    server = HeadwaterServer(tmp_path_factory.mktemp("busy") / "data", spark_conf=QUICK_SPARK)
    try:
        yield server.start()
        server.stop()
        check_files(server.data_dir)
    finally:
        server.stop()
