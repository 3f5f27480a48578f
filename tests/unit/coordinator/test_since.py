"""A table's history begins where it can be read, whatever its RETAIN HISTORY would keep.

Method: an environment without a cluster.  What a cluster reports (a fold, a table that is filled) is put
where it would arrive; then a read just before the table's first timestamp must be refused by name, and
mz_frontiers must not promise it.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from headwater.formats.arrow import state_schema
from headwater.persist.files import write_file
from headwater.persist.ledger import Filled
from headwater.persist.local import LocalStore
from tests.unit.coordinator.environment import Client, Environment, in_environment, refused

SOURCE = "CREATE SOURCE s FROM LOAD GENERATOR COUNTER"
TABLE = "CREATE TABLE ticks FROM SOURCE s WITH (RETAIN HISTORY FOR '1 day')"
FRONTIERS = "SELECT read_frontier::text::int8 FROM mz_internal.mz_frontiers WHERE object_id = '{id}'"


async def _begins_at(client: Client, env: Environment, ts: int) -> None:
    assert await client.run(FRONTIERS.format(id=env.id_of("ticks"))) == [(ts,)]
    assert await client.run(f"SELECT counter FROM ticks AS OF {ts}") == [(7,)]
    await refused(client, f"SELECT counter FROM ticks AS OF {ts - 1}", "22000")


def test_a_fold_of_a_table_that_nobody_has_read_does_not_lengthen_its_history(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        client = await env.client()
        for text in (SOURCE, TABLE):
            await client.run(text)
        source_id = env.follow("ticks", {"counter": pa.array([7])})
        ts = env.coordinator.controller.uppers[source_id] - 1
        env.coordinator.controller.superseded[env.id_of("ticks")] = {ts}
        env.coordinator._compact()
        await _begins_at(client, env, ts)

    in_environment(tmp_path, story)


def test_a_table_that_was_being_filled_at_the_start_begins_where_it_is_whole(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        client = await env.client()
        for text in (SOURCE, TABLE):
            await client.run(text)
        item = env.catalog.state.items[env.id_of("ticks")]
        source_id, joined = str(item.source_id), env.coordinator.clock.now_ms() - 100
        env.ledger.open_writer(source_id)
        env.ledger.join([(item.id, "counted", item.relation, "b", None)], source_id, joined, hydrated=False)

    async def later(env: Environment) -> None:
        """The next process: the table's point is covered at a later binding than it joined at."""
        item = env.catalog.state.items[env.id_of("ticks")]
        rows = pa.table({"counter": pa.array([7])}, schema=state_schema(item.relation))
        path = f"tables/{item.id}/state/made.parquet"
        entry = write_file(LocalStore(env.data_dir), path, iter(rows.to_batches()), rows.schema)
        whole = env.coordinator.clock.now_ms() - 50
        env.ledger.fill({item.id: Filled(None, [entry], 0)}, whole)
        env.coordinator.controller.hydrated.add(item.id)
        env.coordinator.controller.uppers[str(item.source_id)] = whole + 10
        await _begins_at(await env.client(), env, whole)

    in_environment(tmp_path, story)
    in_environment(tmp_path, later)


def test_bindings_that_no_table_needs_go_although_nobody_has_read_the_tables(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        client = await env.client()
        for text in (SOURCE, TABLE.replace("1 day", "1 s")):
            await client.run(text)
        source_id, now_ms = env.id_of("s"), env.coordinator.clock.now_ms()
        writer = env.ledger.open_writer(source_id)
        for ts in (now_ms - 9000, now_ms - 6000, now_ms - 3000):
            writer = env.ledger.append(source_id, writer, ts, ts, {})
        assert env.follow("ticks", {"counter": pa.array([7])}) == source_id
        env.coordinator._compact_bindings()
        assert env.coordinator.holds.since(source_id) > now_ms - 3000

    in_environment(tmp_path, story)
