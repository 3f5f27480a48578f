"""The whole way of a change of shape: a column upstream, a second table, the swap, the drop of the first.

Method: transactions upstream move amounts between orders and add orders, so that at every moment the sum is
the same and the count does not fall.  Here are views on views over the orders.  Readers look at all of them
without a pause, in one transaction as well; subscribers follow each and keep every change.  Nobody is told
to stop or begins again.  Afterwards what every subscriber was told is added up timestamp by timestamp: the
sum at each, no row that is taken away twice or never came, and at the same timestamp the same orders by
whichever way they were followed.
"""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from functools import partial
from typing import Any

from tests.postgres.watching import GONE_S_MAX, ROWS, TOTAL, check_gone, ids, read_by, shop, watching
from tests.support.clients import Follower
from tests.support.database import Database
from tests.support.following import Following
from tests.support.repeated import wait_turns
from tests.support.server import HeadwaterServer, eventually

VIEWS = (
    "CREATE VIEW large AS SELECT * FROM orders WHERE amount > 0",
    "CREATE VIEW total AS SELECT count(*) AS n, sum(amount) AS amount FROM priced",
    "CREATE VIEW joined AS SELECT p.id, l.amount FROM priced AS p JOIN large AS l USING (id)",
)
READS = ("orders", "priced", "large", "joined")
FOLLOWED = (*READS, "total")


def moments(follower: Follower) -> dict[int, Counter[tuple[Any, ...]]]:
    """The rows after each timestamp at which something changed."""
    rows: Counter[tuple[Any, ...]] = Counter()
    found: dict[int, Counter[tuple[Any, ...]]] = {}
    for ts, diff, row in sorted(follower.changes, key=lambda change: change[0]):
        rows[row] += diff
        found[ts] = Counter(rows)
    return found


def check_told(follower: Follower, name: str) -> None:
    count = 0
    for ts, rows in moments(follower).items():
        assert set(rows.values()) <= {0, 1}, f"{name} at {ts}"
        there = [row for row, times in rows.items() if times]
        assert sum(row[1] for row in there) == TOTAL, f"{name} at {ts}"
        counted = there[0][0] if name == "total" else len(there)
        assert counted >= (count if name != "large" else ROWS), f"{name} at {ts}: {counted} after {count}"
        count = counted


def test_a_column_more_upstream_and_nobody_is_told_to_begin_again(
    server: HeadwaterServer, database: Database
) -> None:
    with shop(server, database) as here, ExitStack() as stack:
        here.run(*VIEWS)
        followers = {name: Follower(server, f"{here.schema}.{name}") for name in FOLLOWED}
        for follower in followers.values():
            follower.start()
            stack.callback(follower.stop)
        eventually(lambda: all(f.complete for f in followers.values()), within_s=GONE_S_MAX)
        looks = [looks_of(name) for name in READS]
        with watching(here, *((look,) for look in looks), looks[:2]) as watchers:
            database.run("ALTER TABLE orders ADD COLUMN region text NOT NULL DEFAULT 'north'")
            here.create_table("orders_v2", "orders")
            assert here.value("SELECT count(*) FROM orders_v2") >= ROWS
            before = ids(here)
            here.run("ALTER TABLE orders SWAP WITH orders_v2", "DROP TABLE orders_v2")
            after = ids(here)
            assert after == {
                **{name: id_ for name, id_ in before.items() if name != "orders_v2"},
                "orders": before["orders_v2"],
            }
            for name in ("priced", "large"):
                assert read_by(here, after[name]) == {after["orders"]}
            wait_turns(watchers)
            # What the new table has more is given on, and those who follow do not notice.
            here.run("CREATE OR REPLACE VIEW priced AS SELECT region, id, amount FROM orders")
            here.run("CREATE VIEW regions AS SELECT DISTINCT region FROM priced")
            assert here.rows("SELECT region FROM regions") == [("north",)]
            wait_turns(watchers)
            check_gone(here, before["orders"])
            assert len(here.slots()) == 1
        for name, follower in followers.items():
            eventually(partial(told_all, here, name, follower), within_s=GONE_S_MAX)
            check_told(follower, name)
        since = max(min(moments(followers[name])) for name in ("orders", "priced"))  # both had begun
        assert told_since(followers["orders"], since) == told_since(followers["priced"], since)
        assert all(follower.reconnects == 0 for follower in followers.values())
        assert here.rows("VERIFY TABLE orders")[0][0] == "equal"


def told_since(follower: Follower, since: int) -> dict[int, Counter[tuple[Any, ...]]]:
    """The rows at a timestamp, and after each later one at which something changed."""
    found = moments(follower)
    return {since: found[max(ts for ts in found if ts <= since)]} | {
        ts: rows for ts, rows in found.items() if ts > since
    }


def told_all(here: Following, name: str, follower: Follower) -> bool:
    """What was told comes to the rows that there are; some may still be on their way."""
    wanted = Counter(here.rows("SELECT n, amount FROM total" if name == "total" else looks_of(name)))
    found = +follower.rows
    lacking, spare = list((wanted - found).items())[:3], list((found - wanted).items())[:3]
    assert found == wanted, f"{name}: lacking {lacking}, too many {spare}"
    return True


def looks_of(name: str) -> str:
    return f"SELECT id, amount FROM {name}"
