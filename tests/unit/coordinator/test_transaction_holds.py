"""A transaction keeps readable what it has read and is likely to read, and nothing else.

Method: sessions of an environment without a cluster; since rises where nobody holds it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.core.errors import UserError
from tests.unit.coordinator.environment import Client, Environment, in_environment


async def with_tables(env: Environment) -> Client:
    client = await env.client()
    await client.run("CREATE SCHEMA other")
    for name in ("t", "u", "other.far", "other.farther"):
        await client.run(f"CREATE TABLE {name} (a int)")
        await client.run(f"INSERT INTO {name} VALUES (1)")
    return client


async def change_and_fold(env: Environment, client: Client, *names: str) -> set[str]:
    """Those that could be folded and forgotten up to their last write."""
    passed = set()
    for name in names:
        await client.run(f"UPDATE {name} SET a = a + 1")
        short = name.split(".")[-1]
        env.fold(short)
        if env.coordinator.holds.since(env.id_of(short)) == env.coordinator.tables.last_ts:
            passed.add(name)
    return passed


NAMES = ("t", "u", "other.far", "other.farther")


def test_an_open_block_holds_the_schemas_of_its_first_read_and_what_it_reads_later(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        other = await with_tables(env)
        reader = await env.client()
        await reader.run("BEGIN")
        await reader.run("SELECT a FROM t")
        assert await reader.run("SELECT a FROM other.far") == [(1,)], "still readable, and held from now on"
        assert await change_and_fold(env, other, *NAMES) == {"other.farther"}
        assert await reader.run("SELECT t.a, u.a, far.a FROM t, u, other.far") == [(1, 1, 1)]
        await other.run("DROP TABLE u")
        assert await reader.run("SELECT a FROM u") == [(1,)]
        with pytest.raises(UserError, match="same timedomain") as told:
            await reader.run("SELECT a FROM other.farther")
        assert told.value.sqlstate == "25000"
        assert "farther" in (told.value.detail or "")
        assert "first statement" in (told.value.hint or "")
        await reader.run("ROLLBACK")
        assert await change_and_fold(env, other, "t", "other.far") == {"t", "other.far"}

    in_environment(tmp_path, story)


def test_a_block_that_writes_holds_only_what_it_reads_and_one_that_has_not_read_nothing(
    tmp_path: Path,
) -> None:
    async def story(env: Environment) -> None:
        other = await with_tables(env)
        writer, idle = await env.client(), await env.client()
        await idle.run("BEGIN")
        await idle.run("SELECT count(*) FROM mz_catalog.mz_tables")
        await writer.run("BEGIN")
        await writer.run("INSERT INTO t SELECT a FROM u")
        assert await change_and_fold(env, other, *NAMES) == set(NAMES) - {"u"}
        await writer.run("ROLLBACK")
        assert await change_and_fold(env, other, "u") == {"u"}

    in_environment(tmp_path, story)


def test_temporary_tables_are_held_for_their_own_session(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        other = await with_tables(env)
        reader = await env.client()
        await other.run("CREATE TEMPORARY TABLE mine (a int)")
        await reader.run("CREATE TEMPORARY TABLE yours (a int)")
        await reader.run("CREATE TEMPORARY TABLE also_yours (a int)")
        await reader.run("BEGIN")
        await reader.run("SELECT * FROM yours")
        held = {
            name for name in ("mine", "yours", "also_yours") if env.coordinator.holds.held(env.id_of(name))
        }
        assert held == {"yours", "also_yours"}

    in_environment(tmp_path, story)


def test_only_an_open_block_runs_out_of_patience(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        client = await env.client()
        session = client.session
        assert session.patience_s() is None
        await client.run("BEGIN")
        assert session.patience_s() == 120
        await client.run("SET idle_in_transaction_session_timeout = '1500ms'")
        assert session.patience_s() == 1.5
        with pytest.raises(UserError):
            await client.run("SELECT 1 / 0")
        assert session.patience_s() == 1.5, "a failed one as well"
        await client.run("ROLLBACK")
        await client.run("SET idle_in_transaction_session_timeout = 0")
        await client.run("BEGIN")
        assert session.patience_s() is None

    in_environment(tmp_path, story)
