"""Hours of eight busy sources: memory, files, ledger and latency stay level.

Method: `tests/support/busy.py`, for HEADWATER_SOAK_S seconds (two hours unless said
otherwise); the last third is held against the middle third.
"""

from __future__ import annotations

import os

import pytest

from tests.support.busy import Bound, Busy, Growth
from tests.support.files import check_files
from tests.support.server import HeadwaterServer

SECONDS = float(os.environ.get("HEADWATER_SOAK_S", "7200"))
SAMPLE_S = 10.0
GROWTH = Growth(
    environment_mb=Bound(1.10, 40),
    cluster_mb=Bound(1.10, 20),
    driver_mb=Bound(1.15, 60),
    workers_mb=Bound(1.15, 60),
    files=Bound(1.15, 50),
    ledger_kb=Bound(1.15, 512),
    read_ms=Bound(1.5, 25),
    lag_ms=Bound(1.5, 500),
)


@pytest.mark.timeout(0)
def test_busy_sources_stay_level_for_hours(own_server: HeadwaterServer) -> None:
    busy = Busy(own_server.start())
    busy.create()
    grown = GROWTH.check(busy.run(SECONDS, max(12, int(SECONDS / SAMPLE_S)), print))
    busy.finish()
    assert not grown, "; ".join(grown)
    own_server.stop()
    check_files(own_server.data_dir)
