"""Whatever happens to topics, brokers and us, every table is what a replay of its topic makes of it.

Method: `tests/kafka/randomized.py`, a short day with a fixed seed; SEED=n decides otherwise.  What happens at
the same time is chance all the same.  An hour of new seeds is behind `make chaos-kafka`.
"""

from __future__ import annotations

import os

import pytest

from tests.kafka.randomized import live_through
from tests.support.kafka import KafkaServer
from tests.support.registry import RegistryServer
from tests.support.server import HeadwaterServer

EPISODE_S = 15.0


@pytest.mark.timeout(600)
def test_tables_are_what_a_replay_makes(
    mortal_server: HeadwaterServer, mortal_kafka: KafkaServer, registry: RegistryServer
) -> None:
    live_through(mortal_server, mortal_kafka, registry, int(os.environ.get("SEED", "1")), EPISODE_S)
