"""Shared by all tests: one real server for those that do not need their own, and its log on failure."""

from __future__ import annotations

import atexit
import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from headwater.sources import dialects
from tests.support.dying import DyingServer
from tests.support.server import QUICK_SPARK, HeadwaterServer

# Parsers of tests know the kinds of upstreams, as the server's does.
assert dialects.DIALECTS

# How long an example takes says something about the machine, not about the code.
# Where a change is judged, examples are the same every time; elsewhere each run looks at others.
settings.register_profile("headwater", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("headwater")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Any:
    """Put the log of every server a failed test used under its report."""
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        for value in getattr(item, "funcargs", {}).values():
            if isinstance(value, HeadwaterServer) and value.log_path.exists():
                report.sections.append((f"log of {value.data_dir.name}", value.log_tail()))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeadwaterServer]:
    """A server that many tests share: each works in a schema or with names of its own."""
    running = HeadwaterServer(tmp_path_factory.mktemp("shared") / "data", spark_conf=QUICK_SPARK).start()
    yield running
    running.stop()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[HeadwaterServer]:
    """A server of the test's own, not started yet, for tests that kill it."""
    made = HeadwaterServer(tmp_path / "data", spark_conf=QUICK_SPARK)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def mortal_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeadwaterServer]:
    """A server that may be killed."""
    made = HeadwaterServer(tmp_path_factory.mktemp("mortal") / "data", spark_conf=QUICK_SPARK)
    try:
        yield made.start()
    finally:
        made.stop()


@pytest.fixture(scope="module")
def dying_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DyingServer]:
    """A server that can be told where to die."""
    made = DyingServer(tmp_path_factory.mktemp("dying"))
    try:
        made.start()
        yield made
    finally:
        made.stop()


def pytest_collection_finish() -> None:
    """What is there before the first test stays: the garbage collector need not look at it again."""
    gc.freeze()
    atexit.register(gc.unfreeze)
