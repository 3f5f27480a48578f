"""The server that runs on a data directory, as another process of the machine sees it.

    environment.lock     held while a server runs; its process is written in it
    /proc/<pid>/fd       the sockets it has, by number
    /proc/net/tcp        on which ports those listen
    /api/readyz          whether it is well

For the doctor: ports that our own server holds are as they should be.
"""

from __future__ import annotations

import fcntl
import os
import ssl
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.error import HTTPError
from urllib.request import urlopen

from headwater.options import Address
from headwater.persist.layout import environment_lock

_READY_S_MAX: Final = 5.0
_LISTENING: Final = "0A"


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server, the ports it listens on, and what is wrong with it; None is nothing."""

    pid: int
    ports: frozenset[int]
    trouble: str | None = None


def find_server(data_dir: Path, http: Address) -> RunningServer | None:
    """The server of a data directory, if one runs."""
    pid = _holder(environment_lock(data_dir))
    if pid is None:
        return None
    ports = _listening_ports(pid)
    return RunningServer(pid, ports, _trouble(http) if http.port in ports else None)


def _holder(lock: Path) -> int | None:
    try:
        with lock.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(file.read().strip() or 0) or None
    except (OSError, ValueError):
        pass
    return None


def _listening_ports(pid: int) -> frozenset[int]:
    """None of them if it is somebody else's process."""
    sockets = set()
    with suppress(OSError):
        for entry in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                sockets.add(os.readlink(f"/proc/{pid}/fd/{entry}"))
    ports = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENING and f"socket:[{fields[9]}]" in sockets:
                    ports.add(int(fields[1].rpartition(":")[2], 16))
    return frozenset(ports)


def _trouble(http: Address, scheme: str = "http") -> str | None:
    # Who it is does not matter here: it is a process of this machine, which holds the data directory's lock.
    anybody = ssl.create_default_context()
    anybody.check_hostname = False
    anybody.verify_mode = ssl.CERT_NONE
    try:
        with urlopen(f"{scheme}://{http}/api/readyz", timeout=_READY_S_MAX, context=anybody):
            return None
    except HTTPError as error:
        if error.code == 400 and scheme == "http":
            return _trouble(http, "https")
        return error.read().decode("utf-8", "replace").strip() or f"it answers with status {error.code}"
    except OSError as error:
        return f"it does not answer at {http}: {error}"
