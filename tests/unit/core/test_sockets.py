"""A socket can be bound and connected to at a path that is too long for the operating system.

Method: real Unix sockets in folders of growing depth.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from headwater.core.limits import SOCKET_PATH_BYTES_MAX
from headwater.core.sockets import socket_path


@pytest.mark.parametrize(
    "length", [SOCKET_PATH_BYTES_MAX - 1, SOCKET_PATH_BYTES_MAX, SOCKET_PATH_BYTES_MAX + 1, 900]
)
def test_a_socket_is_found_at_a_path_of_any_length(tmp_path: Path, length: int) -> None:
    folder = tmp_path
    while len(os.fsencode(folder)) < length - len("/c.sock"):
        missing = length - len("/c.sock") - len(os.fsencode(folder)) - 1
        folder = folder / ("d" * max(1, min(missing, 200)))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "c.sock"
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        with socket_path(path) as name:
            server.bind(name)
        server.listen()
        assert path.is_socket()
        with socket_path(path) as name:
            client.connect(name)
        accepted, _ = server.accept()
        with accepted:
            client.sendall(b"heard")
            assert accepted.recv(5) == b"heard"


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with socket_path(tmp_path / ("s" * 150)):
        assert len(os.listdir("/proc/self/fd")) == before + 1
    assert len(os.listdir("/proc/self/fd")) == before
