"""A minute of the soak: the same load and the same checks, with bounds for a machine still warming up.

Method: `tests/support/busy.py`.  The hours are in soak_busy_sources.py (make soak).
"""

from __future__ import annotations

import pytest

from tests.support.busy import Bound, Busy, Growth
from tests.support.files import check_files
from tests.support.server import HeadwaterServer

SECONDS = 60.0
SAMPLES = 12
# A JVM takes its heap step by step, and the first folds fall into this minute.
GROWTH = Growth(
    environment_mb=Bound(1.5, 100),
    cluster_mb=Bound(1.5, 50),
    driver_mb=Bound(1.6, 300),
    workers_mb=Bound(1.8, 150),
    files=Bound(1.8, 100),
    ledger_kb=Bound(1.8, 1_024),
    read_ms=Bound(3.0, 300),
    lag_ms=Bound(3.0, 3_000),
)


@pytest.mark.timeout(900)
def test_a_busy_minute_leaves_everything_level(own_server: HeadwaterServer) -> None:
    busy = Busy(own_server.start())
    busy.create()
    grown = GROWTH.check(busy.run(SECONDS, SAMPLES, print))
    busy.finish()
    assert not grown, "; ".join(grown)
    own_server.stop()
    check_files(own_server.data_dir)
