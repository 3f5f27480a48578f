"""The environment process: wires everything together and serves until told to end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from contextlib import AsyncExitStack

import structlog
import uvloop
from starlette.types import ASGIApp

from headwater import __version__
from headwater.catalog.opening import open_catalog
from headwater.catalog.updates import SetSystemVariable
from headwater.coordinator.coordinator import Coordinator, initial_floor
from headwater.coordinator.engine import Engine
from headwater.coordinator.first_superuser import name_superuser
from headwater.coordinator.logins import Logins
from headwater.coordinator.migration import migrate_sources
from headwater.coordinator.source_details import check_kinds
from headwater.coordinator.system import object_numbers
from headwater.coordinator.timestamps import Oracle
from headwater.coordinator.watchdog import Watchdog
from headwater.coordinator.webhooks import Webhooks
from headwater.core.addresses import loopback
from headwater.core.clock import SYSTEM_CLOCK, secret_number
from headwater.core.errors import TransientError, UserError
from headwater.core.java import java_command
from headwater.core.limits import CERTIFICATE_CHECK_S, GIL_SWITCH_S
from headwater.http.access import Access
from headwater.http.app import build_app, serve
from headwater.observe.failpoints import arm_from
from headwater.observe.log import configure
from headwater.options import CLUSTER_NAME, Address, ServerOptions, UnixAddress
from headwater.persist.layout import cluster_socket, scratch_folder
from headwater.persist.lock import DataDirectoryLock
from headwater.persist.opening import open_ledger, open_store
from headwater.persist.private import close_to_others
from headwater.persist.retention import empty_scratch
from headwater.pgwire.login import Entrance
from headwater.pgwire.server import PgWireServer
from headwater.storage.controller import Controller
from headwater.storage.supervisor import Supervisor
from headwater.tls import Tls

log = structlog.get_logger("server")
_SECRET_SETTING = "login_secret"


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
    check_reachable(options)
    tls = None if options.tls is None else Tls(options.tls)
    opened = close_to_others(options.data_dir)
    if opened:
        log.warning("data directory was open to other users", closed=", ".join(opened))
    sys.setswitchinterval(GIL_SWITCH_S)
    with DataDirectoryLock(options.data_dir):
        uvloop.run(_serve(options, tls))


def check_reachable(options: ServerOptions) -> None:
    """Nobody is trusted who may sit at another machine, unless that was said."""
    auth = options.auth
    asks = auth.method != "trust"
    if auth.method == "certificate" and (options.tls is None or options.tls.client_ca is None):
        raise UserError(
            "clients cannot show certificates",
            "22023",
            hint="Give --tls-certificate, --tls-key, and --tls-client-ca, which signs those of clients.",
        )
    for option, address, anybody in (
        ("--sql-address", options.sql_address, not asks),
        ("--http-address", options.http_address, not asks),
        ("--internal-sql-address", options.internal_sql_address, True),
    ):
        if not anybody or auth.trust_network or loopback(address.host) or _resolves_here(address.host):
            continue
        operator = option == "--internal-sql-address"
        raise UserError(
            f'whoever reaches {option} "{address}" could do everything',
            "28000",
            detail="The operator is whoever connects there: no password is asked for."
            if operator
            else "With --auth trust, clients are who they say they are.",
            hint="Use a loopback address, or add --trust-network if only those can reach it who may."
            if operator
            else "Add --auth password, or --trust-network if only those can reach it who may do everything.",
        )
    secret = options.tls is not None and options.tls.required
    if asks and not secret and not loopback(options.http_address.host):
        log.warning(
            "passwords by HTTP can be read on the network",
            address=str(options.http_address),
            hint="Add --tls-certificate and --tls-key.",
        )


def _resolves_here(host: str) -> bool:
    try:
        found = {str(address[4][0]) for address in socket.getaddrinfo(host, None)}
    except OSError:
        return False
    return bool(found) and all(loopback(address) for address in found)


async def _serve(options: ServerOptions, tls: Tls | None) -> None:
    # Whatever ends it: objects of DuckDB that are open when the interpreter ends are complained of at length.
    async with AsyncExitStack() as closing:
        coordinator = _open(options, closing)
        watchdog = Watchdog(SYSTEM_CLOCK)
        closing.callback(watchdog.close)
        broken = await _run(coordinator, options, tls, closing)
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
    name_superuser(catalog, options.auth, _say)
    if options.external_addresses_only:
        catalog.transact([], [SetSystemVariable("storage_enforce_external_addresses", "on")])
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


async def _run(
    coordinator: Coordinator, options: ServerOptions, tls: Tls | None, closing: AsyncExitStack
) -> bool:
    """Serve until told to end; whether it ended because nobody listens for HTTP any more."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    # Addresses that cannot be had are told of at once; nobody comes in before everything is there.
    logins = _logins(coordinator, options)
    entrance = Entrance(logins, tls, tls is not None and tls.options.required)
    at = options.sql_address
    sql = PgWireServer(coordinator, at.host, at.port, internal=False, entrance=entrance)
    await _bind(sql, closing, "SQL", "--sql-address")
    at = options.internal_sql_address
    internal = PgWireServer(coordinator, at.host, at.port, internal=True, entrance=Entrance(tls=tls))
    await _bind(internal, closing, "the operator's SQL", "--internal-sql-address")
    coordinator.start()
    controller = coordinator.controller
    app = build_app(
        lambda: (controller.connected, "" if controller.connected else "the cluster is starting"),
        lambda: object_numbers(coordinator),
        coordinator,
        Access(logins.authenticate, logins.method == "trust", frozenset({options.http_address.host})),
        coordinator.webhooks,
    )
    web = await _start_web(app, options.http_address, stop, tls, coordinator.webhooks)
    if tls is not None:
        renewing = asyncio.create_task(_renew(tls))
        closing.callback(renewing.cancel)
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, tls.renew)
    controller.start()
    await sql.open()
    await internal.open()
    _say(
        f"headwater ready {__version__}: psql postgres://materialize@{options.sql_address.host}:{sql.port}"
        f"/materialize"
    )
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


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _logins(coordinator: Coordinator, options: ServerOptions) -> Logins:
    """Who may come in.  What is made up for roles that do not exist stays the same, as for those that do."""
    catalog = coordinator.catalog
    secret = catalog.get_setting(_SECRET_SETTING)
    if secret is None:
        secret = f"{secret_number(256):064x}"
        catalog.put_setting(_SECRET_SETTING, secret)

    secret_bytes = bytes.fromhex(secret)
    return Logins(
        options.auth.method,
        lambda name: catalog.state.role_named(name),
        secret_bytes,
        SYSTEM_CLOCK,
        coordinator.refusals.login,
    )


async def _renew(tls: Tls) -> None:
    """Look for other certificates; SIGHUP is for who does not want to wait."""
    while True:
        await asyncio.sleep(CERTIFICATE_CHECK_S)
        tls.renew()


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


async def _start_web(
    app: ASGIApp, address: Address, stop: asyncio.Event, tls: Tls | None, webhooks: Webhooks
) -> asyncio.Task[None]:
    """The task that serves HTTP, once it listens."""
    listening = asyncio.Event()

    def started(at: Address) -> None:
        webhooks.base_url = f"{'http' if tls is None else 'https'}://{at}"
        listening.set()

    web = asyncio.create_task(serve(app, address, stop, started, tls))
    ready = asyncio.create_task(listening.wait())
    await asyncio.wait([web, ready], return_when=asyncio.FIRST_COMPLETED)
    ready.cancel()
    if web.done():
        web.result()  # raises what kept it from listening
    return web
