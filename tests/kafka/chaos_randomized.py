"""Hours of random days of Kafka sources; see randomized.py.

HEADWATER_CHAOS_S says for how long (an hour unless said otherwise), HEADWATER_CHAOS_SEED with
which seed to begin: the one that a failure has told.
"""

from __future__ import annotations

import os

import pytest

from headwater.core.clock import SYSTEM_CLOCK, secret_number
from tests.kafka.randomized import live_through
from tests.support.kafka import KafkaServer
from tests.support.registry import RegistryServer
from tests.support.server import HeadwaterServer

SECONDS = float(os.environ.get("HEADWATER_CHAOS_S", "3600"))
EPISODE_S = 120.0


@pytest.mark.timeout(0)
def test_random_days_for_hours(
    mortal_server: HeadwaterServer, mortal_kafka: KafkaServer, registry: RegistryServer
) -> None:
    seed = int(os.environ.get("HEADWATER_CHAOS_SEED", "0")) or secret_number(24)
    deadline_s = SYSTEM_CLOCK.monotonic_s() + SECONDS
    lived = 0
    while SYSTEM_CLOCK.monotonic_s() < deadline_s:
        live_through(mortal_server, mortal_kafka, registry, seed, min(EPISODE_S, SECONDS))
        lived += 1
        print(f"seed {seed}: all equal; {lived} so far", flush=True)
        seed += 1
