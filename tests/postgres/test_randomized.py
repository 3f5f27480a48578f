"""Random days of a PostgreSQL source, short ones with fixed seeds: nothing lost, nothing doubled.

Method: `tests/postgres/randomized.py`.  An hour of them with new seeds is behind `make chaos`.
"""

from __future__ import annotations

import pytest

from tests.postgres.randomized import live_through
from tests.support.postgres import PostgresServer
from tests.support.server import HeadwaterServer

EPISODE_S = 40.0


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_random_day_ends_with_every_table_equal(
    mortal_server: HeadwaterServer, mortal_postgres: PostgresServer, seed: int
) -> None:
    live_through(mortal_server, mortal_postgres, seed, EPISODE_S)
