"""Doctor: can Headwater run on this machine, and if not, what to type?

First the facts are gathered (`examine`), then judged by pure functions that a test
can hand any facts:

    ok    java       17.0.13 at /usr/bin/java
    wrong memory     1.2 GiB available, 3.0 GiB needed
                     fix: lower what else runs, or give the machine more

Every finding that is wrong says how to fix it.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Final

from headwater.core.java import java_command
from headwater.core.limits import DISK_FREE_BYTES_MIN, MEMORY_AVAILABLE_BYTES_MIN, OPEN_FILES_MIN
from headwater.options import HTTP_ADDRESS, Address
from headwater.running import RunningServer, find_server

JAVA_MAJOR_MIN: Final = 17
JAVA_MAJOR_MAX: Final = 25
PYTHON_MIN: Final = (3, 11)
PYTHON_BEYOND: Final = (3, 14)
PYSPARK_VERSION: Final = "4.3.0"
PACKAGES: Final = ("pyspark", "pyarrow", "duckdb", "deltalake", "starlette", "uvicorn")
JAVA_VERSION_S_MAX: Final = 20
JAVA_COMMAND: Final = "apt-get install -y openjdk-17-jre-headless"
SETUP_COMMAND: Final = "make setup"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; `fix` is None if it is well."""

    name: str
    found: str
    fix: str | None = None

    @property
    def well(self) -> bool:
        return self.fix is None


@dataclass(frozen=True, slots=True)
class JavaFacts:
    """Where a java is and what it says of its version; None if it says nothing."""

    path: str
    version: str | None


@dataclass(frozen=True, slots=True)
class Facts:
    """What was seen on the machine."""

    python: tuple[int, int, int]
    packages: dict[str, str | None]
    java: JavaFacts | None
    ports: dict[Address, str | None]  # None: free; otherwise why not
    memory_available_bytes: int | None
    disk_free_bytes: int
    data_dir: Path
    data_dir_trouble: str | None
    open_files_max: int
    server: RunningServer | None = None  # that runs on the data directory already


def diagnose(data_dir: Path, addresses: Iterable[Address], http: Address) -> list[Finding]:
    """Look at this machine and judge it; `http` is where a server tells how it is."""
    return judge(examine(data_dir, addresses, http))


def judge(facts: Facts) -> list[Finding]:
    """All findings, in the order in which they would be fixed."""
    return [
        judge_python(facts.python),
        judge_packages(facts.packages),
        judge_java(facts.java),
        judge_memory(facts.memory_available_bytes, facts.server),
        judge_data_dir(facts.data_dir, facts.data_dir_trouble),
        judge_disk(facts.data_dir, facts.disk_free_bytes),
        judge_open_files(facts.open_files_max),
        *(judge_port(address, trouble, facts.server) for address, trouble in facts.ports.items()),
        *([] if facts.server is None else [judge_server(facts.server)]),
    ]


def judge_python(version: tuple[int, int, int]) -> Finding:
    """3.11 to 3.13."""
    text = ".".join(map(str, version))
    if PYTHON_MIN <= version[:2] < PYTHON_BEYOND:
        return Finding("python", text)
    return Finding("python", f"{text}, 3.11 to 3.13 needed", "make setup PYTHON=python3.11")


def judge_packages(packages: dict[str, str | None]) -> Finding:
    """All there, and Spark of the one version we were measured with."""
    missing = [name for name, version in packages.items() if version is None]
    if missing:
        return Finding("packages", f"{', '.join(missing)} not installed", SETUP_COMMAND)
    if packages["pyspark"] != PYSPARK_VERSION:
        found = f"pyspark {packages['pyspark']}, {PYSPARK_VERSION} needed"
        return Finding("packages", found, SETUP_COMMAND)
    return Finding("packages", ", ".join(f"{name} {version}" for name, version in packages.items()))


def judge_java(java: JavaFacts | None) -> Finding:
    """17 to 25."""
    if java is None:
        return Finding("java", "not found in JAVA_HOME or PATH", JAVA_COMMAND)
    major = java_major(java.version) if java.version else None
    if major is None:
        return Finding("java", f"{java.path} does not say its version", JAVA_COMMAND)
    if not JAVA_MAJOR_MIN <= major <= JAVA_MAJOR_MAX:
        found = f"{java.version} at {java.path}, {JAVA_MAJOR_MIN} to {JAVA_MAJOR_MAX} needed"
        return Finding("java", found, f"{JAVA_COMMAND}  (and set JAVA_HOME to it)")
    return Finding("java", f"{java.version} at {java.path}")


def java_major(version: str) -> int | None:
    """17 of `17.0.13`, 8 of `1.8.0_402`, 25 of `25-ea`."""
    match = re.match(r"(?:1\.)?(\d+)", version)
    return int(match[1]) if match else None


def judge_memory(available_bytes: int | None, server: RunningServer | None = None) -> Finding:
    """Enough for a JVM and a server beside it; one that runs has taken its own."""
    if available_bytes is None:
        return Finding("memory", "unknown on this system")
    found = f"{_gib(available_bytes)} available"
    if server is not None:
        return Finding("memory", f"{found} beside the server")
    if available_bytes >= MEMORY_AVAILABLE_BYTES_MIN:
        return Finding("memory", found)
    return Finding(
        "memory",
        f"{found}, {_gib(MEMORY_AVAILABLE_BYTES_MIN)} needed",
        "headwater server --spark-conf spark.driver.memory=1g  (or end other programs)",
    )


def judge_data_dir(data_dir: Path, trouble: str | None) -> Finding:
    """It can be written, or made."""
    if trouble is None:
        return Finding("data-dir", str(data_dir))
    return Finding("data-dir", f"{data_dir}: {trouble}", f"mkdir -p {data_dir} && chown $(id -u) {data_dir}")


def judge_disk(data_dir: Path, free_bytes: int) -> Finding:
    """Room for logs and states."""
    found = f"{_gib(free_bytes)} free for {data_dir}"
    if free_bytes >= DISK_FREE_BYTES_MIN:
        return Finding("disk", found)
    fix = "headwater server --data-dir DIR  (a DIR on a larger disk)"
    return Finding("disk", f"{found}, {_gib(DISK_FREE_BYTES_MIN)} needed", fix)


def judge_open_files(files_max: int) -> Finding:
    """Enough for sockets and Parquet files."""
    if files_max >= OPEN_FILES_MIN:
        return Finding("open-files", f"up to {files_max}")
    return Finding("open-files", f"up to {files_max}, {OPEN_FILES_MIN} needed", f"ulimit -n {OPEN_FILES_MIN}")


def judge_port(address: Address, trouble: str | None, server: RunningServer | None = None) -> Finding:
    """Nobody listens there yet, or our own server."""
    if trouble is None:
        return Finding("port", f"{address} is free")
    if server is not None and address.port in server.ports:
        return Finding("port", f"{address} is the server's own (process {server.pid})")
    fix = f"ss -ltnp 'sport = :{address.port}'  (shows who; or choose another address)"
    return Finding("port", f"{address}: {trouble}", fix)


def judge_server(server: RunningServer) -> Finding:
    """It is ready for statements, if it can be asked."""
    if server.trouble is not None:
        fix = f"look at its diagnostics, or stop it: kill {server.pid}"
        return Finding("server", f"process {server.pid} is not ready: {server.trouble}", fix)
    known = "is ready" if server.ports else "runs; only its own user can see more of it"
    return Finding("server", f"process {server.pid} {known}")


def report(findings: Iterable[Finding]) -> Iterable[str]:
    """Lines for people."""
    for finding in findings:
        yield f"{'ok' if finding.well else 'wrong':<5} {finding.name:<10} {finding.found}"
        if finding.fix is not None:
            yield f"{'':<5} {'':<10} fix: {finding.fix}"


def examine(data_dir: Path, addresses: Iterable[Address], http: Address = HTTP_ADDRESS) -> Facts:
    """Look at this machine."""
    data_dir = data_dir.absolute()
    nearest = _nearest_existing(data_dir)
    return Facts(
        python=sys.version_info[:3],
        packages={name: _package_version(name) for name in PACKAGES},
        java=find_java(os.environ),
        ports={address: _port_trouble(address) for address in addresses},
        memory_available_bytes=_memory_available_bytes(),
        disk_free_bytes=shutil.disk_usage(nearest).free,
        data_dir=data_dir,
        data_dir_trouble=_data_dir_trouble(data_dir, nearest),
        open_files_max=resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        server=find_server(data_dir, http),
    )


def find_java(environment: os._Environ[str] | dict[str, str]) -> JavaFacts | None:
    """JAVA_HOME's java if it is set, as Spark does it; else the first in PATH."""
    path = java_command(environment)
    if path is None:
        return None
    try:
        answer = subprocess.run(
            [path, "-version"], capture_output=True, text=True, timeout=JAVA_VERSION_S_MAX, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return JavaFacts(path, None)
    match = re.search(r'version "([^"]+)"', answer.stderr + answer.stdout)
    return JavaFacts(path, match[1] if match else None)


def _package_version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _port_trouble(address: Address) -> str | None:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address.host, address.port))
        except OSError as error:
            return error.strerror or str(error)
    return None


def _memory_available_bytes() -> int | None:
    try:
        text = Path("/proc/meminfo").read_text()
    except OSError:
        return None
    match = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    return int(match[1]) * 1024 if match else None


def _nearest_existing(path: Path) -> Path:
    return next(parent for parent in (path, *path.parents) if parent.exists())


def _data_dir_trouble(data_dir: Path, nearest: Path) -> str | None:
    if not nearest.is_dir():
        return f"{nearest} is not a directory"
    if not os.access(nearest, os.W_OK | os.X_OK):
        return f"{nearest} may not be written"
    return None


def _gib(count: int) -> str:
    return f"{count / 1024**3:.1f} GiB"
