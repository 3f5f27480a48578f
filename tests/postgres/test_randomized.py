"""Random days of a PostgreSQL source, short ones with fixed seeds: nothing lost, nothing doubled.

Method: `tests/postgres/randomized.py`.  An hour of them with new seeds is behind `make chaos`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.postgres.faulty import faulty
from tests.postgres.randomized import PUBLISHED, SCHEMA, Episode
from tests.support.postgres import PostgresServer, running
from tests.support.server import QUICK_SPARK, HeadwaterServer

EPISODE_S = 40.0


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    """An upstream that may be killed."""
    with running() as made:
        yield made


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeadwaterServer]:
    """A server that may be killed."""
    made = HeadwaterServer(tmp_path_factory.mktemp("random") / "data", spark_conf=QUICK_SPARK)
    try:
        yield made.start()
    finally:
        made.stop()


def live_through(server: HeadwaterServer, postgres: PostgresServer, seed: int, seconds: float) -> None:
    """One episode; on a failure its seed is told."""
    with faulty(postgres, *SCHEMA) as database:
        database.run(PUBLISHED)
        try:
            Episode(server, database, seed, lambda text: print(f"seed {seed}: {text}")).run(seconds)
        except BaseException as error:
            error.add_note(f"with seed {seed}; the server's log ends with:\n{server.log_tail(60)}")
            raise


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_random_day_ends_with_every_table_equal(
    server: HeadwaterServer, postgres: PostgresServer, seed: int
) -> None:
    live_through(server, postgres, seed, EPISODE_S)
