"""The whole way of a field more in a topic's schema, while orders keep coming: nobody is told to begin again.

    a second table on the same reference, compared, swapped in, the first one dropped; then a field in place

Method: versions of orders only rise, and orders only come. Readers look at the table and at a view over it
without a pause, and subscribers follow both; every answer must have every order that an earlier one had, at
the same version or a later one, in the shape that the reader knows. Afterwards nothing of the former tables
is left.
"""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from typing import Any

from tests.support.clients import Follower
from tests.support.files import rows_about
from tests.support.kafka import KafkaServer
from tests.support.mirror import Mirror, avro, record
from tests.support.registry import RegistryServer
from tests.support.repeated import Repeated, wait_turns
from tests.support.server import HeadwaterServer, eventually

GONE_S_MAX = 60.0
UPSERT = "KEY FORMAT TEXT VALUE FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION csr ENVELOPE UPSERT"
FIRST = record("o", id="int", version="int")
SECOND = record("o", region={"type": "string", "default": "north"}, id="int", version="int")
THIRD = record(
    "o",
    region={"type": "string", "default": "north"},
    id="int",
    version="int",
    mood={"type": "string", "default": "calm"},
)
MORE: dict[str, dict[str, Any]] = {
    FIRST: {},
    SECOND: {"region": "south"},
    THIRD: {"region": "south", "mood": "wild"},
}


class Orders(Repeated):
    """Writes orders by the newest schema that is registered: two that are there already, and a new one."""

    pace_s = 0.02

    def __init__(self, here: Mirror, registry: RegistryServer, topic: str) -> None:
        super().__init__(here.server.connect())
        self._here, self._registry, self._topic = here, registry, topic
        self._schema, self._id = FIRST, 0
        self.evolve(FIRST)

    def evolve(self, schema: str) -> None:
        id_ = self._registry.register_schema(f"{self._topic}-value", schema)
        self._schema, self._id = schema, id_

    def turn(self) -> None:
        self.write(self.turns, self.turns % 7, self.turns // 2, self.turns)

    def write(self, version: int, *ids: int) -> None:
        schema = self._schema
        self._here.kafka.produce(
            self._topic,
            [
                (b"%d" % id_, avro(self._id, schema, {"id": id_, "version": version, **MORE[schema]}))
                for id_ in ids
            ],
        )


class Look(Repeated):
    """Reads orders here; what was there stays there, and gets no older."""

    def __init__(self, here: Mirror, query: str) -> None:
        super().__init__(here.server.connect())
        self.connection.execute(f"SET search_path = {here.schema}".encode())
        self._query = query.encode()
        self._known: dict[int, int] = {}

    def turn(self) -> None:
        found = dict(self.connection.execute(self._query).fetchall())
        behind = {id_: (n, found.get(id_)) for id_, n in self._known.items() if found.get(id_, -1) < n}
        assert not behind, f"{behind} of {len(found)}"
        self._known = found


def check_told(follower: Follower) -> None:
    """At every timestamp each order is there once, and later at a later version."""
    rows: Counter[tuple[Any, ...]] = Counter()
    known: dict[int, int] = {}
    changes = sorted(follower.changes, key=lambda change: change[0])
    for place, (ts, diff, row) in enumerate(changes):
        rows[row] += diff
        if place + 1 < len(changes) and changes[place + 1][0] == ts:
            continue
        there = [row for row, times in rows.items() if times]
        assert {rows[row] for row in there} <= {1}, ts
        found = {row[-2]: row[-1] for row in there}
        assert len(found) == len(there), ts
        assert all(found.get(id_, -1) >= version for id_, version in known.items()), ts
        known = found


def collection(here: Mirror, name: str) -> str:
    (found,) = here.rows(
        "SELECT s.shard_id FROM mz_internal.mz_storage_shards s JOIN mz_objects o ON o.id = s.object_id"
        f" JOIN mz_schemas m ON m.id = o.schema_id WHERE m.name = '{here.schema}' AND o.name = '{name}'"
    )
    return str(found[0])


def check_gone(here: Mirror, id_: str) -> None:
    data_dir = here.server.data_dir
    eventually(lambda: rows_about(data_dir, id_) == 0, within_s=GONE_S_MAX)
    eventually(lambda: not (data_dir / "tables" / id_).exists(), within_s=GONE_S_MAX)


def test_a_field_more_upstream_and_nobody_is_told_to_begin_again(
    server: HeadwaterServer, kafka: KafkaServer, registry: RegistryServer
) -> None:
    here = Mirror(server, kafka)
    topic = here.topic()
    here.registry(registry)
    orders = Orders(here, registry, topic)
    orders.write(0, *range(100_000, 100_100))  # nobody changes these
    here.source(topic)
    here.run(f"CREATE TABLE orders FROM SOURCE s {UPSERT}", "CREATE VIEW v AS SELECT id, version FROM orders")
    here.run("SELECT * FROM orders")
    followers = [Follower(server, f"{here.schema}.{name}") for name in ("orders", "v")]
    with ExitStack() as stack:
        for follower in followers:
            follower.start()
            stack.callback(follower.stop)
        eventually(lambda: all(follower.complete for follower in followers), within_s=GONE_S_MAX)
        queries = ("SELECT id, version FROM orders", "SELECT * FROM v")
        looks = [stack.enter_context(Look(here, query)) for query in queries]
        clients = [stack.enter_context(orders), *looks]
        wait_turns(clients)

        orders.evolve(SECOND)
        wait_turns(clients)
        here.run(f"CREATE TABLE orders_v2 FROM SOURCE s {UPSERT}")
        assert here.rows("SELECT id, version FROM orders EXCEPT ALL SELECT id, version FROM orders_v2") == []
        assert here.rows("SELECT id, version FROM orders_v2 EXCEPT ALL SELECT id, version FROM orders") == []
        first, second = collection(here, "orders"), collection(here, "orders_v2")
        here.run("ALTER TABLE orders SWAP WITH orders_v2", "DROP TABLE orders_v2")
        assert collection(here, "orders") == second
        wait_turns(clients)
        assert set(here.rows("SELECT DISTINCT region FROM orders")) == {("north",), ("south",)}
        check_gone(here, first)

        orders.evolve(THIRD)
        here.run("ALTER TABLE orders ADD COLUMN mood")
        wait_turns(clients)
        assert ("calm",) in here.rows("SELECT DISTINCT mood FROM orders")
        eventually(lambda: ("wild",) in here.rows("SELECT DISTINCT mood FROM orders"))
        assert collection(here, "orders") != second
    for follower in followers:
        check_told(follower)
        assert follower.reconnects == 0
    check_gone(here, second)
    here.wait(topic)
    assert here.rows("VERIFY TABLE orders")[0][0] == "equal"
    here.leave()
