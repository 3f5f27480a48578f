"""A cluster that dies at any place leaves everything equal.

Method: a server with armed failpoints, under writes; what dies starts again by itself.  On MariaDB only where
its log is read again from another place, or a snapshot is taken up again: the rest does not ask the upstream.
"""

from __future__ import annotations

import pytest

from headwater.observe.failpoints import FAILPOINTS
from tests.mysql.following import following
from tests.mysql.randomized import RESUME_S_MAX, SCHEMA, TRIPLE, Far, Triples
from tests.support.dying import DyingServer
from tests.support.mysql import MysqlServer
from tests.support.server import eventually

NAMES = [
    name
    for name in FAILPOINTS
    if name.partition(".")[0] in ("ingestion", "backfill", "ledger") and "restart" not in name
]
ON_MARIADB = (
    "ledger.before_commit",
    "ingestion.before_append",
    "ingestion.after_append",
    "backfill.before_chunk",
)


@pytest.mark.timeout(600)
def test_a_death_at_every_failpoint_under_writes_leaves_everything_equal(
    dying_server: DyingServer, upstream: MysqlServer
) -> None:
    names = ON_MARIADB if upstream.flavour == "mariadb" else NAMES
    database = Far(upstream)
    with following(dying_server, database, *SCHEMA) as here:
        for table in (*TRIPLE, "keyed", "free"):
            here.create_table(table)
        writer = Triples(database, 1)
        writer.start()
        for name in names:
            failing = dying_server.arm(name)
            if name.startswith("backfill") or name.endswith("join"):
                for table in ("keyed", "free"):
                    here.run(f"DROP TABLE {table}")
                    here.create_table(table)
            eventually(lambda: not failing.exists(), within_s=RESUME_S_MAX)  # noqa: B023
        writer.stop()
        for table in (*TRIPLE, "keyed", "free"):
            here.follows(table)
    database.close()
    database.proxy.close()
