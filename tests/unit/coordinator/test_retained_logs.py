"""What an upstream keeps for a source is shown, and warned of once before it is too much.

Method: an environment without a cluster, and an upstream that says what the test wants.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from structlog.testing import capture_logs

from headwater.coordinator.retained_logs import level
from headwater.core.errors import TransientError
from headwater.core.frontier import Frontier, OffsetFrontier
from headwater.core.protocol import Statistics, Status
from headwater.observe import metrics
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import Options, Retained, Secrets
from tests.unit.coordinator.environment import Environment, in_environment, refused, until

MIB = 1024 * 1024
LOGS = "SELECT state, held_bytes, left_bytes, limit_bytes FROM mz_internal.mz_source_upstream_logs"
HINTS = "SELECT details::text FROM mz_internal.mz_source_statuses WHERE name = 'c'"


@pytest.mark.parametrize(
    ("retained", "wanted"),
    [
        (Retained("reserved", 900 * MIB), "fine"),
        (Retained("reserved", 40 * MIB, 26 * MIB, 100 * MIB), "fine"),
        (Retained("extended", 80 * MIB, 25 * MIB, 100 * MIB), "low"),
        (Retained("unreserved", 130 * MIB, 0, 100 * MIB), "low"),
        (Retained("lost", None, None, 100 * MIB, lost=True), "lost"),
        (Retained("missing", None, lost=True, missing=True), "lost"),
    ],
)
def test_there_is_a_quarter_left_to_act_in(retained: Retained, wanted: str) -> None:
    assert level(retained) == wanted


def test_it_is_shown_and_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[Retained | None] = [None]

    def retained(options: Options, secrets: Secrets) -> Retained:
        if said[0] is None:
            raise TransientError("postgres: no")
        return said[0]

    generator = SOURCE_TYPES["load-generator"]
    monkeypatch.setitem(SOURCE_TYPES, "load-generator", replace(generator, retained=retained))

    async def story(env: Environment) -> None:
        client, logs = await env.client(), env.coordinator.retained_logs
        await client.run("CREATE SOURCE c FROM LOAD GENERATOR COUNTER")
        await client.run("CREATE TABLE ticks FROM SOURCE c (REFERENCE counter)")
        id_ = env.id_of("c")

        async def ask(answer: Retained | None) -> list[str]:
            said[0] = answer
            logs._asked_s.pop(id_, None)
            with capture_logs() as lines:
                logs.look()
                await until(lambda: all(task.done() for task in logs._asking.values()))
            return [line["event"] for line in lines if line["log_level"] != "debug"]

        assert await ask(Retained("reserved", 1)) == []
        assert await client.run(LOGS) == [], "it has not been read, so there may be nothing there yet"
        env.follow("ticks", {"counter": pa.array([7])})
        env.coordinator.controller.health.hear_status(Status(id_, "running", None, None, 1))
        assert await ask(Retained("reserved", 5 * MIB)) == []
        assert await client.run(LOGS) == [("reserved", 5 * MIB, None, None)]
        assert metrics.value("headwater_upstream_log_held_bytes", source=id_) == 5 * MIB
        assert metrics.value("headwater_upstream_log_left_bytes", source=id_) is None
        assert await ask(None) == []
        assert metrics.value("headwater_upstream_log_held_bytes", source=id_) is None
        low = Retained("extended", 80 * MIB, 20 * MIB, 100 * MIB)
        assert await ask(low) == ["upstream will soon let go of log that the source needs"]
        assert await ask(replace(low, left_bytes=19 * MIB)) == []
        assert metrics.value("headwater_upstream_log_left_bytes", source=id_) == 19 * MIB
        assert "raise max_slot_wal_keep_size there" in await client.value(HINTS)
        assert await ask(Retained("lost", None, lost=True)) == [
            "upstream has let go of log that the source needs"
        ]
        assert "ALTER SOURCE materialize.public.c RESYNC" in await client.value(HINTS)
        assert metrics.value("headwater_upstream_log_held_bytes", source=id_) is None
        error = await refused(client, "CREATE TABLE more FROM SOURCE c (REFERENCE counter)", "55000")
        assert "RESYNC" in str(error.hint)
        await ask(Retained("missing", None, lost=True, missing=True))
        assert await client.value(HINTS) is None, "it may have been asked to begin anew"
        assert await ask(Retained("reserved", 1)) == ["upstream has room for its log again"]
        assert await client.value(HINTS) is None
        await client.run("DROP SOURCE c CASCADE")
        assert await client.run(LOGS) == []
        logs.look()
        assert metrics.value("headwater_upstream_log_held_bytes", source=id_) is None

    in_environment(tmp_path, story)


def test_how_far_an_upstream_is_is_known_of_a_source_that_stands_still(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[int | None] = [900]

    def position(options: Options, secrets: Secrets, now_ms: int) -> Frontier:
        if said[0] is None:
            raise TransientError("postgres: no")
        return OffsetFrontier(said[0])

    generator = SOURCE_TYPES["load-generator"]
    monkeypatch.setitem(SOURCE_TYPES, "load-generator", replace(generator, position=position))

    async def story(env: Environment) -> None:
        client, logs = await env.client(), env.coordinator.retained_logs
        await client.run("CREATE SOURCE c FROM LOAD GENERATOR COUNTER")
        await client.run("CREATE TABLE ticks FROM SOURCE c (REFERENCE counter)")
        id_ = env.id_of("c")
        env.follow("ticks", {"counter": pa.array([7])})
        health = env.coordinator.controller.health
        health.hear_statistics(Statistics(id_, {"offset_known": 50, "offset_committed": 40}))

        async def known(status: str, due: bool = False) -> set[int | None]:
            """What is shown of the source and its table once a source with this status was looked at."""
            health.hear_status(Status(id_, status, None, None, 1))
            if due:
                logs._asked_s.pop(id_, None)
            logs.look()
            await until(lambda: all(task.done() for task in logs._asking.values()))
            rows = await client.run("SELECT offset_known::int8 FROM mz_internal.mz_source_statistics")
            assert len(rows) == 2
            return {value for (value,) in rows}

        assert await known("running", due=True) == {50}
        assert await known("paused") == {900}, "it is asked at once"
        said[0] = 950
        assert await known("paused") == {900}, "and then now and then"
        assert await known("paused", due=True) == {950}
        assert await known("starting") == {950}, "the reader has yet to say anything"
        health.hear_statistics(Statistics(id_, {"offset_known": 960}))
        assert await known("running") == {960}
        assert await known("stalled") == {950}
        said[0] = None
        assert await known("stalled", due=True) == {None}, "nobody knows"
        assert await known("running") == {960}
        assert await known("running", due=True) == {960}
        assert id_ not in logs._ends

    in_environment(tmp_path, story)
