"""Hours of random days of MySQL and MariaDB sources; see test_randomized.py.

HEADWATER_CHAOS_S says for how long (an hour unless said otherwise), HEADWATER_CHAOS_SEED with
which seed to begin: the one that a failure has told.
"""

from __future__ import annotations

import os

import pytest

from headwater.core.clock import SYSTEM_CLOCK, secret_number
from tests.mysql.randomized import live_through
from tests.support.mysql import FLAVOURS, MysqlServer
from tests.support.server import HeadwaterServer

SECONDS = float(os.environ.get("HEADWATER_CHAOS_S", "3600")) / len(FLAVOURS)
EPISODE_S = 120.0


@pytest.mark.timeout(0)
def test_random_days_for_hours(mortal_server: HeadwaterServer, mortal_upstream: MysqlServer) -> None:
    seed = int(os.environ.get("HEADWATER_CHAOS_SEED", "0")) or secret_number(24)
    deadline_s = SYSTEM_CLOCK.monotonic_s() + SECONDS
    lived = 0
    while SYSTEM_CLOCK.monotonic_s() < deadline_s:
        live_through(mortal_server, mortal_upstream, seed, EPISODE_S)
        lived += 1
        print(f"seed {seed}: all equal; {lived} so far")
        seed += 1
