"""Whether a server's transactions are those that were read: names alone do not tell.

    newest    what a source that begins remembers of the server: its last transaction
    check     the server has what was read and what comes next, and the last of it is what it was

A server whose log was thrown away, or that was put back from a copy, gives the same numbers again to other
transactions.  So the last transaction that was read, or that was there when reading began, is asked for once
more: the server is told that all but this one are known.

MySQL tells to the microsecond when a transaction committed where it began, which no other has and every
replica keeps.  MariaDB tells the second, and of a transaction that it has from another server it may tell
another one; the same server also has it at the same place of its log.  One that was not in the log any more
when reading began is what this server cannot have.

Not here: numbers that do not rise while the log is read (reader.py).
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Final

from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import DefiniteError, HeadwaterError, TransientError
from headwater.core.limits import BINLOG_READ_S, UPSTREAM_VALIDATE_S_MAX
from headwater.sources.mysql.facts import ServerFacts
from headwater.sources.mysql.frontier import GtidFrontier, Last
from headwater.sources.mysql.gtid import GtidPosition, GtidSet, parse_gtids
from headwater.sources.mysql.protocol import Damaged, Diverged, Purged, StreamError
from headwater.sources.mysql.stream import BinlogStream
from headwater.sources.mysql.transactions import Transaction, begun
from headwater.sources.mysql.trouble import AGAIN, NAMESPACE, RESYNC

Gtids = GtidSet | GtidPosition

PURGED: Final = "mysql server does not have the binlog available at the requested gtid set"
_BEHIND: Final = "mysql server binlog frontier at {} is beyond required frontier {}"
_AGAIN: Final = (
    "mysql server binlog has another transaction {} than was read: its binary log was thrown away, and counts"
    " from one again"
)
_SILENT: Final = "the server did not send transaction {} of its binary log in time"
_GONE: Final = -1
"""The place of a transaction that the log did not have any more when it was to be remembered."""
_SAME_US: Final = 10_000_000
"""MariaDB: between the second that one server notes and that of another."""


class History:
    """Of a server as it is now; `open` has it send its log, and raises StreamError."""

    def __init__(self, open: Callable[[Gtids], BinlogStream], facts: ServerFacts) -> None:
        self._open = open
        self._facts = facts
        self._executed = parse_gtids(facts.flavour, facts.executed)
        self._purged = GtidSet.parse(facts.variables.get("gtid_purged", ""))

    def newest(self) -> Last | None:
        """The server's last transaction; None: it never had any."""
        executed, identity = self._executed, self._facts.identity
        again: Gtids
        if isinstance(executed, GtidPosition):
            again = executed.newest(self._facts.server_id)
        else:
            there = executed.minus(self._purged)
            again = (there if there.count() else executed).newest(identity)
        if not again.count():
            return None
        found = self._again(executed, again)
        return Last(str(again), 0, identity, _GONE) if found is None else found.known(identity)

    def check(self, stands_at: GtidFrontier) -> None:
        """DefiniteError if what was read does not lead to what the server has."""
        here = GtidFrontier(self._executed)
        if not stands_at <= here:
            raise DefiniteError("", str(stands_at), _BEHIND.format(here, stands_at), RESYNC)
        if stands_at.flavour == "mysql" and not GtidFrontier(self._purged) <= stands_at:
            raise DefiniteError("", str(stands_at), PURGED, RESYNC)
        last = stands_at.last
        if last is None:
            return
        found = self._again(stands_at.gtids, parse_gtids(stands_at.flavour, last.gtid))
        if found is not None and not self._same(found, last):
            raise DefiniteError("", str(stands_at), _AGAIN.format(last.gtid), RESYNC)

    def _same(self, found: Transaction, last: Last) -> bool:
        now = found.known(self._facts.identity)
        if last.place == _GONE:
            return now.server != last.server  # a log does not get back what it has thrown away
        if now.gtid != last.gtid:
            return False
        if self._facts.flavour == "mysql":
            return now.time_us == last.time_us
        if now.server == last.server:
            return (now.time_us, now.place) == (last.time_us, last.place)
        return abs(now.time_us - last.time_us) <= _SAME_US

    def _again(self, gtids: Gtids, again: Gtids) -> Transaction | None:
        """One of these transactions, as the server has it; None: it has thrown that part of its log away."""
        if isinstance(gtids, GtidPosition) and isinstance(again, GtidPosition):
            found = self._first(gtids.without(again), again)
            return found if found is not None and found.gtid in again else None
        if isinstance(gtids, GtidSet) and isinstance(again, GtidSet) and not again <= self._purged:
            return self._first(gtids.minus(again), again)
        return None

    def _first(self, after: Gtids, wanted: Gtids) -> Transaction | None:
        """The first transaction that is sent after these; of MariaDB's in the domain that is wanted, and
        None if it does not know any more what came before."""
        domains: Container[str] | None = wanted.last if isinstance(wanted, GtidPosition) else None
        deadline_s = SYSTEM_CLOCK.monotonic_s() + UPSTREAM_VALIDATE_S_MAX
        stream: BinlogStream | None = None
        try:
            stream = self._open(after)
            while SYSTEM_CLOCK.monotonic_s() < deadline_s:
                piece = stream.read(BINLOG_READ_S)
                for transaction in () if piece is None else begun(piece).transactions():
                    if domains is None or transaction.gtid.source in domains:
                        return transaction
        except StreamError as error:
            if domains is not None and isinstance(error, Purged | Diverged):
                return None
            raise ended(error, str(after)) from error
        finally:
            if stream is not None:
                stream.close()
        raise TransientError(f"{NAMESPACE}: {_SILENT.format(wanted)}", AGAIN)


def ended(error: StreamError, at: str) -> HeadwaterError:
    """Why a server sends no more; some ends are the same at every try."""
    if isinstance(error, Purged):
        return DefiniteError("", at, PURGED, RESYNC)
    if isinstance(error, Diverged):
        return DefiniteError("", at, f"mysql server has another history than was read: {error.text}", RESYNC)
    if isinstance(error, Damaged):
        return DefiniteError("", at, error.text, RESYNC)
    return TransientError(f"{NAMESPACE}: stream ended prematurely: {error.text}", AGAIN)
