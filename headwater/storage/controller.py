"""The connection to a cluster, and what it tells.

    connect -> Hello(epoch) -> Welcome -> everything wanted -> InitializationComplete -> listen

If the connection breaks, the supervisor sees to it that there is a process again
and all of it is repeated.  Whoever waits (for a frontier, for rows) waits through
that; peeks that were running are sent again, because a read at a timestamp gives
the same answer twice, unless the client has some of the rows already: the same rows
may come in another order.  But not for ever: it may be the peek that ends the process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import pyarrow as pa
import structlog

from headwater.core import protocol
from headwater.core.clock import Clock
from headwater.core.errors import HeadwaterError, InvariantViolation, UserError
from headwater.core.limits import CLUSTER_CONNECT_RETRY_S, PEEK_ATTEMPTS_MAX
from headwater.core.sockets import socket_path
from headwater.observe import metrics
from headwater.options import UnixAddress
from headwater.storage.health import Health
from headwater.storage.loops import keep_running
from headwater.storage.replicas import Replicas
from headwater.storage.supervisor import Supervisor

log = structlog.get_logger("storage")

STARTING = "the process is being started"
AWAY = "the connection to the process was lost"


Answer: TypeAlias = pa.RecordBatch | protocol.PeekFile | str | UserError | None


@dataclass(slots=True)
class PendingPeek:
    """A peek somebody waits for; answers go into the queue, None at the end."""

    command: protocol.Peek | protocol.Verify
    answers: asyncio.Queue[Answer] = field(default_factory=asyncio.Queue)
    arrived: int = 0
    sent: bool = False

    def answer(self, answer: Answer) -> None:
        self.arrived += 1
        self.answers.put_nowait(answer)

    def restart(self) -> UserError | None:
        """Forget what has come, to be sent again; or why that must not be."""
        if self.answers.qsize() < self.arrived:
            return UserError(
                "the cluster was restarted while it was sending the result",
                "58000",
                hint="Run the statement again.",
            )
        if self.sent and self.command.attempt == PEEK_ATTEMPTS_MAX:
            return UserError(
                f"the cluster has ended {PEEK_ATTEMPTS_MAX} times while it ran this statement",
                "58000",
                hint="If it needs more memory than the cluster has, start the server with"
                " --spark-conf spark.driver.memory=4g, or ask for less. The server's log says more.",
            )
        self.command = replace(self.command, attempt=self.command.attempt + self.sent)
        self.arrived = 0
        while not self.answers.empty():
            self.answers.get_nowait()
        return None


class Controller:
    """Remembers what is wanted and keeps a cluster at it.  Belongs to one event loop."""

    def __init__(
        self,
        supervisor: Supervisor,
        address: UnixAddress,
        epoch: int,
        ts_floor: Callable[[], int],
        clock: Clock,
    ) -> None:
        self.health = Health()
        self.replicas = Replicas()
        self.uppers: dict[str, int] = {}
        self.hydrated: set[str] = set()
        self.superseded: dict[str, set[int]] = {}  # collection -> as_of of states that follow another one
        self.connected = False
        self.on_status: Callable[[protocol.Status], None] = lambda _: None  # told what is shown anew
        self._supervisor = supervisor
        self._address = address
        self._epoch = epoch
        self._ts_floor = ts_floor
        self._clock = clock
        self.fenced = asyncio.Event()  # a newer environment has the cluster
        self._ingestions: dict[str, protocol.RunIngestion] = {}
        self._tables: set[str] = set()
        self._drops: set[str] = set()
        self._peeks: dict[str, PendingPeek] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._changed = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None
        self.cluster_pid = 0  # of the process whose counts are the current ones

    # What is wanted

    def run_ingestion(self, command: protocol.RunIngestion, replica_id: str | None = None) -> None:
        """Want this source, with exactly these exports; `replica_id` is of whom the histories tell."""
        before = self._ingestions.get(command.source_id)
        if before != command:
            self._ingestions[command.source_id] = command
            fed = [export["table_id"] for export in command.exports]
            self._tell(self.health.feeds(command.source_id, fed, replica_id))
            if before is not None and before.paused and not command.paused:
                self._starting(command.source_id, None)
            self._send(command)

    def maintain_table(self, collection_id: str) -> None:
        """Want this plain table folded."""
        self._tables.add(collection_id)
        self._send(protocol.MaintainTable(collection_id))

    def drop(self, ids: list[str]) -> None:
        """Want nothing of these any more."""
        for id_ in ids:
            self._ingestions.pop(id_, None)
            self._tables.discard(id_)
            self.hydrated.discard(id_)
            self.uppers.pop(id_, None)
            self.superseded.pop(id_, None)
            self.health.forget(id_, self._clock.now_ms())
            metrics.source_dropped(id_)
        self._drops.update(ids)
        if ids:
            self._send(protocol.DropCollections(sorted(ids)))

    def allow_compaction(self, since: dict[str, int]) -> None:
        """History before these timestamps may go."""
        for id_, ts in since.items():
            self.superseded[id_] = {as_of for as_of in self.superseded.get(id_, ()) if as_of > ts}
        if since:
            self._send(protocol.AllowCompaction(since))

    # Waiting

    async def wait_for(self, ready: Callable[[], bool]) -> None:
        """Until `ready`; looked at whenever the cluster reports progress."""
        async with self._changed:
            await self._changed.wait_for(ready)

    async def notify(self) -> None:
        """Make those who wait look again."""
        async with self._changed:
            self._changed.notify_all()

    # Peeks

    def start_peek(self, command: protocol.Peek | protocol.Verify) -> PendingPeek:
        """Run a query or a comparison on the cluster; answers arrive in the returned queue."""
        pending = PendingPeek(command)
        self._peeks[command.peek_id] = pending
        pending.sent = self._send(command)
        return pending

    def end_peek(self, peek_id: str) -> None:
        """Nobody waits for it any more; harmless when it has ended."""
        if self._peeks.pop(peek_id, None) is not None:
            self._send(protocol.CancelPeek(peek_id))

    # The connection

    def start(self) -> None:
        """Begin to look for a cluster."""
        self._task = asyncio.create_task(keep_running("storage-controller", self._run))

    async def stop(self) -> None:
        """End the cluster with us."""
        if self._task is not None:
            self._task.cancel()
        if self.fenced.is_set():
            return  # it is another's cluster now
        told = self.connected
        self._send(protocol.Shutdown())
        if self._writer is not None:
            self._writer.close()
        await self._supervisor.stop(told)
        self.replicas.hear(False, "the server was stopped", self._clock.now_ms())

    def _send(self, message: Any) -> bool:
        """False if nobody listens; it is stated again at the next connect."""
        if self._writer is None or self._writer.is_closing():
            return False
        self._writer.write(protocol.encode(message))
        return True

    async def _run(self) -> None:
        while True:
            try:
                reader, writer = await self._connect()
                await self._converse(reader, writer)
            except (OSError, asyncio.IncompleteReadError) as error:
                log.warning("cluster connection lost", error=str(error) or type(error).__name__)
            except HeadwaterError as error:
                log.error("cluster connection given up", error=str(error))
            finally:
                self.connected = False
                self._writer = None
            lost_at_ms = self._clock.now_ms()
            self._all_starting("The cluster is being restarted.")
            await asyncio.sleep(CLUSTER_CONNECT_RETRY_S)
            # A process ends a moment after its connections do.
            self.replicas.hear(False, self._supervisor.why_ended() or AWAY, lost_at_ms)

    def _all_starting(self, hint: str) -> None:
        """There is no process, and then nothing runs; it goes on when there is one."""
        for id_, command in self._ingestions.items():
            if not command.paused:
                self._starting(id_, hint)

    def _starting(self, source_id: str, hint: str | None) -> None:
        now_ms = self._clock.now_ms()
        self._tell(self.health.hear_status(protocol.Status(source_id, "starting", None, hint, now_ms)))

    def _tell(self, shown: list[protocol.Status]) -> None:
        for status in shown:
            if status.status == "stalled" and status.id in self._ingestions:
                metrics.stalled(status.id)
            self.on_status(status)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        while True:
            try:
                with socket_path(self._address.path) as path:
                    return await asyncio.open_unix_connection(path)
            except OSError:
                self.replicas.hear(False, self._supervisor.why_ended() or STARTING, self._clock.now_ms())
                self._all_starting("The cluster is being started.")
                ended = await self._supervisor.ensure()
                if ended is not None:
                    self.replicas.learn(ended)
                await asyncio.sleep(CLUSTER_CONNECT_RETRY_S)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(
            protocol.encode(protocol.Hello(self._epoch, protocol.PROTOCOL_VERSION, self._ts_floor()))
        )
        welcome, _ = await self._receive(reader)
        if isinstance(welcome, protocol.Refused):
            log.error("a newer server has taken over the cluster", epoch=welcome.epoch)
            self.fenced.set()
            await asyncio.Event().wait()  # until this process ends
        if not isinstance(welcome, protocol.Welcome):
            raise InvariantViolation(f"a cluster that has something to say before its welcome: {welcome}")
        if welcome.pid != self.cluster_pid:
            self.health.settle()
            self.cluster_pid = welcome.pid
        if not self._supervisor.running:
            self._supervisor.adopted_pid = welcome.pid
        self._supervisor.healthy()
        self._writer = writer
        self._state_all()
        self.connected = True
        self.replicas.hear(True, None, self._clock.now_ms())
        log.info("cluster connected", pid=welcome.pid)
        await self.notify()
        while True:
            message, payload = await self._receive(reader)
            await self._hear(message, payload)

    def _state_all(self) -> None:
        for command in self._ingestions.values():
            self._send(command)
        for collection_id in sorted(self._tables):
            self._send(protocol.MaintainTable(collection_id))
        self._send(protocol.InitializationComplete())
        if self._drops:
            self._send(protocol.DropCollections(sorted(self._drops)))
        for peek_id, pending in list(self._peeks.items()):
            refusal = pending.restart()
            if refusal is None:
                pending.sent = self._send(pending.command)
            else:
                del self._peeks[peek_id]
                pending.answer(refusal)

    @staticmethod
    async def _receive(reader: asyncio.StreamReader) -> tuple[Any, bytes]:
        lengths = await reader.readexactly(protocol.LENGTHS_BYTES)
        header_bytes, payload_bytes = protocol.decode_lengths(lengths)
        header = await reader.readexactly(header_bytes)
        return protocol.decode_header(header), await reader.readexactly(payload_bytes)

    async def _hear(self, message: Any, payload: bytes) -> None:
        match message:
            case protocol.Frontiers(uppers, hydrated):
                for source_id, upper in uppers.items():
                    if source_id in self._ingestions:
                        self.uppers[source_id] = max(self.uppers.get(source_id, 0), upper)
                self.hydrated.update(id_ for id_ in hydrated if id_ not in self._drops)
                await self.notify()
            case protocol.Status():
                shown = self.health.hear_status(message) if self._credible(message) else []
                self._tell(shown)
                if shown:
                    await self.notify()
            case protocol.Statistics():
                if message.id not in self._drops:
                    self._hear_statistics(message)
            case protocol.Folded(collection_id, as_of, seconds):
                self.superseded.setdefault(collection_id, set()).add(as_of)
                metrics.folded(seconds)
            case protocol.Dropped(ids):
                self._drops.difference_update(ids)
                await self.notify()
            case protocol.PeekRows(peek_id):
                for batch in pa.ipc.open_stream(payload):
                    self._answer(peek_id, batch)
            case protocol.PeekFile(peek_id):
                self._answer(peek_id, message)
            case protocol.PeekDone(peek_id, text):
                if text is not None:
                    self._answer(peek_id, text)
                self._answer(peek_id, None)
                self._peeks.pop(peek_id, None)
            case protocol.PeekFailed(peek_id, sqlstate, text, detail, hint):
                self._answer(peek_id, UserError(text, sqlstate, detail, hint))
                self._peeks.pop(peek_id, None)
            case _:
                raise InvariantViolation(f"a response that is not known: {message}")

    def _credible(self, message: protocol.Status) -> bool:
        """Not of something dropped; and a new process says `starting` before it looks whether to pause."""
        wanted = self._ingestions.get(message.id)
        early = message.status == "starting" and wanted is not None and wanted.paused
        return message.id not in self._drops and not early

    def _hear_statistics(self, message: protocol.Statistics) -> None:
        numbers = self.health.numbers.get(message.id)
        before = dict(numbers.current) if numbers is not None else {}
        self.health.hear_statistics(message)
        if message.values.get("ticks", 0) > before.get("ticks", 0):
            rows, size = (
                message.values[name] - before.get(name, 0) for name in ("updates_committed", "bytes_received")
            )
            metrics.ticked(message.id, message.values["tick_seconds"], rows, size)

    def _answer(self, peek_id: str, answer: Answer) -> None:
        pending = self._peeks.get(peek_id)
        if pending is not None:
            pending.answer(answer)

    @property
    def undropped(self) -> frozenset[str]:
        """Ids whose resources are not gone yet."""
        return frozenset(self._drops)
