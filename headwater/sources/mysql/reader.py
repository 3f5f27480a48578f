"""The one reader of a MySQL or MariaDB source: a session that is sent the binary log.

    open      the server has all that was read, and what comes next -> it sends its log from there
    thread    receives events into the spool
    ticks     take whole transactions from the spool

The thread never waits for a tick.  If too much is waiting it stops reading the socket, and the server waits.

A tick takes only what shows upstream: a transaction is in the log, and sent, before it shows, and with
semi-synchronous replication perhaps long before.  Nothing here is ahead of the upstream, then.  MariaDB does
not tell which transactions show.

Servers that have taken over from each other have the same transactions, so the source goes on at any of them.
One that lacks what was read, or has thrown away what comes next, is an error and never a gap: nothing leads
from there to here, until the source is told to begin anew as another generation of itself.

Not here: which server that is (history.py), decoding (decode.py), statements beside rows (watch.py),
snapshots (snapshot.py).
"""

from __future__ import annotations

import secrets as chance
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import structlog
from pymysql.connections import Connection

from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import DefiniteError, HeadwaterError, TransientError
from headwater.core.frontier import Frontier
from headwater.core.limits import (
    BINLOG_READ_S,
    BINLOG_SILENCE_S_MAX,
)
from headwater.sources.contract import Export, Looked, Options, ReadPart, Secrets, Waits
from headwater.sources.mysql.connection import close, connect
from headwater.sources.mysql.facts import ServerFacts
from headwater.sources.mysql.frontier import GtidFrontier, gtids_of
from headwater.sources.mysql.gtid import Gtid, GtidPosition, GtidSet, parse_gtids
from headwater.sources.mysql.history import LOGGED_AGAIN, PURGED, Gtids, History, ended
from headwater.sources.mysql.inspect import rights_of, table_facts
from headwater.sources.mysql.pin import UNLOGGED
from headwater.sources.mysql.protocol import StreamError
from headwater.sources.mysql.server import check_place, configuration, place_of, server_facts, unlogged
from headwater.sources.mysql.spool import Spool
from headwater.sources.mysql.statements import Name
from headwater.sources.mysql.stream import BinlogStream, open_stream
from headwater.sources.mysql.transactions import Transaction
from headwater.sources.mysql.trouble import AGAIN, DRIVER_ERRORS, NAMESPACE, RESYNC, trouble
from headwater.sources.mysql.watch import Doubt, doubted, table_of, verdict
from headwater.sources.stretches import Shown
from headwater.sources.unshown import Unshown

log = structlog.get_logger("mysql")

_OTHER: Final = "the connection leads to a {} server now, and the source was made of a {} server"
_FALLEN: Final = "received out of order gtids: transaction {} came after number {} of its domain"
_STRICT: Final = (
    "In the upstream: SET GLOBAL gtid_strict_mode = ON, and give each server that writes a gtid_domain_id of"
    f" its own. {RESYNC}"
)
_HIDDEN: Final = (
    "Its session probably waits for a semi-synchronous replica: see rpl_semi_sync_source_timeout upstream."
    " Tables go on once that is over."
)
_SERVER_ID_MIN: Final = 524_000


class MysqlReader:
    """A source's connection to its upstream."""

    def __init__(
        self,
        options: Options,
        secrets: Secrets,
        stands_at: Frontier | None,
        scratch: Path,
        waits: Waits,
    ) -> None:
        self._options = options
        self._generation: int = options.get("generation", 0)
        self.continues = not (
            isinstance(stands_at, GtidFrontier) and stands_at.generation != self._generation
        )
        stands_at = stands_at if self.continues else None
        self.waiting: tuple[str, str] | None = None
        self._unshown = Unshown()
        self._secrets = secrets
        self._stopping = False
        self._begun = stands_at is not None
        self._read: Gtids = GtidSet()  # what ticks have taken
        self._failure: HeadwaterError | None = None
        self._stream: BinlogStream | None = None
        self._folded = False  # names of tables are kept in lower case
        self._spool = Spool(scratch, options["flavour"], self._folded)
        self._thread: threading.Thread | None = None
        self._scratch = scratch
        self._watched: frozenset[Name] | None = None  # None: all tables
        self._server_name = ""
        self._last = stands_at.last if isinstance(stands_at, GtidFrontier) else None
        self._control = connect(options["connection"], secrets, answer_s_max=BINLOG_SILENCE_S_MAX)
        try:
            facts = self._server()
            self._place, self._rights = place_of(self._control), rights_of(self._control, facts)
            executed = parse_gtids(facts.flavour, facts.executed)
            begin = executed if stands_at is None else gtids_of(stands_at)
            history = History(self._sent, facts)
            if isinstance(stands_at, GtidFrontier):
                history.check(stands_at)
            else:
                self._last = history.newest()
            self._server_name = facts.identity
            self._folded = facts.variables.get("lower_case_table_names", "0") != "0"
            self._begin(begin)
        except DRIVER_ERRORS as error:
            self.close()
            raise trouble(error) from error
        except BaseException:
            self.close()
            raise
        self._begun = True
        self.start: Frontier = GtidFrontier(begin, self._last, self._generation)

    # Opening

    def _server(self) -> ServerFacts:
        """What the server is now; an error if it is set so that changes may be missed, or are."""
        facts = server_facts(self._control)
        if facts.flavour != self._options["flavour"]:
            what = _OTHER.format(_title(facts.flavour), _title(self._options["flavour"]))
            raise DefiniteError("", "", what, RESYNC)
        lost = unlogged(facts)
        if lost is not None and self._begun:
            raise DefiniteError("", str(self._read), lost, LOGGED_AGAIN)
        message = configuration(facts)
        if message is not None:
            hint = (
                "Set it upstream: the source goes on by itself. VERIFY TABLE says whether it missed a change."
            )
            raise TransientError(f"{NAMESPACE}: {message}", hint)
        return facts

    def _sent(self, after: Gtids) -> BinlogStream:
        """The log after these transactions, to somebody whom the server does not know yet; StreamError."""
        session = connect(self._options["connection"], self._secrets)
        try:
            check_place(session, self._place)
            return open_stream(session, after, _SERVER_ID_MIN + chance.randbelow(2**31))
        except DRIVER_ERRORS as error:
            session._force_close()
            raise trouble(error) from error
        except BaseException:
            session._force_close()
            raise

    def _begin(self, begin: Gtids) -> None:
        """Receive what follows these transactions."""
        self._read = self._come = begin  # the latter: what has arrived
        self._cut: tuple[Gtids, int] = (begin, 0)  # up to where was looked, and how many transactions that is
        self._failure = None
        self._spool = Spool(self._scratch, self._options["flavour"], self._folded)
        try:
            self._stream = self._sent(begin)
        except StreamError as error:
            raise ended(error, str(begin)) from error
        self._thread = threading.Thread(
            target=self._run, args=(self._stream, self._spool), name="binlog", daemon=True
        )
        self._thread.start()

    # The thread

    def _run(self, stream: BinlogStream, spool: Spool) -> None:
        """Whatever ends the thread is told to the next tick."""
        failure: HeadwaterError
        try:
            self._receive(stream, spool)
            return
        except StreamError as error:
            failure = ended(error, str(self._read))
        except HeadwaterError as error:
            failure = error
        except BaseException as error:
            log.exception("receiving failed")
            what = f"{NAMESPACE}: stream ended prematurely: internal: {type(error).__name__}: {error}"
            failure = TransientError(what, "It is tried again; the cluster's log says more.")
        if spool is self._spool:
            self._failure = failure

    def _receive(self, stream: BinlogStream, spool: Spool) -> None:
        while not self._stopping and spool is self._spool:
            if spool.full:
                SYSTEM_CLOCK.sleep(BINLOG_READ_S)
                continue
            piece = stream.read(BINLOG_READ_S)
            if piece is not None:
                spool.add(piece)

    def _stop_stream(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    # Ticks

    def probe(self, now_ms: int) -> Frontier:
        if self._failure is not None:
            raise self._failure
        if self._thread is None or not self._thread.is_alive():
            raise TransientError(f"{NAMESPACE}: nobody receives the stream", AGAIN)
        news = [transaction.gtid for transaction in self._spool.news()]
        if news:
            self._check_rising(news)
            self._come = self._come.with_gtids(news)
        return GtidFrontier(self._come, None, self._generation)

    def _check_rising(self, gtids: list[Gtid]) -> None:
        """MariaDB's numbers rise: one that does not would be taken for what was read, or shown, before."""
        if not isinstance(self._come, GtidPosition):
            return
        newest = {domain: number for domain, (number, _) in self._come.last.items()}
        for gtid in gtids:
            last = newest.get(gtid.source, 0)
            if gtid.number <= last:
                self._failure = DefiniteError("", str(self._read), _FALLEN.format(gtid, last), _STRICT)
                raise self._failure
            newest[gtid.source] = gtid.number

    def check(self, exports: tuple[Export, ...]) -> Mapping[str, DefiniteError]:
        tables = frozenset(map(table_of, exports))
        self._watch(tables)
        try:
            self._check_lost(self._server())
            facts = table_facts(self._control, tables)
        except DRIVER_ERRORS as error:
            raise trouble(error) from error
        found: dict[str, DefiniteError] = {}
        for export in exports:
            doubt = verdict(export, (), facts.get(table_of(export))) or self._unlogged(export)
            if doubt is not None:
                found[export.table_id] = doubt.error(export, str(self._come))
        return found

    def _check_lost(self, server: ServerFacts) -> None:
        """MySQL may count transactions as executed that were never in its log (SET GLOBAL gtid_purged)."""
        idle = self._come == self._read and not self._spool.inside
        if not idle or not isinstance(self._come, GtidSet):
            return
        if not GtidSet.parse(server.variables["gtid_purged"]) <= self._come:
            # Whether it is so, and no matter of what is on its way, shows when the source connects again.
            raise TransientError(f"{NAMESPACE}: {PURGED}", RESYNC)

    def _unlogged(self, export: Export) -> Doubt | None:
        """The server may have been started with another option file."""
        table = table_of(export)
        option = self._rights.unlogged(table[0])
        return None if option is None else Doubt(f"{UNLOGGED.format('.'.join(table))} ({option})")

    def _watch(self, tables: frozenset[Name]) -> None:
        """Keep the changes of these tables; take the log again where some of theirs were left out."""
        self._watched = tables
        if self._spool.watch(tables):
            self._stop_stream()
            self._spool.close()
            self._begin(self._read)

    def look(self, exports: tuple[Export, ...], seen: Mapping[str, Any], end: Frontier) -> Looked:
        tables = frozenset(map(table_of, exports))
        if self._watched is None or not tables <= self._watched:
            self._watch(tables | (self._watched or frozenset()))
        transactions = self._showing(self._spool.ahead())
        gtids = self._read.with_gtids(transaction.gtid for transaction in transactions)
        remarks = doubted(self._spool.remarks(len(transactions)), exports, seen)
        errors: dict[str, DefiniteError] = {}
        if remarks:
            mine = [export for export in exports if export.table_id in remarks]
            try:
                facts = table_facts(self._control, {table_of(export) for export in mine})
            except DRIVER_ERRORS as error:
                raise trouble(error) from error
            for export in mine:
                said = remarks[export.table_id]
                doubt = verdict(export, said, facts.get(table_of(export)))
                if doubt is not None:
                    errors[export.table_id] = doubt.error(export, str(said[0].gtid))
        self._cut = gtids, len(transactions)
        if transactions:
            self._last = transactions[-1].known(self._server_name)
        return Looked(GtidFrontier(gtids, self._last, self._generation), errors)

    def _showing(self, transactions: list[Transaction]) -> list[Transaction]:
        """Those before the first one that does not show upstream."""
        if not transactions or self._options["flavour"] == "mariadb":
            return transactions
        try:
            executed = executed_of(self._control)
        except DRIVER_ERRORS as error:
            raise trouble(error) from error
        gtids = [transaction.gtid for transaction in transactions]
        count, first = next(
            ((place, gtid) for place, gtid in enumerate(gtids) if gtid not in executed), (len(gtids), None)
        )
        self.waiting = None
        if self._unshown.lasts(first):
            self.waiting = f"{NAMESPACE}: transaction {first} is in the log and does not show yet", _HIDDEN
        return transactions[:count]

    def plan_read(
        self,
        start: Frontier,
        end: Frontier,
        exports: tuple[Export, ...],
        points: Mapping[str, Any],
        rows_max: int,
    ) -> tuple[Frontier, tuple[ReadPart, ...]]:
        gtids, count = self._cut
        if gtids_of(end) != gtids or not count:
            return start, ()
        shown = {table_id: Shown.by(point, "gtids") for table_id, point in points.items()}
        parts: list[ReadPart] = []
        for segment, tables in self._spool.take(count, shown):
            mine = tuple(export for export in exports if table_of(export) in tables)
            if mine:
                parts.append(ReadPart(NAMESPACE, {}, None, None, mine, len(parts), segment))
        self._read, self._cut = gtids, (gtids, 0)
        return end, tuple(parts)

    def acknowledge(self, frontier: Frontier) -> None:
        self._spool.done()

    def close(self) -> None:
        self._stopping = True
        self._stop_stream()
        self._spool.close()
        close(self._control)


def executed_of(session: Connection[Any]) -> GtidSet:
    """What has been committed on a MySQL server, and shows."""
    with session.cursor() as cursor:
        cursor.execute("SELECT @@global.gtid_executed")
        (text,) = cursor.fetchone() or ("",)
    return GtidSet.parse(text)


def _title(flavour: str) -> str:
    return "MariaDB" if flavour == "mariadb" else "MySQL"
