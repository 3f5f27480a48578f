"""A cluster that dies at any place leaves everything equal.

Method: a server with armed failpoints, and a source over each upstream, under writes; what dies starts again
by itself.  A source that comes by waits there until the other one comes and all die, so that both have been
at the place, and where backfills and ticks are made side by side at two.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from headwater.observe.failpoints import FAILPOINTS
from tests.mysql.following import Following, following
from tests.mysql.randomized import RESUME_S_MAX, SCHEMA, TRIPLE, Far, Triples
from tests.support.dying import DyingServer
from tests.support.mysql import FLAVOURS, MysqlServer, missing
from tests.support.server import eventually

WAIT_MS = 30_000
TABLES = (*TRIPLE, "keyed", "free")
NAMES = {
    name
    for name in FAILPOINTS
    if name.partition(".")[0] in ("ingestion", "backfill", "ledger") and "restart" not in name
}
DEATHS = (
    ("ledger.before_commit",),
    ("ledger.after_commit",),
    ("ingestion.before_files",),
    ("ingestion.before_join",),
    ("ingestion.after_join",),
    ("backfill.before_chunk", "ingestion.before_append"),
    ("backfill.before_state", "ingestion.after_append"),
    ("backfill.before_version",),
    ("backfill.before_hydrate",),
    ("backfill.after_hydrate",),
)
"""At which places sources are when all die."""


@pytest.fixture
def upstreams(request: pytest.FixtureRequest) -> list[MysqlServer]:
    """All that this machine has, at once."""
    there = [flavour for flavour in FLAVOURS if missing(flavour) is None]
    return [request.getfixturevalue(flavour) for flavour in there or FLAVOURS]


@pytest.fixture
def sources(
    mortal_server: DyingServer, upstreams: list[MysqlServer]
) -> Iterator[list[tuple[Following, Triples]]]:
    """One over each, and who writes there."""
    with ExitStack() as stack:
        made: list[tuple[Following, Triples]] = []
        for upstream in upstreams:
            database = stack.enter_context(closing(Far(upstream)))
            stack.enter_context(closing(database.proxy))
            here = stack.enter_context(following(mortal_server, database, *SCHEMA))
            for table in TABLES:
                here.create_table(table)
            made.append((here, Triples(database, 1)))
        yield made


@pytest.mark.timeout(600)
def test_a_death_at_every_failpoint_under_writes_leaves_everything_equal(
    mortal_server: DyingServer, sources: list[tuple[Following, Triples]]
) -> None:
    for _, writer in sources:
        writer.start()
    assert {name for names in DEATHS for name in names} == NAMES
    for names in DEATHS:
        for number, (name, action) in enumerate(actions(names, len(sources))):
            failing = mortal_server.arm(name, action)
            if name.startswith("backfill") or name.endswith("join"):
                # Only new tables come by, and each once: the next one is made when one waits there.
                here, _ = sources[number % len(sources)]
                here.run("DROP TABLE keyed")
                here.create_table("keyed")
            eventually(lambda: not failing.exists(), within_s=RESUME_S_MAX)  # noqa: B023
    for _, writer in sources:
        writer.stop()
    for here, _ in sources:
        for table in TABLES:
            here.follows(table)


def actions(names: tuple[str, ...], sources: int) -> Iterator[tuple[str, str]]:
    """What is done to those who come to these places: all wait there but for the last one."""
    waits = f"sleep({WAIT_MS})"
    if names[0].startswith("ledger"):
        sources = 1  # a lock lets one of them in
    if names == ("ingestion.before_files",):
        waits = "exit"  # a process that works for one of them
    places = [name for name in names for _ in range(sources)]
    yield from ((name, waits) for name in places[:-1])
    yield places[-1], "exit"
