"""The demo: it starts a server, creates, watches, and always ends what it started.

Method: a canned server stands in for ours, as a real child process; a server that
fails to start, one that is interrupted, and a run to the end.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from headwater import demo
from headwater.cli import main
from headwater.client import Client
from headwater.core.errors import TransientError, UserError
from headwater.options import Address
from tests.unit import canned_server

CANNED = (sys.executable, canned_server.__file__)
FRAME = demo.Frame(4102473612034, {"users": 3, "bids": 3}, (("7", "City Bar Crawl", "4", "99"),))


def test_it_creates_every_table_shows_rows_and_stops_the_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    demo.run_demo(tmp_path, seconds=0.5, command=CANNED)
    out = capsys.readouterr().out
    assert out.count("> CREATE TABLE IF NOT EXISTS") == 5
    assert "08:00:12  organizations=0 users=3 accounts=0 auctions=0 bids=3" in out
    assert "psql -h 127.0.0.1 -p" in out
    assert "stopped in order" in (tmp_path / "diagnostics.log").read_text()


def test_a_server_that_does_not_start_shows_its_last_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANNED_FAILURE", "1")
    with pytest.raises(UserError, match="the server ended with status 3") as raised:
        demo.run_demo(tmp_path, seconds=1, command=CANNED)
    assert "the ledger cannot be opened" in (raised.value.detail or "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_stops_the_server_and_ends_well(tmp_path: Path, number: signal.Signals) -> None:
    code = (
        "import sys; from pathlib import Path; from headwater.demo import run_demo\n"
        f"run_demo(Path({str(tmp_path)!r}), 60, command={CANNED!r})"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        while "bids=3" not in child.stdout.readline():
            assert child.poll() is None
        child.send_signal(number)
        assert "stopping" in child.stdout.read()
    assert child.returncode == 0
    assert "stopped in order" in (tmp_path / "diagnostics.log").read_text()


def test_signals_mean_what_they_meant_before(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    demo.run_demo(tmp_path, seconds=0, command=CANNED)
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_free_address_is_the_wanted_one_or_another() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        wanted = Address("127.0.0.1", taken.getsockname()[1])
        assert demo.free_address(wanted).port not in (0, wanted.port)
    assert demo.free_address(wanted) == wanted


def test_addresses_that_are_asked_for_are_taken_as_they_are() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        wanted = Address("127.0.0.1", taken.getsockname()[1])
        addresses = demo.chosen_addresses(wanted, Address("127.0.0.1", 0), None)
    assert addresses.sql == wanted
    assert addresses.internal_sql.port != 0
    help_text = CliRunner().invoke(main, ["demo", "--help"]).output
    assert all(option in help_text for option in ("--sql-address", "--http-address", "HEADWATER_DEMO_"))


def test_a_table_that_cannot_be_read_yet_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Client, statement: str) -> list[tuple[str | None, ...]]:
        raise UserError('table "bids" cannot be read yet', sqlstate)

    monkeypatch.setattr(Client, "rows", refuse)
    client = object.__new__(Client)
    for waiting in ("55000", "57014"):
        sqlstate = waiting
        assert demo.read(client, demo.AUCTIONS) is None
    sqlstate = "42P01"
    with pytest.raises(UserError):
        demo.read(client, demo.AUCTIONS)


class QuickClock:
    """Sleeping is only counting."""

    def __init__(self, now_ms: int) -> None:
        self.passed_s = 0.0
        self._now_ms = now_ms

    def now_ms(self) -> int:
        return self._now_ms

    def monotonic_s(self) -> float:
        return self.passed_s

    def sleep(self, seconds: float) -> None:
        self.passed_s += seconds


def watch(monkeypatch: pytest.MonkeyPatch, frames: list[demo.Frame | None], clock: QuickClock) -> None:
    monkeypatch.setattr(demo, "read", lambda *_: frames.pop(0) if len(frames) > 1 else frames[0])
    demo._watch(object.__new__(Client), demo.AUCTIONS, 20.0, False, clock)


def test_the_time_begins_with_the_first_rows_that_are_newer_than_the_demo(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = QuickClock(now_ms=FRAME.ts_ms)
    left_behind = demo.Frame(FRAME.ts_ms - 1, FRAME.row_counts, ())
    watch(monkeypatch, [None, left_behind, left_behind, FRAME], clock)
    assert clock.passed_s == 23.0
    assert capsys.readouterr().out.count("bids=3") == 22


@pytest.mark.parametrize("frame", [None, FRAME])
def test_a_demo_whose_tables_never_grow_ends_and_says_so(
    monkeypatch: pytest.MonkeyPatch, frame: demo.Frame | None
) -> None:
    with pytest.raises(TransientError, match="no rows came within 120 s"):
        watch(monkeypatch, [frame], QuickClock(now_ms=FRAME.ts_ms + 1))


def test_a_frame_is_drawn_with_counts_and_the_best_auctions() -> None:
    from rich.console import Console

    with open(os.devnull, "w") as nowhere:
        console = Console(record=True, width=80, file=nowhere)
        console.print(demo.drawing(FRAME, demo.AUCTIONS))
    drawn = console.export_text()
    assert "tables at 08:00:12 UTC" in drawn
    assert "City Bar Crawl" in drawn
