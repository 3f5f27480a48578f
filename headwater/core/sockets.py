"""Unix sockets at paths of any length.

The operating system takes 107 bytes of path for a socket, and a data directory may be
deeper than that.  A longer one is named through its open folder, which is short:

    /proc/self/fd/7/cluster-quickstart.sock

Not here: addresses (options.py), and where the sockets are (persist/layout.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headwater.core.limits import SOCKET_PATH_BYTES_MAX


@contextmanager
def socket_path(path: Path) -> Iterator[str]:
    """A name of `path` that can be bound or connected to, as long as the block lasts."""
    if len(os.fsencode(path)) <= SOCKET_PATH_BYTES_MAX:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
