"""A throwaway MySQL 9 or MariaDB 10.11 for tests.

MariaDB is Debian's; MySQL lies in a folder that is the root of its own world (chroot), which only root can
enter.  Each server has a directory and a port of its own, keeps a binary log as sources need it (rows, whole
images, all metadata, GTIDs), syncs nothing to disk, and lets `root` in without a password from 127.0.0.1.

    with running("mysql") as server:
        server.connect().cursor().execute("CREATE DATABASE shop")

`arguments` come after ours; `files` are put into the server's data directory (certificates, keys), and
named without a folder.

`restart()` and `kill()` + `resume()` are what may happen to a server that keeps its data.  `log()` is for
whoever sees a test fail; `stop()` ends the server by its pid.

Not here: how the servers come to be there (scripts/setup.sh).
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pymysql
import pytest

from headwater.sources.mysql.facts import Flavour
from tests.support.ports import free_port
from tests.support.started import Started

MARIADB = Path("/usr/sbin/mariadbd")
MYSQL_ROOT = Path(__file__).resolve().parents[2] / ".cache" / "mysql"
"""A link to a folder that all checkouts share."""
START_S_MAX = 60
STOP_S_MAX = 30
REQUEST_S_MAX = 60

FLAVOURS: tuple[Flavour, ...] = ("mysql", "mariadb")

_SETTINGS = (
    "--bind-address=127.0.0.1",
    "--skip-name-resolve",
    "--character-set-server=utf8mb4",
    "--log-bin=binlog",
    "--binlog-format=ROW",
    "--binlog-row-image=FULL",
    "--binlog-row-metadata=FULL",
    "--sync-binlog=0",
    "--innodb-flush-log-at-trx-commit=2",
    "--innodb-buffer-pool-size=64M",
    "--performance-schema=OFF",
    "--max-connections=200",
)
_OF_FLAVOUR: Mapping[str, tuple[str, ...]] = {
    "mysql": (
        "--gtid-mode=ON",
        "--enforce-gtid-consistency=ON",
        "--innodb-flush-method=nosync",
        "--innodb-doublewrite=OFF",
        "--mysqlx=OFF",
        "--secure-file-priv=",
    ),
    "mariadb": ("--log-slave-updates", "--innodb-flush-method=nosync", "--innodb-doublewrite=OFF"),
}
_LET_IN = """
SET sql_log_bin = 0;
CREATE USER IF NOT EXISTS root@'127.0.0.1';
GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;
"""


def missing(flavour: Flavour) -> str | None:
    """Why this machine has no such server; None: it has."""
    if flavour == "mariadb":
        return None if MARIADB.exists() else "MariaDB is not there: make mysql"
    if MYSQL_ROOT.exists():
        return None if os.geteuid() == 0 else "MySQL is run in a chroot, which only root can enter"
    return "MySQL is not there: make mysql, as root on Debian (its chroot is made by debootstrap)"


@contextmanager
def running(flavour: Flavour, *arguments: str, **options: Any) -> Iterator[MysqlServer]:
    """A server for a fixture."""
    reason = missing(flavour)
    if reason is not None:
        pytest.skip(reason)
    with MysqlServer(flavour, *arguments, **options) as server:
        yield server


class MysqlServer(Started):
    """One server; its directory is removed when it stops."""

    def __init__(self, flavour: Flavour, *arguments: str, files: Mapping[str, bytes] | None = None) -> None:
        self.flavour = flavour
        self.directory = _new_directory(flavour)
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None
        self._arguments = arguments
        self._files = files or {}
        self._data = self.directory / "data"
        self._log = self.directory / "log"

    def start(self) -> MysqlServer:
        """Copy the data of a new server and wait until it answers; once only."""
        _copy(_template(self.flavour), self._data)
        for name, content in self._files.items():
            (self._data / name).write_bytes(content)
        (self.directory / "let_in.sql").write_text(_LET_IN)
        self.port = free_port()
        return self.resume()

    def resume(self, *arguments: str) -> MysqlServer:
        """Start what has ended, on the same data and port; with these arguments beside those of before."""
        inside = _inside(self.flavour, self.directory)
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *_program(self.flavour),
                    f"--datadir={inside}/data",
                    f"--socket={inside}/socket",
                    f"--pid-file={inside}/pid",
                    f"--init-file={inside}/let_in.sql",
                    f"--port={self.port}",
                    "--server-id=1",
                    *_SETTINGS,
                    *_OF_FLAVOUR[self.flavour],
                    *self._arguments,
                    *arguments,
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise
        return self

    def restart(self, *arguments: str) -> None:
        """As an administrator would."""
        self.halt()
        self.resume(*arguments)

    def halt(self) -> None:
        """Let it end by itself; `resume` goes on."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(STOP_S_MAX)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """As a power cut."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def copy(self) -> Path:
        """A copy of all data, of a server that is halted."""
        copy = self.directory / "copy"
        _copy(self._data, copy)
        return copy

    def put_back(self, copy: Path) -> None:
        """The data is what it was; the server is halted."""
        shutil.rmtree(self._data)
        copy.rename(self._data)

    def stop(self) -> None:
        """End the server at once and remove its files."""
        self.kill()
        self.process = None
        shutil.rmtree(self.directory, ignore_errors=True)

    def connect(self, user: str = "root", **options: Any) -> pymysql.Connection[Any]:
        """A session that commits each statement by itself; whoever opens it closes it."""
        return pymysql.connect(
            **{
                "host": "127.0.0.1",
                "port": self.port,
                "user": user,
                "charset": "utf8mb4",
                "autocommit": True,
                "read_timeout": REQUEST_S_MAX,
                "write_timeout": REQUEST_S_MAX,
                **options,
            }
        )

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """Statements in a session of their own; the rows of the last."""
        with closing(self.connect()) as session, session.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    def _wait(self) -> None:
        deadline = time.monotonic() + START_S_MAX
        while True:
            if self.process is None or self.process.poll() is not None:
                raise RuntimeError(f"{self.flavour} did not start:\n{self.log()}")
            with suppress(pymysql.err.OperationalError):
                self.connect(connect_timeout=1).close()
                return
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.flavour} did not answer within {START_S_MAX} s:\n{self.log()}")
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(0.05)


# Folders; MySQL's lie in its own world, where they have other names


def _new_directory(flavour: Flavour) -> Path:
    return Path(mkdtemp(prefix="upstream-", dir=MYSQL_ROOT.resolve() / "tmp" if flavour == "mysql" else None))


def _inside(flavour: Flavour, directory: Path) -> Path:
    return Path("/tmp") / directory.name if flavour == "mysql" else directory


def _program(flavour: Flavour) -> tuple[str, ...]:
    user = ("--user=root",) if os.geteuid() == 0 else ()
    if flavour == "mysql":
        return ("chroot", str(MYSQL_ROOT.resolve()), "/usr/sbin/mysqld", "--no-defaults", *user)
    return (str(MARIADB), "--no-defaults", *user)


@cache
def _template(flavour: Flavour) -> Path:
    """The data of a server that nobody has used, made once."""
    directory = _new_directory(flavour)
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    data = _inside(flavour, directory) / "data"
    if flavour == "mysql":
        command = (
            *_program(flavour),
            "--initialize-insecure",
            "--skip-log-bin",
            "--innodb-flush-method=nosync",
        )
    else:
        command = (
            *("mariadb-install-db", *_program(flavour)[1:]),
            *("--skip-test-db", "--auth-root-authentication-method=normal", "--innodb-flush-method=nosync"),
        )
    done = subprocess.run((*command, f"--datadir={data}"), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"no data could be made for {flavour}:\n{done.stdout}{done.stderr}")
    # Each server is one of its own.
    (directory / "data" / "auto.cnf").unlink(missing_ok=True)
    return directory / "data"


def _copy(folder: Path, to: Path) -> None:
    subprocess.run(["cp", "-a", "--sparse=always", str(folder), str(to)], check=True)
