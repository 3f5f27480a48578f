"""Random days of a MySQL and of a MariaDB source, short ones with fixed seeds: nothing lost, nothing doubled.

Method: `tests/mysql/randomized.py`.  An hour of them with new seeds is behind `make chaos-mysql`.
"""

from __future__ import annotations

import pytest

from tests.mysql.randomized import live_through
from tests.support.mysql import MysqlServer
from tests.support.server import HeadwaterServer

EPISODE_S = 30.0


@pytest.mark.timeout(600)
def test_a_random_day_ends_with_every_table_equal(
    mortal_server: HeadwaterServer, mortal_upstream: MysqlServer
) -> None:
    live_through(mortal_server, mortal_upstream, 1, EPISODE_S)
