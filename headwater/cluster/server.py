"""The cluster's socket: commands in, responses out, convergence in between.

One environment at a time is listened to, the one with the newest epoch.  When it
goes away everything goes on; when one comes back it states the wanted world again
and is told where everything stands.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import structlog

from headwater.cluster.ingestion import START_AGAIN, Ingestion
from headwater.cluster.jobs import Jobs, warm
from headwater.cluster.kernels_spark import prepare
from headwater.cluster.maintenance import Maintenance
from headwater.cluster.read import Reader, no_thread
from headwater.cluster.shared import Shared
from headwater.cluster.spark import build_session
from headwater.cluster.verify import Verification
from headwater.core import protocol
from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import InvariantViolation, TransientError
from headwater.core.limits import RETRY_DELAY_S_MIN, SHUTDOWN_S_MAX
from headwater.core.sockets import socket_path
from headwater.observe.failpoints import arm_from
from headwater.observe.log import configure
from headwater.options import Address, ClusterOptions, UnixAddress
from headwater.persist.layout import cluster_lock, cluster_scratch, spill_folder
from headwater.persist.opening import open_ledger, open_store
from headwater.persist.private import close_to_others
from headwater.persist.secrets import SecretStore

log = structlog.get_logger("cluster")

EXIT_DRIVER_LOST = 70
THREADS = "Raise the limit of processes and threads (ulimit -u); it is tried again."
RESTATED = "a command failed; the environment will state everything again"


class Connection:
    """A connected environment.

    Sending and ending are safe from any thread; only the thread that receives may close it.  A number
    of a file that is closed goes to whatever is opened next, and a thread that was about to use it would
    write or read there.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._lock = threading.Lock()
        self.open = True

    def send(self, message: Any, payload: bytes = b"") -> None:
        self.send_all([(message, payload)])

    def send_all(self, messages: Sequence[tuple[Any, bytes]]) -> None:
        """At once: who has received the first of them receives the others, even if we are killed."""
        frames = b"".join(protocol.encode(message, payload) for message, payload in messages)
        with self._lock:
            try:
                self._sock.sendall(frames)
            except OSError:
                self.open = False

    def receive(self) -> Any | None:
        """The next command; None when the environment has gone."""
        lengths = self._exactly(protocol.LENGTHS_BYTES)
        if lengths is None:
            return None
        header_bytes, payload_bytes = protocol.decode_lengths(lengths)
        header = self._exactly(header_bytes)
        if header is None or self._exactly(payload_bytes) is None:
            return None
        return protocol.decode_header(header)

    def _exactly(self, count: int) -> bytes | None:
        data = bytearray()
        while len(data) < count:
            try:
                piece = self._sock.recv(min(count - len(data), 1 << 20))
            except OSError:
                return None
            if not piece:
                return None
            data += piece
        return bytes(data)

    def end(self) -> None:
        """Nothing comes or goes any more; whoever waits for it is woken."""
        self.open = False
        with suppress(OSError):  # gone already
            self._sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.end()
        with self._lock:  # nobody is sending
            self._sock.close()


class Cluster:
    """Converges to what the environment states."""

    def __init__(self, shared: Shared, reader: Reader) -> None:
        self.shared = shared
        self._reader = reader
        self._ingestions: dict[str, Ingestion] = {}
        self._ending: list[Ingestion] = []  # told to stop, not quite done
        self._stated: set[str] = set()
        self._epoch = 0
        self._connection: Connection | None = None
        self._greeting = threading.Lock()
        self._verifications: dict[str, Verification] = {}
        self._maintenance = Maintenance(shared, self._busy, driver_lost)
        self.stopped = threading.Event()

    def start(self) -> None:
        self._maintenance.start()

    def report(self, message: Any, payload: bytes = b"") -> None:
        """Send a response; without an environment it is dropped, because all is stated anew."""
        self.report_all([(message, payload)])

    def report_all(self, messages: Sequence[tuple[Any, bytes]]) -> None:
        """Send responses that belong together."""
        connection = self._connection
        if connection is not None and connection.open:
            connection.send_all(messages)

    def serve(self, connection: Connection) -> None:
        """Obey one environment until it goes or a newer one comes."""
        try:
            hello = connection.receive()
            with self._greeting:
                welcome = isinstance(hello, protocol.Hello) and self._greet(connection, hello)
            if not welcome:
                return
            for status in list(self.shared.statuses.values()):
                connection.send(status)
            while (command := connection.receive()) is not None and self._connection is connection:
                self._obey(command)
        except TransientError as error:
            log.warning(RESTATED, error=str(error))
        except Exception:
            log.exception(RESTATED)
        finally:
            connection.close()

    def _greet(self, connection: Connection, hello: protocol.Hello) -> bool:
        """Whether this environment is the one to listen to from now on."""
        if hello.epoch < self._epoch or hello.version != protocol.PROTOCOL_VERSION:
            connection.send(protocol.Refused(self._epoch))
            return False
        self._epoch = hello.epoch
        self.shared.ts_floor = max(self.shared.ts_floor, hello.ts_floor)
        # Before reports can go there: an environment takes what comes first for the answer.
        connection.send(protocol.Welcome(protocol.PROTOCOL_VERSION, os.getpid()))
        # Nobody waits for these any more; what is still wanted is asked for again, and then answered once.
        self._reader.cancel_all()
        for verification in list(self._verifications.values()):
            verification.cancel()
        previous, self._connection = self._connection, connection
        if previous is not None:
            previous.end()
        self._stated = set()
        return True

    def _obey(self, command: Any) -> None:
        match command:
            case protocol.RunIngestion():
                self._run_ingestion(command)
            case protocol.MaintainTable():
                self._stated.add(command.collection_id)
            case protocol.InitializationComplete():
                self._stop_unstated()
            case protocol.AllowCompaction():
                self._maintenance.allow(command.since)
            case protocol.DropCollections():
                self._drop(command.ids)
            case protocol.Peek():
                self._reader.start(command)
            case protocol.Verify():
                self._verify(command)
            case protocol.CancelPeek():
                self._reader.cancel(command)
                verification = self._verifications.pop(command.peek_id, None)
                if verification is not None:
                    verification.cancel()
            case protocol.Shutdown():
                self.stopped.set()
            case _:
                raise InvariantViolation(f"a command that is not known: {command}")

    def _verify(self, command: protocol.Verify) -> None:
        ingestion = self._ingestions.get(command.source_id)
        if ingestion is None:
            message = f'the source of table "{command.name}" does not run'
            hint = "SELECT * FROM mz_internal.mz_source_statuses says why."
            self.report(protocol.PeekFailed(command.peek_id, "55000", message, None, hint))
            return
        verification = Verification(self.shared, ingestion, command)
        self._verifications = {
            id_: other for id_, other in list(self._verifications.items()) if other.alive()
        }
        try:
            verification.start()
        except RuntimeError:
            error = no_thread()
            self.report(protocol.PeekFailed(command.peek_id, error.sqlstate, error.message, None, error.hint))
            return
        self._verifications[command.peek_id] = verification

    def _run_ingestion(self, command: protocol.RunIngestion) -> None:
        self._stated.add(command.source_id)
        running = self._ingestions.get(command.source_id)
        if running is not None:
            running.restate(command)
            for message in running.restated():
                self.report(message)
            return
        try:
            ingestion = Ingestion(self.shared, command, driver_lost)
            ingestion.start()
        except RuntimeError as error:  # the machine has no thread for it, nor for others; stated again soon
            what = f"could not start a thread for source {command.source_id}"
            self.shared.set_status(command.source_id, "stalled", what, THREADS)
            raise TransientError(what, THREADS) from error
        except Exception as error:
            # The other sources are stated next, and run.
            log.exception("a source cannot be run", source=command.source_id)
            self.shared.set_status(command.source_id, "failed", f"internal: {error!r}", START_AGAIN)
            return
        self._ingestions[command.source_id] = ingestion

    def _stop_unstated(self) -> None:
        for source_id in [id_ for id_ in self._ingestions if id_ not in self._stated]:
            self._stop(source_id)
        for collection_id, as_of in self.shared.ledger.superseded():
            self.report(protocol.Folded(collection_id, as_of, 0.0))

    def _stop(self, source_id: str) -> None:
        """Without waiting: a new ingestion of the same source would fence this one."""
        ingestion = self._ingestions.pop(source_id, None)
        if ingestion is not None:
            ingestion.stop()
            self._ending.append(ingestion)

    def _drop(self, ids: list[str]) -> None:
        for id_ in ids:
            self._stop(id_)
            self.shared.forget_status(id_)
        self._maintenance.drop(ids)

    def _busy(self, collection_id: str) -> bool:
        """Whether a tick or backfill may still write files of this table."""
        self._ending = [ingestion for ingestion in self._ending if not ingestion.finished()]
        return any(
            collection_id == ingestion.source_id or ingestion.writing(collection_id)
            for ingestion in self._ending
        ) or any(ingestion.writing(collection_id) for ingestion in list(self._ingestions.values()))

    def shut_down(self) -> None:
        """End the ticks under way; what is not committed then is read again by the next process."""
        ingestions = list(self._ingestions.values())
        for ingestion in ingestions:
            ingestion.stop()
        self._maintenance.stop()
        for ingestion in ingestions:
            ingestion.join(SHUTDOWN_S_MAX / 2)


def driver_lost(error: Exception) -> None:
    """The JVM is gone: nothing in this process can work any more, so a new one must start."""
    log.error("spark driver lost", error=str(error))
    os._exit(EXIT_DRIVER_LOST)


def listen(address: Address | UnixAddress) -> socket.socket:
    """A listening socket."""
    if isinstance(address, UnixAddress):
        address.path.unlink(missing_ok=True)
        sock = socket.socket(socket.AF_UNIX)
        with socket_path(address.path) as path:
            sock.bind(path)
        address.path.chmod(0o600)
    else:
        sock = socket.create_server((address.host, address.port))
    sock.listen(4)
    return sock


def run_cluster(options: ClusterOptions) -> None:
    """The process: start Spark, listen, serve until told to end."""
    configure(options.log)
    arm_from(os.environ)
    close_to_others(options.data_dir)
    lock = cluster_lock(options.data_dir, options.name).open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        log.error("another process runs this cluster", cluster=options.name, pid=lock.read().strip())
        raise SystemExit(1) from None
    lock.truncate(0)
    lock.write(f"{os.getpid()}\n")
    lock.flush()
    scratch = cluster_scratch(options.data_dir, options.name)
    for folder in (scratch, spill_folder(options.data_dir)):
        shutil.rmtree(folder, ignore_errors=True)  # what a process that was killed has left
    spark = build_session(options.spark, scratch, warm)
    prepare(spark)
    ledger = open_ledger(options.data_dir, f"cluster-{options.name}")
    store = open_store(options.data_dir)
    cluster: Cluster
    shared = Shared(
        store,
        scratch,
        ledger,
        Jobs(spark.sparkContext),
        SYSTEM_CLOCK,
        spark.sparkContext.defaultParallelism,
        lambda message, payload=b"": cluster.report(message, payload),
        SecretStore(store).get,
    )
    reader = Reader(spark, store, lambda messages: cluster.report_all(messages), driver_lost)
    cluster = Cluster(shared, reader)
    cluster.start()
    sock = listen(options.listen)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: cluster.stopped.set())
    threading.Thread(target=_accept, args=(sock, cluster), name="accept", daemon=True).start()
    log.info("cluster ready", cluster=options.name, listen=str(options.listen), spark=options.spark.master)
    cluster.stopped.wait()
    sock.close()
    cluster.shut_down()
    ledger.close()
    log.info("cluster ended", cluster=options.name)
    os._exit(0)


def _accept(sock: socket.socket, cluster: Cluster) -> None:
    """Until the cluster stops: without it no environment finds its way here again."""
    while not cluster.stopped.is_set():
        try:
            accepted, _ = sock.accept()
        except OSError as error:
            if not cluster.stopped.wait(RETRY_DELAY_S_MIN):  # too many open files, say
                log.warning("could not accept a connection", error=error.strerror or str(error))
            continue
        connection = Connection(accepted)
        try:
            threading.Thread(target=cluster.serve, args=(connection,), name="serve", daemon=True).start()
        except RuntimeError as error:
            log.warning("could not serve a connection", error=str(error), hint=THREADS)
            connection.close()
            cluster.stopped.wait(RETRY_DELAY_S_MIN)
