"""A throwaway PostgreSQL 15 for tests.

Debian's binaries, a cluster of its own in a directory of its own, logical replication on,
nothing synced to disk, trust on 127.0.0.1.  PostgreSQL refuses to run as root, so that as
root everything is run as the user `postgres`, who must be able to reach the directory: it is none
of pytest's, which every run of pytest closes to others when it starts.

    with PostgresServer() as server:
        psycopg.connect(server.dsn())

`settings` are lines for postgresql.conf, after ours; `access` takes the place of pg_hba.conf; `files` are put
into the server's data directory, private to it (certificates, keys).

`restart()` and `kill()` + `resume()` are what may happen to a server that keeps its data; `standby()` is
a copy that may be promoted; `copy()` and `put_back()` are what an operator does with volumes.
`log()` is for whoever sees a test fail; `stop()` ends the server by its pid.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

import pytest

from tests.support.ports import free_port
from tests.support.server import alive, descendants, eventually
from tests.support.started import Started

BINARIES = Path("/usr/lib/postgresql/15/bin")
START_S_MAX = 60
STOP_S_MAX = 30

_SETTINGS = """
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = '{directory}'
fsync = off
synchronous_commit = off
full_page_writes = off
wal_level = logical
max_wal_senders = 20
max_replication_slots = 20
max_connections = 100
shared_buffers = '64MB'
timezone = 'UTC'
datestyle = 'ISO, MDY'
lc_messages = 'C'
log_min_messages = warning
"""


def available() -> bool:
    """Whether this machine has PostgreSQL 15."""
    return (BINARIES / "postgres").exists()


@contextmanager
def running(access: str | None = None) -> Iterator[PostgresServer]:
    """A server for a fixture."""
    if not available():
        pytest.skip("PostgreSQL 15 is not installed")
    with PostgresServer(access=access) as server:
        yield server


class PostgresServer(Started):
    """One server; its directory is removed when it stops."""

    def __init__(
        self, settings: str = "", access: str | None = None, files: Mapping[str, bytes] | None = None
    ) -> None:
        self.directory = Path(mkdtemp(prefix="upstream-"))
        self._settings = settings
        self._access = access
        self._files = files or {}
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None
        self._data = self.directory / "data"
        self._log = self.directory / "log"

    def start(self) -> PostgresServer:
        """Make a cluster and wait until it answers."""
        self._let_in()
        # Sorted by bytes, as the product does, but with upper and lower case beyond ASCII.
        options = "-A trust -U postgres -E UTF8 --locale=C --lc-ctype=C.UTF-8 --no-sync"
        self._run("initdb", "-D", str(self._data), *options.split())
        self.port = free_port()
        with (self._data / "postgresql.conf").open("a") as settings:
            settings.write(_SETTINGS.format(port=self.port, directory=self.directory) + self._settings)
        if self._access is not None:
            (self._data / "pg_hba.conf").write_text(self._access)
        for name, content in self._files.items():
            self._private(self._data / name, content)
        return self.resume()

    def resume(self) -> PostgresServer:
        """Start what has ended, on the same data and port."""
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [str(BINARIES / "postgres"), "-D", str(self._data)],
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.directory,
                user=self._user(),
                group=self._user(),
                extra_groups=[] if self._user() else None,
            )
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise
        return self

    def standby(self) -> PostgresServer:
        """A copy that follows this server, running in a directory of its own."""
        made = PostgresServer(self._settings)
        made._let_in()
        made._run(
            "pg_basebackup", "-d", self.dsn(), "-D", str(made._data), "-R", "-X", "stream", "-c", "fast"
        )
        made.port = free_port()
        with (made._data / "postgresql.conf").open("a") as settings:
            settings.write(f"port = {made.port}\nunix_socket_directories = '{made.directory}'\n")
        return made.resume()

    def promote(self) -> None:
        """A standby becomes a primary, with a history of its own from here on."""
        self._run("pg_ctl", "promote", "-w", "-D", str(self._data))

    def restart(self) -> None:
        """As `pg_ctl restart -m fast`: sessions are ended, data is written."""
        self.halt()
        self.resume()

    def halt(self) -> None:
        """As `pg_ctl stop -m fast`; `resume` goes on."""
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(STOP_S_MAX)

    def copy(self) -> Path:
        """A copy of all data, of a server that is halted."""
        copy = self.directory / "copy"
        subprocess.run(["cp", "-a", str(self._data), str(copy)], check=True)
        return copy

    def put_back(self, copy: Path) -> None:
        """The data is what it was; the server is halted."""
        shutil.rmtree(self._data)
        copy.rename(self._data)

    def kill(self) -> None:
        """As a power cut: the postmaster and its children at once, nothing written."""
        if self.process is not None:
            children = descendants(self.process.pid)
            self.process.kill()
            self.process.wait()
            for child in children:
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            eventually(lambda: not any(map(alive, children)))

    def stop(self) -> None:
        """End the server at once and remove its files."""
        process, self.process = self.process, None
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGQUIT)
            try:
                process.wait(STOP_S_MAX)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def dsn(self, database: str = "postgres") -> str:
        """The connection string for libpq."""
        return f"host=127.0.0.1 port={self.port} user=postgres dbname={database}"

    def environment(self, database: str = "postgres") -> dict[str, str]:
        """The variables psql needs to come here."""
        return {
            **os.environ,
            "PGHOST": "127.0.0.1",
            "PGPORT": str(self.port),
            "PGUSER": "postgres",
            "PGDATABASE": database,
        }

    def _user(self) -> str | None:
        return "postgres" if os.geteuid() == 0 else None

    def _let_in(self) -> None:
        """As root: the directory becomes the other user's."""
        user = self._user()
        if user is not None:
            shutil.chown(self.directory, user, user)

    def _private(self, path: Path, content: bytes) -> None:
        path.write_bytes(content)
        path.chmod(0o600)
        user = self._user()
        if user is not None:
            shutil.chown(path, user, user)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(BINARIES / program), *arguments],
            cwd=self.directory,
            user=self._user(),
            group=self._user(),
            extra_groups=[] if self._user() else None,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{program} failed:\n{done.stdout}{done.stderr}")

    def _wait(self) -> None:
        command = [str(BINARIES / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        for _ in range(START_S_MAX * 10):
            if self.process is None or self.process.poll() is not None:
                raise RuntimeError(f"PostgreSQL did not start:\n{self.log()}")
            if subprocess.run(command, check=False).returncode == 0:
                return
            try:
                self.process.wait(0.1)
            except subprocess.TimeoutExpired:
                continue
        raise RuntimeError(f"PostgreSQL did not answer within {START_S_MAX} s:\n{self.log()}")
