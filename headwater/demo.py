"""The demo: a server of its own, something that lives, and its tables as they grow.

    upstream  what is shown may need to be started (demo_kafka.py); auctions make themselves
    start     `headwater server` as a child, its output in DATA-DIR/diagnostics.log
    create    a source and tables, one statement after the other
    watch     every second: rows of all tables at one timestamp, and a query over them
    stop      on Ctrl-C, SIGTERM, an error or the end of the time: the child is ended and waited for

The default ports are used if they are free, others if not.  On a terminal the
tables are drawn in place; elsewhere each second is a line, and it ends by itself.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import IO, Final

import click
from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from headwater.client import DATABASE, USER, Client
from headwater.core.clock import SYSTEM_CLOCK, Clock
from headwater.core.errors import TransientError, UserError
from headwater.core.limits import (
    DEMO_FIRST_ROWS_S_MAX,
    DEMO_POLL_S,
    DEMO_START_S_MAX,
    SHUTDOWN_S_MAX,
)
from headwater.options import HTTP_ADDRESS, INTERNAL_SQL_ADDRESS, SQL_ADDRESS, Address
from headwater.persist.layout import demo_log

READY: Final = "headwater ready"
SECONDS_WITHOUT_TERMINAL: Final = 20.0
LOG_LINES_SHOWN: Final = 25
POLL_START_S: Final = 0.1
NOT_READABLE_YET: Final = frozenset({"55000", "57014"})
READ_S_MAX: Final = 10


@dataclass(frozen=True, slots=True)
class Show:
    """What a demo creates, and what it shows of it."""

    create: tuple[str, ...]
    tables: tuple[str, ...]
    query: str
    title: str  # of what the query gives
    columns: tuple[str, ...]
    remark: Callable[[tuple[str, ...]], str]  # on its first row, where there is no terminal

    @property
    def counts(self) -> str:
        """One statement, so that all counts are of the same timestamp."""
        return " UNION ALL ".join(
            f"SELECT '{table}' AS name, count(*) AS row_count, mz_now() AS ts FROM {table}"
            for table in self.tables
        )


_AUCTION_TABLES: Final = ("organizations", "users", "accounts", "auctions", "bids")

AUCTIONS: Final = Show(
    create=(
        "CREATE SOURCE IF NOT EXISTS auction FROM LOAD GENERATOR AUCTION (TICK INTERVAL '100ms')",
        *(
            f"CREATE TABLE IF NOT EXISTS {table} FROM SOURCE auction (REFERENCE {table})"
            for table in _AUCTION_TABLES
        ),
    ),
    tables=_AUCTION_TABLES,
    query="SELECT a.id, a.item, count(*) AS bid_count, max(b.amount) AS best"
    " FROM auctions AS a JOIN bids AS b ON b.auction_id = a.id"
    " GROUP BY a.id, a.item ORDER BY best DESC, a.id DESC LIMIT 5",
    title="auctions with the highest bids",
    columns=("auction", "item", "bids", "best"),
    remark=lambda row: f"best: {row[1]} at {row[3]}",
)

Upstream = Callable[[], AbstractContextManager[Show]]
"""Starts what a demo reads, and ends it."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What the tables were at one timestamp."""

    ts_ms: int
    row_counts: dict[str, int]
    found: tuple[tuple[str, ...], ...]  # by the query


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the demo's server listens."""

    sql: Address
    internal_sql: Address
    http: Address


def run_demo(
    data_dir: Path,
    seconds: float | None,
    addresses: Addresses | None = None,
    command: Sequence[str] = (sys.executable, "-m", "headwater"),
    clock: Clock = SYSTEM_CLOCK,
    upstream: Upstream = lambda: nullcontext(AUCTIONS),
) -> None:
    """Run the demo; returns when its time is over or the user has had enough."""
    terminal = sys.stdout.isatty()
    limit_s = seconds if seconds is not None else None if terminal else SECONDS_WITHOUT_TERMINAL
    addresses = chosen_addresses(None, None, None) if addresses is None else addresses
    data_dir.mkdir(parents=True, exist_ok=True)
    log_path = demo_log(data_dir)
    click.echo(f"data directory  {data_dir}")
    click.echo(f"diagnostics     {log_path}")
    with _terminated_as_interrupt(), ExitStack() as started:
        try:
            show = started.enter_context(upstream())
            click.echo("starting the server, which takes some seconds ...")
            child = started.enter_context(_child(command, data_dir, addresses, log_path))
            _await_ready(child, log_path, clock)
            click.echo(
                f"connect with    psql -h {addresses.sql.host} -p {addresses.sql.port} -U {USER} {DATABASE}"
            )
            click.echo(f"or              headwater sql --address {addresses.sql} FILE")
            click.echo(f"metrics         http://{addresses.http}/metrics")
            with Client(addresses.sql) as client:
                for statement in show.create:
                    click.echo(f"> {statement};")
                    client.rows(statement)
                # A read waits for its tables, and a cluster may never come.
                client.rows(f"SET statement_timeout = '{READ_S_MAX} s'")
                _watch(client, show, limit_s, terminal, clock)
        except KeyboardInterrupt:
            click.echo("stopping ...")
        except TransientError as error:
            raise _with_log(str(error), log_path) from error


def chosen_addresses(sql: Address | None, internal_sql: Address | None, http: Address | None) -> Addresses:
    """What was asked for stays as it is, taken or not; the others are the usual ones, or free ports."""

    def chosen(given: Address | None, usual: Address) -> Address:
        return free_address(usual if given is None else given) if given is None or not given.port else given

    return Addresses(
        chosen(sql, SQL_ADDRESS), chosen(internal_sql, INTERNAL_SQL_ADDRESS), chosen(http, HTTP_ADDRESS)
    )


def free_address(wanted: Address) -> Address:
    """`wanted` if nobody listens there, else a port that the system picks."""
    for port in (wanted.port, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((wanted.host, port))
            except OSError:
                continue
            return Address(wanted.host, probe.getsockname()[1])
    raise UserError(f'no port of "{wanted.host}" is free', "58000")


@contextmanager
def _terminated_as_interrupt() -> Iterator[None]:
    """SIGTERM and a closed terminal end the demo as Ctrl-C does: with the child stopped."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, action in before.items():
            signal.signal(number, action)


@contextmanager
def _child(
    command: Sequence[str], data_dir: Path, addresses: Addresses, log_path: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """The server; ended and waited for on the way out."""
    arguments = [
        *(*command, "server", "--data-dir", str(data_dir)),
        *("--sql-address", str(addresses.sql)),
        *("--internal-sql-address", str(addresses.internal_sql)),
        *("--http-address", str(addresses.http)),
    ]
    with log_path.open("wb") as log:
        # A session of its own: Ctrl-C reaches us alone, and we end the server in order.
        child = _start(arguments, log)
        try:
            yield child
        finally:
            stop_process(child)


def _start(arguments: list[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )


def stop_process(child: subprocess.Popen[bytes]) -> None:
    """Ask, wait, then insist; a second Ctrl-C insists at once."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(SHUTDOWN_S_MAX + 2)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def _await_ready(child: subprocess.Popen[bytes], log_path: Path, clock: Clock) -> None:
    deadline = clock.monotonic_s() + DEMO_START_S_MAX
    while not any(line.startswith(READY) for line in _log_lines(log_path)):
        if child.poll() is not None:
            raise _with_log(f"the server ended with status {child.returncode}", log_path)
        if clock.monotonic_s() > deadline:
            raise _with_log(f"the server was not ready within {DEMO_START_S_MAX:.0f} s", log_path)
        clock.sleep(POLL_START_S)


def _log_lines(log_path: Path) -> list[str]:
    return log_path.read_text(errors="replace").splitlines() if log_path.exists() else []


def _with_log(message: str, log_path: Path) -> UserError:
    return with_last_words(message, "server", log_path, "Run `headwater doctor`.")


def with_last_words(message: str, who: str, log_path: Path, hint: str) -> UserError:
    """An error with what somebody said last."""
    last = _log_lines(log_path)[-LOG_LINES_SHOWN:]
    detail = "\n".join([f"the {who}'s last lines:", *last]) if last else f"The {who} said nothing."
    return UserError(message, "58000", detail=detail, hint=hint)


def _watch(client: Client, show: Show, limit_s: float | None, terminal: bool, clock: Clock) -> None:
    """Show the tables once a second until the time is over.

    It begins with the first rows of this server: what an earlier one has left can be read
    before Spark is there, and stands still until then.
    """
    began_ms = clock.now_ms()
    patience = clock.monotonic_s() + DEMO_FIRST_ROWS_S_MAX
    end: float | None = None
    console = Console()
    with Live(console=console, auto_refresh=False) if terminal else _no_screen() as screen:
        while end is None or clock.monotonic_s() < end:
            frame = read(client, show)
            now = clock.monotonic_s()
            if end is None and frame is not None and frame.ts_ms >= began_ms:
                end = now + (limit_s if limit_s is not None else float("inf"))
            if end is None and now > patience:
                raise TransientError(f"no rows came within {DEMO_FIRST_ROWS_S_MAX:.0f} s")
            if isinstance(screen, Live) and frame is not None:
                screen.update(drawing(frame, show), refresh=True)
            elif frame is not None:
                click.echo(line(frame, show))
            clock.sleep(DEMO_POLL_S)


@contextmanager
def _no_screen() -> Iterator[None]:
    yield None


def read(client: Client, show: Show) -> Frame | None:
    """The tables now; None while a table has yet to be hydrated or holds nothing."""
    try:
        counts = client.rows(show.counts)
        found = client.rows(show.query)
    except UserError as error:
        if error.sqlstate in NOT_READABLE_YET:
            return None
        raise
    row_counts = {str(name): int(count or 0) for name, count, _ in counts}
    if not any(row_counts.values()):
        return None
    ts_ms = max(int(ts or 0) for _, _, ts in counts)
    return Frame(ts_ms, row_counts, tuple(tuple(str(value) for value in row) for row in found))


def line(frame: Frame, show: Show) -> str:
    """A frame as one line."""
    counts = " ".join(f"{table}={frame.row_counts.get(table, 0)}" for table in show.tables)
    remark = f"  {show.remark(frame.found[0])}" if frame.found else ""
    return f"{_clock_time(frame.ts_ms)}  {counts}{remark}"


def drawing(frame: Frame, show: Show) -> Group:
    """A frame as two tables."""
    rows = Table(title=f"tables at {_clock_time(frame.ts_ms)} UTC", title_justify="left")
    rows.add_column("table")
    rows.add_column("rows", justify="right")
    for table in show.tables:
        rows.add_row(table, f"{frame.row_counts.get(table, 0):,}")
    found = Table(title=show.title, title_justify="left")
    for name in show.columns:
        found.add_column(name, justify="left" if name in ("item", "state") else "right")
    for row in frame.found:
        found.add_row(*map(escape, row))
    return Group(rows, found, "Ctrl-C ends the demo")


def _clock_time(ts_ms: int) -> str:
    return datetime.fromtimestamp(ts_ms / 1_000, tz=UTC).strftime("%H:%M:%S")
