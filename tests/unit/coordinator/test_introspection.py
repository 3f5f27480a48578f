"""What system relations and metrics say of sources and tables is what happened to them.

Method: an environment without a cluster; the test plays the cluster, and compares each relation, the
metrics and the log with what it did.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from structlog.testing import capture_logs

from headwater.coordinator.system import object_numbers
from headwater.core.errors import DefiniteError, UserError
from headwater.core.protocol import Frontiers, Statistics, Status
from headwater.observe import metrics
from tests.unit.coordinator.environment import Client, Environment, in_environment

FAILED = "generator: nobody foresaw it"
COUNTER = "FROM LOAD GENERATOR COUNTER"


async def hear(env: Environment, *messages: Any) -> None:
    """The cluster says these."""
    for message in messages:
        await env.coordinator.controller._hear(message, b"")


async def followed(env: Environment) -> tuple[Client, str, str]:
    """A client, and a source `s` with a table `t` that can be read: their ids."""
    client = await env.client()
    await client.run(f"CREATE SOURCE s {COUNTER}")
    await client.run("CREATE TABLE t FROM SOURCE s (REFERENCE counter)")
    source_id = env.follow("t", {"counter": pa.array([1], pa.int64())})
    table_id = env.id_of("t")
    now_ms = env.coordinator.clock.now_ms()
    await hear(
        env,
        Status(source_id, "running", None, None, now_ms),
        Status(table_id, "running", None, None, now_ms),
        Frontiers({source_id: now_ms + 60_000}, [table_id]),
    )
    return client, source_id, table_id


def test_a_table_that_has_ended_is_failed_everywhere(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        client, source_id, table_id = await followed(env)
        assert await client.value(f"SELECT hydrated FROM mz_internal.mz_hydration_statuses {of(table_id)}")
        ended_at = env.coordinator.clock.now_ms() - 5_000
        env.ledger.poison(table_id, ended_at, DefiniteError("", "7", "nobody foresaw it"))
        with capture_logs() as lines:
            await hear(env, Status(table_id, "failed", FAILED, "Drop it from {source}.", ended_at))
            await hear(env, Status(table_id, "failed", FAILED, "Drop it from {source}.", ended_at))
        assert [line for line in lines if line["log_level"] == "error"] == [
            {
                "event": "failed for good",
                "table": "materialize.public.t",
                "id": table_id,
                "error": FAILED,
                "hint": "Drop it from materialize.public.s.",
                "log_level": "error",
            }
        ]
        for relation in ("mz_source_statuses WHERE id", "mz_source_status_history WHERE source_id"):
            rows = await client.run(f"SELECT status, error FROM mz_internal.{relation} = '{table_id}'")
            assert rows[-1] == ("failed", FAILED)
        statuses = dict(await client.run("SELECT name, status FROM mz_internal.mz_source_statuses"))
        assert statuses == {"s": "running", "t": "failed"}
        assert not await client.value(
            f"SELECT hydrated FROM mz_internal.mz_hydration_statuses {of(table_id)}"
        )
        frontier = await client.value(f"SELECT write_frontier FROM mz_internal.mz_frontiers {of(table_id)}")
        assert int(frontier) == ended_at
        lag = f"SELECT lag >= '5 s' AND lag < '5 min' FROM mz_internal.mz_wallclock_global_lag {of(table_id)}"
        assert await client.value(lag)
        exposed = {numbers.id: numbers for numbers in object_numbers(env.coordinator)}
        assert exposed.keys() == {source_id, table_id}
        table = exposed[table_id]
        assert (table.name, table.source) == ("materialize.public.t", "materialize.public.s")
        assert (table.type, table.status, table.hydrated) == ("table", "failed", False)
        assert table.lag_s is not None
        assert table.lag_s >= 5
        source = exposed[source_id]
        assert (source.type, source.status, source.hydrated, source.lag_s) == ("source", "running", True, 0)
        # Whatever happens to the source, the table stays what it is.
        await hear(env, Status(source_id, "stalled", "generator: away", None, ended_at + 1))
        statuses = dict(await client.run("SELECT name, status FROM mz_internal.mz_source_statuses"))
        assert statuses == {"s": "stalled", "t": "failed"}

    in_environment(tmp_path, story)


def of(id_: str) -> str:
    return f"WHERE object_id = '{id_}'"


def test_what_was_dropped_is_exposed_no_longer(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        client, source_id, _ = await followed(env)
        counts = {"updates_committed": 1, "bytes_received": 1, "ticks": 1, "tick_seconds": 0.1}
        await hear(env, Statistics(source_id, counts), Status(source_id, "stalled", "x: y", None, 1))
        assert metrics.value("headwater_ticks_total", source=source_id)
        assert metrics.value("headwater_stalls_total", source=source_id)
        await client.run("ALTER TABLE t RENAME TO renamed")
        assert {o.name for o in object_numbers(env.coordinator)} == {
            "materialize.public.s",
            "materialize.public.renamed",
        }
        await client.run("DROP SOURCE s CASCADE")
        assert object_numbers(env.coordinator) == []
        assert metrics.value("headwater_ticks_total", source=source_id) is None
        assert f'source="{source_id}"'.encode() not in metrics.exposition(object_numbers(env.coordinator))

    in_environment(tmp_path, story)


def test_statistics_name_the_replica_and_keep_what_was_known_over_restarts(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        client = await env.client()
        await client.run("CREATE CLUSTER other (SIZE 'small')")
        await client.run(f"CREATE SOURCE s IN CLUSTER other {COUNTER}")
        await client.run("CREATE TABLE t FROM SOURCE s (REFERENCE counter)")
        source_id = env.follow("t", {"counter": pa.array([1], pa.int64())})
        table_id = env.id_of("t")
        replica_id = await client.value(
            "SELECT r.id FROM mz_cluster_replicas r JOIN mz_clusters c ON c.id = r.cluster_id"
            " WHERE c.name = 'other'"
        )
        counts = {"messages_received": 7, "bytes_received": 70, "updates_staged": 9, "updates_committed": 8}
        far = {"offset_known": 50, "offset_committed": 40, "rehydration_latency_ms": 1_500}
        await hear(env, Statistics(source_id, dict(far)), Statistics(table_id, dict(counts)))

        async def shown(relation: str) -> dict[str, tuple[Any, ...]]:
            rows = await client.run(
                "SELECT id, replica_id, messages_received::int8, bytes_received::int8, updates_staged::int8,"
                " updates_committed::int8, offset_known::int8, offset_committed::int8,"
                f" extract(epoch FROM rehydration_latency)::float8 FROM mz_internal.{relation}"
            )
            return {row[0]: row[1:] for row in rows}

        known = (replica_id, 7, 70, 9, 8, 50, 40, 1.5)
        for relation in ("mz_source_statistics", "mz_source_statistics_with_history"):
            assert await shown(relation) == {source_id: known, table_id: known}
        env.coordinator.controller.health.settle()  # another process
        unknown = (replica_id, 7, 70, 9, 8, None, None, None)
        assert await shown("mz_source_statistics") == {source_id: unknown, table_id: unknown}
        assert await shown("mz_source_statistics_with_history") == {source_id: known, table_id: known}
        await client.run("ALTER CLUSTER other SET (REPLICATION FACTOR 0)")
        assert (await shown("mz_source_statistics"))[table_id] == (None, *unknown[1:])
        assert (await shown("mz_source_statistics_with_history"))[table_id] == known

    in_environment(tmp_path, story)


def test_a_table_that_has_failed_was_not_rehydrated(tmp_path: Path) -> None:
    shown = "SELECT id, extract(epoch FROM rehydration_latency)::float8 FROM mz_internal.mz_source_statistics"

    async def story(env: Environment) -> None:
        client, source_id, table_id = await followed(env)
        await hear(
            env,
            Statistics(source_id, {"rehydration_latency_ms": 2_000}),
            Statistics(table_id, {"rehydration_latency_ms": 1_500}),
        )
        assert dict(await client.run(shown)) == {source_id: 2.0, table_id: 1.5}
        env.ledger.poison(
            table_id, env.coordinator.clock.now_ms() - 5_000, DefiniteError("", "7", "nobody foresaw it")
        )
        for relation in ("", "_with_history"):
            assert dict(await client.run(shown + relation)) == {source_id: 2.0, table_id: None}
        env.coordinator.controller.health.settle()  # another process, which does not read the table
        await hear(env, Statistics(source_id, {"rehydration_latency_ms": 3_000}))
        for relation in ("", "_with_history"):
            assert dict(await client.run(shown + relation)) == {source_id: 3.0, table_id: None}

    in_environment(tmp_path, story)


def test_a_legacy_source_stands_where_its_progress_does(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        client = await env.client()
        await client.run("CREATE SOURCE a FROM LOAD GENERATOR AUCTION FOR ALL TABLES")
        progress_id, named_id = env.id_of("a_progress"), env.id_of("a")
        await hear(env, Frontiers({progress_id: 4_000}, []))
        rows = await client.run("SELECT object_id, write_frontier::text FROM mz_internal.mz_frontiers")
        assert dict(rows)[named_id] == dict(rows)[progress_id] == "4000"
        assert {o.id for o in object_numbers(env.coordinator)} >= {progress_id, named_id}

    in_environment(tmp_path, story)


def test_a_status_names_the_replica_that_ran_what_has_been_dropped_since(tmp_path: Path) -> None:
    told = "SELECT status, replica_id FROM mz_internal.mz_source_status_history WHERE source_id = "

    async def story(env: Environment) -> None:
        client = await env.client()
        await client.run("CREATE CLUSTER other (SIZE 'small')")
        await client.run(f"CREATE SOURCE s IN CLUSTER other {COUNTER}")
        await client.run("CREATE TABLE t FROM SOURCE s (REFERENCE counter)")
        source_id = env.follow("t", {"counter": pa.array([1], pa.int64())})
        table_id = env.id_of("t")
        replica_id = await client.value(
            "SELECT r.id FROM mz_cluster_replicas r JOIN mz_clusters c ON c.id = r.cluster_id"
            " WHERE c.name = 'other'"
        )
        await hear(env, *(Status(id_, "running", None, None, 1) for id_ in (source_id, table_id)))
        for id_ in (source_id, table_id):
            assert await client.run(f"{told} '{id_}'") == [("running", replica_id)]
        await client.run("DROP CLUSTER other CASCADE")
        for id_ in (source_id, table_id):
            rows = await client.run(f"{told} '{id_}'")
            assert rows == [("running", replica_id), ("dropped", replica_id)]

    in_environment(tmp_path, story)


async def sample(env: Environment) -> None:
    """As if the time had come."""
    env.coordinator.sampling._taken_ms.clear()
    await env.coordinator.sampling.take()


def test_histories_are_kept_and_go_on_after_a_restart(tmp_path: Path) -> None:
    lag_of = "SELECT lag, replica_id FROM mz_internal.mz_wallclock_lag_history WHERE object_id = "
    recent = "SELECT count(*) FROM mz_internal.mz_wallclock_global_lag_recent_history WHERE object_id = "
    usage = "SELECT size_bytes::int8 FROM mz_catalog.mz_storage_usage WHERE object_id = "
    replicas = "SELECT status, reason FROM mz_internal.mz_cluster_replica_status_history"
    ids: list[str] = []

    async def first(env: Environment) -> None:
        client, _, table_id = await followed(env)
        ids.append(table_id)
        env.ledger.poison(
            table_id, env.coordinator.clock.now_ms() - 5_000, DefiniteError("", "7", "nobody foresaw it")
        )
        env.coordinator.controller.replicas.hear(True, None, 1)
        await sample(env)
        lag, replica_id = (await client.run(f"{lag_of} '{table_id}'"))[-1]
        assert lag is not None
        assert replica_id == "u1"
        assert await client.value(f"{recent} '{table_id}'") == len(await client.run(f"{lag_of} '{table_id}'"))
        now = await client.value(
            f"SELECT size_bytes::int8 FROM mz_catalog.mz_recent_storage_usage WHERE object_id = '{table_id}'"
        )
        files = [path for path in (env.data_dir / "tables" / table_id).rglob("*.parquet") if path.is_file()]
        assert now == sum(path.stat().st_size for path in files) > 0
        assert (await client.run(f"{usage} '{table_id}'"))[-1] == (now,)
        assert await client.run(replicas) == [("online", None)]

    async def second(env: Environment) -> None:
        client = await env.client()
        (table_id,) = ids
        before = [len(await client.run(f"{query} '{table_id}'")) for query in (lag_of, usage)]
        assert min(before) >= 1
        await sample(env)
        after = [len(await client.run(f"{query} '{table_id}'")) for query in (lag_of, usage)]
        assert all(many > few for many, few in zip(after, before, strict=True))
        assert await client.run(replicas) == [("online", None), ("offline", "the server was stopped")]

    in_environment(tmp_path, first)
    in_environment(tmp_path, second)


def test_a_session_is_told_whose_it_is_and_since_when_the_server_runs(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        client = await env.client()
        operator = Client(await env.coordinator.open_session("mz_system", {}, "here", internal=True))
        await client.run("CREATE USER ann")
        stranger = Client(await env.coordinator.open_session("ann", {}, "here", internal=False))
        operating = Client(await env.coordinator.open_session("ann", {}, "here", internal=True))
        who = (
            "SELECT current_setting('is_superuser'), current_setting('session_authorization'),"
            " mz_is_superuser()"
        )
        rolsuper = "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"
        assert await stranger.run(who) == [("off", "ann", False)]
        assert await stranger.run(rolsuper) == [(False,)]
        assert await client.run(who) == [("on", "materialize", True)]
        assert await client.run(rolsuper) == [(True,)]
        assert await operating.run(who) == [("on", "ann", True)]
        assert await operator.run(who) == [("on", "mz_system", True)]
        assert await operator.run(rolsuper) == [(True,)]
        assert dict(operator.session.settings.reported())["is_superuser"] == "on"
        with pytest.raises(UserError, match="cannot be changed"):
            await env.client(is_superuser="on")
        started = await client.value("SELECT pg_postmaster_start_time()")
        assert await client.value("SELECT pg_postmaster_start_time()") == started
        assert await client.value("SELECT pg_postmaster_start_time() < now() + interval '1 ms'")
        expected = datetime.fromtimestamp(env.coordinator.started_at_ms / 1000, UTC)
        assert started == expected

    in_environment(tmp_path, story)


@pytest.mark.parametrize("columns", ["nonsense", "a, a", "a"])
def test_an_order_that_would_not_be_kept_is_refused(tmp_path: Path, columns: str) -> None:
    async def story(env: Environment) -> None:
        client = await env.client()
        await client.run(f"CREATE SOURCE s {COUNTER}")
        for table in ("t (a int)", "t FROM SOURCE s (REFERENCE counter)"):
            with pytest.raises(UserError, match="PARTITION BY not yet supported"):
                await client.run(f"CREATE TABLE {table} WITH (PARTITION BY ({columns}))")

    in_environment(tmp_path, story)


def test_the_statement_of_a_load_generator_stays_when_a_subsource_goes(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        client = await env.client()
        await client.run("CREATE SOURCE a FROM LOAD GENERATOR AUCTION FOR ALL TABLES")
        before = await client.run("SHOW CREATE SOURCE a")
        await client.run("ALTER SOURCE a DROP SUBSOURCE bids")
        await client.run("DROP SOURCE users")
        assert await client.run("SHOW CREATE SOURCE a") == before
        assert "FOR ALL TABLES" in before[0][1]
        assert not {"bids", "users"} & {row[0] for row in await client.run("SHOW SUBSOURCES ON a")}

    in_environment(tmp_path, story)


def test_a_subscription_is_the_same_one_for_as_long_as_it_lives(tmp_path: Path) -> None:
    listed = (
        "SELECT id, session_id::text, cluster_id, created_at, referenced_object_ids::text"
        " FROM mz_internal.mz_subscriptions"
    )

    async def story(env: Environment) -> None:
        client, _, table_id = await followed(env)
        await client.run("CREATE CLUSTER other (SIZE 'small')")
        running = []
        for cluster in ("quickstart", "other"):
            subscriber = await env.client(cluster=cluster)
            (parsed,) = await subscriber.session.parse("SUBSCRIBE t")
            running.append(await subscriber.session.execute(await subscriber.session.prepare(parsed)))
        first, second = await client.run(listed)
        assert first[0] != second[0]
        assert first[1] != second[1]
        other_id = await client.value("SELECT id FROM mz_clusters WHERE name = 'other'")
        assert (first[2], second[2]) == ("u1", other_id)
        assert first[4] == second[4] == f"{{{table_id}}}"
        running[0].close()
        assert await client.run(listed) == [second]
        running[1].close()
        assert await client.run(listed) == []

    in_environment(tmp_path, story)
