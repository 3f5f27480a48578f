"""The demo of Kafka: a real broker and a real server, three tables of one topic, and nothing left behind.

Method: the command as a user types it, with a data directory of its own, named from where the user is.  What
it prints is looked at, and so are the processes that it has started.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from headwater.demo_kafka import STATES, orders
from tests.support.kafka import JARS, available
from tests.support.server import alive, descendants, eventually

DEMO_S_MAX = 240
LINE = re.compile(
    r"\d\d:\d\d:\d\d  orders_raw=(\d+) orders_log=(\d+) orders=(\d+)"
    r"  most are (?:placed|paid|shipped|delivered): \d+"
)


def command(data_dir: Path, *words: str) -> list[str]:
    free = ("--sql-address", "--internal-sql-address", "--http-address")
    ports = [word for option in free for word in (option, "127.0.0.1:0")]
    return [sys.executable, "-m", "headwater", "demo", "kafka", "--data-dir", str(data_dir), *ports, *words]


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not available():
        pytest.skip("Kafka is not there: make kafka")
    return tmp_path_factory.mktemp("demo") / "data"


def counts(out: str) -> list[tuple[int, ...]]:
    """Of each second: messages, log, orders."""
    return [tuple(map(int, found.groups())) for found in map(LINE.match, out.splitlines()) if found]


@pytest.mark.timeout(600)
def test_one_topic_is_three_tables_that_grow(data_dir: Path) -> None:
    done = subprocess.run(
        command(Path(data_dir.name), "--kafka-dir", str(JARS), "--seconds", "4"),
        cwd=data_dir.parent,
        capture_output=True,
        text=True,
        timeout=DEMO_S_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("> CREATE TABLE IF NOT EXISTS orders") == 3
    assert re.search(r"^broker +127\.0\.0\.1:\d+$", done.stdout, re.MULTILINE)
    assert "psql -h 127.0.0.1 -p" in done.stdout
    seen = counts(done.stdout)
    assert len(seen) >= 2, done.stdout
    assert seen[-1][0] > seen[0][0]
    for messages, log, newest in seen:
        assert messages >= log >= newest > 0
    assert seen[-1][1] > seen[-1][2], "orders change their state in place"


@pytest.mark.timeout(600)
def test_the_next_one_goes_on_and_an_interrupt_ends_all_processes(data_dir: Path) -> None:
    with subprocess.Popen(
        command(Path(data_dir.name), "--kafka-dir", str(JARS), "--seconds", "600"),
        cwd=data_dir.parent,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        while (found := LINE.match(child.stdout.readline())) is None:
            assert child.poll() is None
        assert int(found[1]) > 50, "what the demo before has written is there"
        started = descendants(child.pid)
        programs = {Path(f"/proc/{pid}/comm").read_text().strip() for pid in started if alive(pid)}
        assert "java" in programs
        child.send_signal(signal.SIGINT)
        assert "stopping" in child.stdout.read()
    assert child.returncode == 0
    eventually(lambda: not [pid for pid in started if alive(pid)])


def test_without_a_kafka_it_says_how_to_get_one(tmp_path: Path) -> None:
    done = subprocess.run(
        command(tmp_path / "data", "--kafka-dir", str(tmp_path)),
        capture_output=True,
        text=True,
        timeout=DEMO_S_MAX,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == f'ERROR:  there is no Kafka in "{tmp_path}"'
    assert "make kafka" in done.stderr
    assert not (tmp_path / "data").exists()


def test_a_broker_that_does_not_start_shows_its_last_lines(data_dir: Path, tmp_path: Path) -> None:
    broken = tmp_path / "data" / "broker" / "data"
    broken.mkdir(parents=True)
    (broken / "meta.properties").write_text("version=1\ncluster.id=HeadwaterDemoBrokerAAA\nnode.id=2\n")
    done = subprocess.run(
        command(tmp_path / "data", "--kafka-dir", str(JARS)),
        capture_output=True,
        text=True,
        timeout=DEMO_S_MAX,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert done.returncode == 1
    assert "the broker ended with status 1" in done.stderr
    assert "the broker's last lines:" in done.stderr


def test_orders_go_through_all_states_and_are_forgotten() -> None:
    told: dict[bytes, list[bytes | None]] = {}
    for key, value in islice(orders(7), 3000):
        told.setdefault(key, []).append(value)
    whole = [values for values in told.values() if values[-1] is None]
    assert len(whole) > 100
    for values in whole:
        states = [value.decode().rpartition('"state": "')[2][:-2] for value in values if value is not None]
        assert tuple(states) == STATES
    assert len(told) - len(whole) <= 50
