"""Upstreams on the open network only, where the operator wants that: users name hosts, the server connects.

    addresses(connection, host)    [] if the connection may go anywhere; else where it may go, resolved now

Whoever connects uses these addresses and does not resolve the name once more, or its owner could turn it in
between.  A host of which any address lies within the operator's network is refused.

Not here: which addresses those are (core/addresses.py), who says so (coordinator/source_details.py).
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any, Final

from headwater.core.addresses import within
from headwater.core.errors import TransientError

EXTERNAL_ONLY: Final = "external_only"
"""An option of a connection that nobody writes: it is put there on the way to the upstream."""


def resolve(host: str) -> list[str]:
    """All addresses of a name."""
    return list(
        dict.fromkeys(str(found[4][0]) for found in socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM))
    )


def addresses(connection: Mapping[str, Any], host: str) -> list[str]:
    """Where to connect to; TransientError if that is within the operator's network."""
    if not connection.get(EXTERNAL_ONLY):
        return []
    if not host or host[0] in "/@":
        raise _refused(host, "local")
    try:
        found = resolve(host)
    except (OSError, UnicodeError) as error:
        raise TransientError(
            f'failed to lookup address information of "{host}": {getattr(error, "strerror", None) or error}',
            hint="Check HOST.",
        ) from error
    for address in found:
        what = within(address)
        if what is not None:
            raise _refused(host, what)
    return found


def _refused(host: str, what: str) -> TransientError:
    # Which address it is would tell a stranger about the network.
    return TransientError(
        f'host "{host}" has a {what} address, and this server connects to external addresses only',
        hint="Name a host on the open network. The operator can allow all:"
        " ALTER SYSTEM SET storage_enforce_external_addresses = off.",
    )
