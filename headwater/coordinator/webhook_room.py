"""Room for the bodies of requests, which strangers send as slowly as they like.

    arriving ──all of it──► there ──answered──► gone
        │
        └──► pushed out: there was no room for somebody else's, and this was the oldest one of the address
             that had most bytes on their way

So who sends many bodies that never come to an end shuts nobody out: they make way for those that do, and
only a body that is there takes one of the places for requests in flight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from headwater.core.limits import WEBHOOK_BYTES_MAX


class Arriving:
    """One body on its way, and what has come of it."""

    __slots__ = ("data", "host", "push_out", "pushed_out", "size")

    def __init__(self, host: str, push_out: Callable[[], None]) -> None:
        """`push_out` ends the wait for the rest."""
        self.host = host
        self.push_out = push_out
        self.pushed_out = False
        self.data: bytes | bytearray = b""
        self.size = 0  # that is counted


class Room:
    """Belongs to the event loop."""

    def __init__(self) -> None:
        self._held_bytes = 0
        self._arriving: dict[Arriving, None] = {}  # the oldest first

    def begin(self, body: Arriving) -> None:
        """Something is on its way."""
        self._arriving[body] = None

    def add(self, body: Arriving, piece: bytes) -> bool:
        """Keep some more of it; whether there is room, which others may have had to make."""
        body.size += len(piece)
        self._held_bytes += len(piece)
        while self._held_bytes > WEBHOOK_BYTES_MAX:
            other = self._greediest()
            if other is None or other is body:
                return False
            other.pushed_out = True
            self.end(other)
            other.push_out()
        if not body.data:
            body.data = piece  # nearly always all of it
        elif isinstance(body.data, bytearray):
            body.data += piece
        else:
            body.data = bytearray(body.data + piece)
        return True

    def there(self, body: Arriving) -> None:
        """All of it has come: nobody pushes it out any more."""
        self._arriving.pop(body, None)

    def end(self, body: Arriving) -> None:
        """Nothing of it is kept; to be called once or more."""
        self._arriving.pop(body, None)
        self._held_bytes -= body.size
        body.size, body.data = 0, b""

    def _greediest(self) -> Arriving | None:
        """The oldest of the address with most bytes on their way."""
        sizes: Counter[str] = Counter()
        for body in self._arriving:
            sizes[body.host] += body.size
        most = max(sizes.values(), default=0)
        return next((body for body in self._arriving if body.size and sizes[body.host] == most), None)
