"""How old rows are when they can be read: a load upstream, and somebody who watches it arrive."""

from __future__ import annotations

import subprocess
import threading
from datetime import UTC, datetime
from pathlib import Path

from tests.support.postgres import BINARIES, PostgresServer
from tests.support.server import HeadwaterServer


def run(server: HeadwaterServer, *statements: str) -> None:
    """Statements in one session."""
    with server.connect() as connection:
        for statement in statements:
            connection.execute(statement.encode())


class Watch(threading.Thread):
    """Follows a table and notes how old each row is when it comes."""

    def __init__(self, server: HeadwaterServer, table: str) -> None:
        super().__init__(daemon=True)
        self._server = server
        self._table = table
        self._stopping = threading.Event()
        self.ages_s: list[float] = []

    def run(self) -> None:
        with self._server.connect() as connection:
            subscribe = f"SUBSCRIBE {self._table} WITH (SNAPSHOT = false, PROGRESS)"
            for row in connection.cursor().stream(subscribe.encode()):
                if row[-1] is not None:  # a row, and not only progress
                    at = row[-1].replace(tzinfo=row[-1].tzinfo or UTC)
                    self.ages_s.append((datetime.now(UTC) - at).total_seconds())
                elif self._stopping.is_set():
                    return

    def stop(self) -> tuple[float, float]:
        """p50 and p99."""
        self._stopping.set()
        self.join()
        ages = sorted(self.ages_s)
        assert ages, f"nothing came of {self._table}"
        return ages[len(ages) // 2], ages[int(len(ages) * 0.99)]


class Load:
    """pgbench at a fixed rate, one insert a transaction."""

    def __init__(self, upstream: PostgresServer, tps: int, seconds: float, folder: Path) -> None:
        script = folder / "insert.sql"
        script.write_text("INSERT INTO events (n, at) VALUES (1, clock_timestamp());\n")
        self._process = subprocess.Popen(
            [
                *(str(BINARIES / "pgbench"), "-n", "-f", str(script), "-R", str(tps), "-c", "4", "-j", "1"),
                *("-T", str(int(seconds)), upstream.dsn()),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def wait(self) -> None:
        assert self._process.wait() == 0
