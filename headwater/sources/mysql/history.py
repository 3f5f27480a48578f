"""Whether a server's transactions are those that were read: names alone do not tell.

    newest    what a source that begins remembers of the server: its last transaction, or where its log begins
    check     the server has what was read and what comes next, and the last of it is what it was

A server whose log was thrown away, or that was put back from a copy, gives the same numbers again to other
transactions.  So the last transaction that was read, or that was there when reading began, is asked for once
more: the server is told that all but this one are known.

MySQL tells to the microsecond when a transaction committed where it began, which no other has and every
replica keeps.  MariaDB tells the second, and of a transaction that it has from another server it may tell
another one; the same server also has it at the same place of its log.  One that was not in the log any more
when reading began is what this server cannot have.  Where there was no transaction yet, the file of the log
in which the first one will be is known by its number and the second at which it was begun.

Not here: numbers that do not rise while the log is read (reader.py).
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Final, TypeVar

from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import DefiniteError, HeadwaterError, TransientError
from headwater.core.limits import BINLOG_READ_S, UPSTREAM_VALIDATE_S_MAX
from headwater.sources.mysql.events import Events
from headwater.sources.mysql.facts import ServerFacts
from headwater.sources.mysql.frontier import GtidFrontier, Last
from headwater.sources.mysql.gtid import GtidPosition, GtidSet, parse_gtids
from headwater.sources.mysql.protocol import Damaged, Diverged, Nameless, Purged, StreamError
from headwater.sources.mysql.stream import BinlogStream
from headwater.sources.mysql.transactions import Transaction, begun
from headwater.sources.mysql.trouble import AGAIN, NAMESPACE, RESYNC

Gtids = GtidSet | GtidPosition
_Heard = TypeVar("_Heard")

PURGED: Final = "mysql server does not have the binlog available at the requested gtid set"
LOGGED_AGAIN: Final = (
    f"Let the upstream log all changes again: VALIDATE CONNECTION says what is set wrongly. {RESYNC}"
)
_NAMELESS: Final = "mysql server binlog has a transaction without a gtid: gtid_mode was not ON"
_BEHIND: Final = "mysql server binlog frontier at {} is beyond required frontier {}"
_AGAIN: Final = (
    "mysql server binlog has another transaction {} than was read: its binary log was thrown away, and counts"
    " from one again"
)
_ANEW: Final = "mysql server binlog was thrown away before anything of it was read, and counts from one again"
_SILENT: Final = "the server did not send {} of its binary log in time"
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

    def newest(self) -> Last:
        """The server's last transaction; if there was none yet, the file in which its first one will be."""
        executed, identity = self._executed, self._facts.identity
        again: Gtids
        if isinstance(executed, GtidPosition):
            again = executed.newest(self._facts.server_id)
        else:
            there = executed.minus(self._purged)
            again = (there if there.count() else executed).newest(identity)
        if not again.count():
            return self._beginning(executed)
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
        if not last.gtid:
            self._check_beginning(stands_at, last)
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

        def listen(stream: BinlogStream, piece: Events | None) -> Transaction | None:
            for transaction in () if piece is None else begun(piece).transactions():
                if domains is None or transaction.gtid.source in domains:
                    return transaction
            return None

        try:
            return self._heard(after, listen, f"transaction {wanted}")
        except StreamError as error:
            if domains is not None and isinstance(error, Purged | Diverged):
                return None
            raise ended(error, str(after)) from error

    def _beginning(self, after: Gtids) -> Last:
        """The file in which the server's next transaction after these is, or will be."""
        try:
            file = self._heard(after, lambda stream, _: stream.file, "the name")
        except StreamError as error:
            raise ended(error, str(after)) from error
        return Last("", file.begun_s * 1_000_000, self._facts.identity, file.number)

    def _check_beginning(self, stands_at: GtidFrontier, last: Last) -> None:
        """Files without a transaction may have followed that one, but not come in its place."""
        now = self._beginning(stands_at.gtids)
        again = now.place < last.place or (now.place == last.place and now.time_us != last.time_us)
        if now.server == last.server and again:
            raise DefiniteError("", str(stands_at), _ANEW, RESYNC)

    def _heard(
        self, after: Gtids, listen: Callable[[BinlogStream, Events | None], _Heard | None], what: str
    ) -> _Heard:
        """What is wanted of the log behind these transactions; StreamError, or TransientError in time."""
        deadline_s = SYSTEM_CLOCK.monotonic_s() + UPSTREAM_VALIDATE_S_MAX
        stream = self._open(after)
        try:
            while SYSTEM_CLOCK.monotonic_s() < deadline_s:
                found = listen(stream, stream.read(BINLOG_READ_S))
                if found is not None:
                    return found
        finally:
            stream.close()
        raise TransientError(f"{NAMESPACE}: {_SILENT.format(what)}", AGAIN)


def ended(error: StreamError, at: str) -> HeadwaterError:
    """Why a server sends no more; some ends are the same at every try."""
    if isinstance(error, Purged):
        return DefiniteError("", at, PURGED, RESYNC)
    if isinstance(error, Diverged):
        return DefiniteError("", at, f"mysql server has another history than was read: {error.text}", RESYNC)
    if isinstance(error, Nameless):
        return DefiniteError("", at, _NAMELESS, LOGGED_AGAIN)
    if isinstance(error, Damaged):
        return DefiniteError("", at, error.text, RESYNC)
    return TransientError(f"{NAMESPACE}: stream ended prematurely: {error.text}", AGAIN)
