"""A server of which a part has ended unforeseen ends as a whole, and says so.

Method: the real command as a child; the test is its cluster, and says what nobody can understand.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

from headwater.core import protocol
from headwater.core.sockets import socket_path
from headwater.options import CLUSTER_NAME
from headwater.persist.layout import cluster_socket
from headwater.server import EXIT_PART_ENDED

END_S_MAX = 60


def test_a_part_that_ends_takes_the_server_with_it(tmp_path: Path) -> None:
    nonsense = (3).to_bytes(4, "big") + (0).to_bytes(protocol.LENGTHS_BYTES - 4, "big") + b"{{{"
    ports = ("--sql-address", "--internal-sql-address", "--http-address")
    with socket.socket(socket.AF_UNIX) as cluster:
        with socket_path(cluster_socket(tmp_path, CLUSTER_NAME)) as path:
            cluster.bind(path)
        cluster.listen()
        server = subprocess.Popen(
            [
                *(sys.executable, "-m", "headwater", "server", "--data-dir", str(tmp_path)),
                *(word for option in ports for word in (option, "127.0.0.1:0")),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        cluster.settimeout(END_S_MAX)
        connection, _ = cluster.accept()
        connection.sendall(nonsense)
        said, _ = server.communicate(timeout=END_S_MAX)
        connection.close()
    assert server.returncode == EXIT_PART_ENDED
    assert "a part of the server has ended" in said
    assert "part=storage-controller" in said
    assert "JSONDecodeError" in said
