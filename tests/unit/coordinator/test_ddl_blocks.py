"""A block of DDL is committed against the catalog of then, unless somebody has changed what all share.

Method: sessions of an environment without a cluster.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.core.errors import UserError
from tests.unit.coordinator.environment import Environment, in_environment


def test_temporary_objects_of_others_come_and_go(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        one, other, leaving = await env.client(), await env.client(), await env.client()
        for text in ("CREATE TABLE t (a int)", "CREATE TABLE kept (a int)"):
            await one.run(text)
        await leaving.run("CREATE TEMPORARY TABLE mine (a int)")
        await leaving.run("CREATE TEMPORARY VIEW over_t AS SELECT a FROM t")
        await leaving.run("COMMENT ON TABLE mine IS 'goes too'")
        await one.run("BEGIN")
        await one.run("CREATE TABLE new (a int)")
        await one.run("DROP TABLE t CASCADE")
        await other.run("CREATE TEMPORARY TABLE yours (a int)")
        await other.run("CREATE TEMPORARY VIEW over_kept AS SELECT a FROM kept")
        await leaving.close()
        assert await one.value("COMMIT") == "COMMIT"
        assert [row[0] for row in await one.run("SHOW TABLES")] == ["kept", "new"]
        assert await other.run("SELECT * FROM over_kept") == []
        assert await other.run("SELECT * FROM yours") == []

    in_environment(tmp_path, story)


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ("DROP TABLE t", "CREATE TEMPORARY VIEW v AS SELECT a FROM t"),
        ("ALTER TABLE t RENAME TO u", "CREATE TEMPORARY VIEW v AS SELECT a FROM t"),
        ("ALTER TABLE t RENAME TO u", "DROP VIEW before"),
        ("CREATE TABLE new (a int)", "CREATE TABLE u (a int)"),
        ("CREATE TABLE new (a int)", "COMMENT ON TABLE t IS 'words'"),
        ("CREATE TABLE new (a int)", "ALTER TABLE t RENAME TO u"),
    ],
)
def test_what_concerns_the_block_is_a_conflict(tmp_path: Path, mine: str, theirs: str) -> None:
    async def story(env: Environment) -> None:
        one, other = await env.client(), await env.client()
        await one.run("CREATE TABLE t (a int)")
        if "before" in theirs:
            await other.run("CREATE TEMPORARY VIEW before AS SELECT a FROM t")
        await one.run("BEGIN")
        await one.run(mine)
        await other.run(theirs)
        with pytest.raises(UserError) as told:
            await one.run("COMMIT")
        assert told.value.sqlstate == "40001"

    in_environment(tmp_path, story)
