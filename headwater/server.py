"""The environment process: wires everything together and serves until told to end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import AsyncExitStack

import structlog
import uvloop
from starlette.applications import Starlette

from headwater import __version__
from headwater.catalog.opening import open_catalog
from headwater.coordinator.coordinator import Coordinator, initial_floor
from headwater.coordinator.engine import Engine
from headwater.coordinator.migration import migrate_sources
from headwater.coordinator.source_details import check_kinds
from headwater.coordinator.system import object_numbers
from headwater.coordinator.timestamps import Oracle
from headwater.coordinator.watchdog import Watchdog
from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import TransientError, UserError
from headwater.core.java import java_command
from headwater.core.limits import GIL_SWITCH_S
from headwater.http.app import build_app, serve
from headwater.observe.failpoints import arm_from
from headwater.observe.log import configure
from headwater.options import CLUSTER_NAME, Address, ServerOptions, UnixAddress
from headwater.persist.layout import cluster_socket, scratch_folder
from headwater.persist.lock import DataDirectoryLock
from headwater.persist.opening import open_ledger, open_store
from headwater.persist.private import close_to_others
from headwater.persist.retention import empty_scratch
from headwater.pgwire.server import PgWireServer
from headwater.storage.controller import Controller
from headwater.storage.supervisor import Supervisor

log = structlog.get_logger("server")


def run_server(options: ServerOptions) -> None:
    """Run the environment and its default cluster until SIGTERM or SIGINT."""
    configure(options.log)
    arm_from(os.environ)
    if java_command(os.environ) is None:
        raise UserError(
            "java was not found in JAVA_HOME or PATH, and Spark needs it",
            "58000",
            hint="apt-get install -y openjdk-17-jre-headless, or set JAVA_HOME;"
            " `headwater doctor` looks at everything else.",
        )
    opened = close_to_others(options.data_dir)
    if opened:
        log.warning("data directory was open to other users", closed=", ".join(opened))
    sys.setswitchinterval(GIL_SWITCH_S)
    with DataDirectoryLock(options.data_dir):
        uvloop.run(_serve(options))


async def _serve(options: ServerOptions) -> None:
    # Whatever ends it: objects of DuckDB that are open when the interpreter ends are complained of at length.
    async with AsyncExitStack() as closing:
        coordinator = _open(options, closing)
        watchdog = Watchdog(SYSTEM_CLOCK)
        closing.callback(watchdog.close)
        broken = await _run(coordinator, options, closing)
    if broken:
        raise SystemExit(1)  # whoever watches over us begins again


def _open(options: ServerOptions, closing: AsyncExitStack) -> Coordinator:
    """All parts of the environment, none of which runs yet."""
    data_dir = options.data_dir.resolve()
    catalog = open_catalog(data_dir)
    closing.callback(catalog.close)
    try:
        ledger = open_ledger(data_dir, "environment")
    except TransientError as error:
        raise UserError(str(error), "58030", hint=error.hint) from error
    closing.callback(ledger.close)
    check_kinds(catalog.state)
    migrate_sources(catalog)
    store = open_store(data_dir)
    empty_scratch(data_dir, store, CLUSTER_NAME)
    oracle = Oracle(SYSTEM_CLOCK, initial_floor(catalog, ledger))
    address = UnixAddress(cluster_socket(data_dir, CLUSTER_NAME))
    supervisor = Supervisor(data_dir, CLUSTER_NAME, address, options.spark, options.log)
    controller = Controller(supervisor, address, catalog.bump_epoch(), lambda: oracle.floor, SYSTEM_CLOCK)
    engine = Engine(scratch_folder(data_dir))
    coordinator = Coordinator(store, catalog, ledger, controller, engine, SYSTEM_CLOCK, oracle)
    closing.callback(coordinator.close)
    return coordinator


async def _run(coordinator: Coordinator, options: ServerOptions, closing: AsyncExitStack) -> bool:
    """Serve until told to end; whether it ended because nobody listens for HTTP any more."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    # Addresses that cannot be had are told of at once; nobody comes in before everything is there.
    sql = PgWireServer(coordinator, options.sql_address.host, options.sql_address.port, internal=False)
    await _bind(sql, closing, "SQL", "--sql-address")
    at = options.internal_sql_address
    internal = PgWireServer(coordinator, at.host, at.port, internal=True)
    await _bind(internal, closing, "the operator's SQL", "--internal-sql-address")
    coordinator.start()
    controller = coordinator.controller
    app = build_app(
        lambda: (controller.connected, "" if controller.connected else "the cluster is starting"),
        lambda: object_numbers(coordinator),
    )
    web = await _start_web(app, options.http_address, stop)
    controller.start()
    await sql.open()
    await internal.open()
    sys.stdout.write(
        f"headwater ready {__version__}: psql postgres://materialize@{options.sql_address.host}:{sql.port}"
        f"/materialize\n"
    )
    sys.stdout.flush()
    ending = asyncio.create_task(stop.wait())
    fenced = asyncio.create_task(controller.fenced.wait())
    await asyncio.wait([web, ending, fenced], return_when=asyncio.FIRST_COMPLETED)
    broken = web.done() and not ending.done()
    if broken:
        log.error("http server ended", error=str(web.exception()))
    stop.set()
    log.info("server ends")
    await sql.stop()
    await internal.stop()
    await coordinator.stop()
    await asyncio.wait([web], timeout=1.0)
    return broken


async def _bind(server: PgWireServer, closing: AsyncExitStack, what: str, option: str) -> None:
    """Take the address, or say which option would help."""
    closing.push_async_callback(server.stop)
    address = Address(server.host, server.port)
    try:
        await server.bind()
    except OSError as error:
        # The loop's own text names the address again; the system's says only what is wrong.
        cause = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
        raise UserError(
            f'could not listen for {what} on "{address}": {cause}',
            "58000",
            hint=f"Choose another with {option}, or see who has it: ss -ltnp 'sport = :{address.port}'",
        ) from error


async def _start_web(app: Starlette, address: Address, stop: asyncio.Event) -> asyncio.Task[None]:
    """The task that serves HTTP, once it listens."""
    listening = asyncio.Event()
    web = asyncio.create_task(serve(app, address, stop, lambda _: listening.set()))
    ready = asyncio.create_task(listening.wait())
    await asyncio.wait([web, ready], return_when=asyncio.FIRST_COMPLETED)
    ready.cancel()
    if web.done():
        web.result()  # raises what kept it from listening
    return web
