"""The command line: `headwater server|cluster|demo|sql|doctor`.

Turns words into option values and calls whoever does the work.  That work is
imported only when it is asked for, so that --help answers at once.

Every option can be given by an environment variable as well, which --help names:
HEADWATER_<COMMAND>_<OPTION>.  An error the user can fix ends with status 1 and
says how; a wrong command line with status 2.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, NoReturn, TextIO, TypeVar, get_args

import click

from headwater.core.errors import HeadwaterError, UserError
from headwater.core.lasting import lasting
from headwater.options import (
    CLUSTER_NAME,
    HTTP_ADDRESS,
    INTERNAL_SQL_ADDRESS,
    SPARK_MASTER,
    SQL_ADDRESS,
    Address,
    AuthMethod,
    AuthOptions,
    ClusterOptions,
    LogFormat,
    LogLevel,
    LogOptions,
    ServerOptions,
    SparkOptions,
    TlsMode,
    TlsOptions,
    UnixAddress,
    parse_address,
    parse_data_dir,
    parse_listen_address,
    parse_setting,
    tls_options,
)

T = TypeVar("T")
Command = Callable[..., Any]

CONTEXT = {
    "auto_envvar_prefix": "HEADWATER",
    "help_option_names": ["-h", "--help"],
    "show_default": True,
    "max_content_width": 100,
}


def _parsed(parse: Callable[[str], T]) -> Callable[[str], T]:
    """One of our parsers as an option's type: what it refuses is a wrong command line."""

    def convert(text: str) -> T:
        try:
            return parse(text)
        except UserError as error:
            raise click.BadParameter(error.message) from error

    return convert


ADDRESS: dict[str, Any] = {"type": _parsed(parse_address), "metavar": "HOST:PORT"}
_DEMO_ADDRESS = "Where the server listens; port 0 is any free one. [default: {}, or any free port]"
LISTEN_ADDRESS: dict[str, Any] = {"type": _parsed(parse_listen_address), "metavar": "HOST:PORT|unix:PATH"}
SETTING: dict[str, Any] = {"type": _parsed(parse_setting), "metavar": "KEY=VALUE"}


class DataDirectory(click.Path):
    """A directory, made by whoever needs it, at a path that everything below us understands."""

    def __init__(self) -> None:
        super().__init__(file_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        try:
            return parse_data_dir(str(super().convert(value, param, ctx)))
        except UserError as error:
            self.fail(error.message, param, ctx)


DIRECTORY = DataDirectory()
FILE = click.Path(dir_okay=False, path_type=Path)


def _option(*names: str, **facts: Any) -> Callable[[Command], Command]:
    return click.option(*names, show_envvar=True, **facts)


def _spark_options(command: Command) -> Command:
    command = _option(
        "--spark-conf",
        **SETTING,
        multiple=True,
        help="A setting of Spark; may be given several times. In the environment: separated by spaces.",
    )(command)
    return _option(
        "--spark-master",
        default=SPARK_MASTER,
        help="Where Spark runs: in this machine's cores, or a master's URL.",
    )(command)


def _log_options(command: Command) -> Command:
    command = _option(
        "--log-format",
        type=click.Choice(get_args(LogFormat)),
        default="auto",
        help="Diagnostics on stderr; auto is console on a terminal, keyvalue elsewhere.",
    )(command)
    return _option(
        "--log-level", type=click.Choice(get_args(LogLevel)), default="info", help="The least level shown."
    )(command)


def _combined(
    name: str, combine: Callable[..., Any], *options: Callable[[Command], Command]
) -> Callable[[Command], Command]:
    """Several options that the command is given as one value; each is an argument of `combine`."""

    def decorate(command: Command) -> Command:
        def combined(**values: Any) -> Any:
            own = {key: values.pop(key) for key in signature(combine).parameters}
            try:
                value = combine(**own)
            except UserError as error:
                raise click.UsageError(error.message) from error
            return command(**{name: value}, **values)

        decorated: Command = wraps(command)(combined)
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


_auth_options = _combined(
    "auth",
    lambda auth, trust_network, admin_password_file: AuthOptions(auth, trust_network, admin_password_file),
    _option(
        "--auth",
        type=click.Choice(get_args(AuthMethod)),
        default="trust",
        help="How clients show who they are; trust takes their word, on loopback addresses.",
    ),
    _option(
        "--trust-network",
        is_flag=True,
        help="Trust on addresses that other machines can reach, too: whoever reaches them may do everything.",
    ),
    _option(
        "--admin-password-file",
        type=FILE,
        help="The password that the first superuser is given; without it one is made and printed once.",
    ),
)
_tls_options = _combined(
    "tls",
    tls_options,
    _option(
        "--tls-mode",
        type=click.Choice(get_args(TlsMode)),
        help="Whether clients may, or must, encrypt. [default: require with a certificate, else disable]",
    ),
    _option(
        "--tls-certificate",
        type=FILE,
        help="The server's certificate and those between it and its authority, in PEM."
        " The files are read again when they change.",
    ),
    _option("--tls-key", type=FILE, help="The certificate's private key, in PEM."),
    _option(
        "--tls-client-ca", type=FILE, help="Who signs clients' certificates; the name in one is the role."
    ),
    _option(
        "--tls-crl",
        type=FILE,
        help="Certificates of clients that their authorities have revoked, in PEM: a list of each authority."
        " The file is read again when it changes.",
    ),
)


@click.group(context_settings=CONTEXT)
@click.version_option(package_name="headwater", message="%(prog)s %(version)s")
def main() -> None:
    """A SQL server that keeps versioned, read-only tables in step with upstream systems."""


@main.command()
@_option("--data-dir", type=DIRECTORY, required=True, help="Where everything durable lives; made if absent.")
@_option("--sql-address", **ADDRESS, default=str(SQL_ADDRESS), help="Where SQL clients connect.")
@_option(
    "--internal-sql-address",
    **ADDRESS,
    default=str(INTERNAL_SQL_ADDRESS),
    help="Where the operator connects, with every privilege. Keep it private.",
)
@_option(
    "--http-address",
    **ADDRESS,
    default=str(HTTP_ADDRESS),
    help="Health, metrics, SQL and webhooks over HTTP.",
)
@_auth_options
@_tls_options
@_option(
    "--external-addresses-only",
    is_flag=True,
    help="Connect to upstreams on the open network only, and to nothing within your own.",
)
@_spark_options
@_log_options
def server(
    data_dir: Path,
    sql_address: Address,
    internal_sql_address: Address,
    http_address: Address,
    auth: AuthOptions,
    tls: TlsOptions | None,
    external_addresses_only: bool,
    spark_master: str,
    spark_conf: tuple[tuple[str, str], ...],
    log_level: LogLevel,
    log_format: LogFormat,
) -> None:
    """Run the server and its default cluster.

    Prints a line that begins with "headwater ready" when statements can be run.
    Ctrl-C or SIGTERM stops it.
    """
    options = ServerOptions(
        data_dir=data_dir,
        sql_address=sql_address,
        internal_sql_address=internal_sql_address,
        http_address=http_address,
        auth=auth,
        tls=tls,
        external_addresses_only=external_addresses_only,
        spark=SparkOptions(spark_master, spark_conf),
        log=LogOptions(log_level, log_format),
    )

    def run() -> None:
        with lasting():
            from headwater.server import run_server

        run_server(options)

    _guarded(run)


@main.command()
@_option("--data-dir", type=DIRECTORY, required=True, help="The server's data directory, as seen from here.")
@_option("--listen", **LISTEN_ADDRESS, required=True, help="Where the server finds this cluster.")
@_option("--name", default=CLUSTER_NAME, help="Names its lock and its scratch files.")
@_spark_options
@_log_options
def cluster(
    data_dir: Path,
    listen: Address | UnixAddress,
    name: str,
    spark_master: str,
    spark_conf: tuple[tuple[str, str], ...],
    log_level: LogLevel,
    log_format: LogFormat,
) -> None:
    """Run one cluster: a Spark driver that a server commands.

    The server starts one by itself and starts it again when it ends.  One that
    listens on unix:DATA-DIR/cluster-quickstart.sock already is used as it is.
    """
    options = ClusterOptions(
        data_dir=data_dir,
        listen=listen,
        name=name,
        spark=SparkOptions(spark_master, spark_conf),
        log=LogOptions(log_level, log_format),
    )

    def run() -> None:
        with lasting():
            from headwater.cluster.server import run_cluster

        run_cluster(options)

    _guarded(run)


@main.command()
@click.argument("what", type=click.Choice(["auction", "kafka"]), default="auction")
@_option(
    "--data-dir",
    type=DIRECTORY,
    help="Kept, so that the next demo continues from it. [default: data/demo, or data/demo-kafka]",
)
@_option(
    "--kafka-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=".cache/kafka",
    help="Of `demo kafka`: Kafka's jars as `make kafka` fetches them, or a Kafka that was unpacked.",
)
@_option(
    "--seconds",
    type=click.FloatRange(min=0),
    help="End after so many seconds of results. [default: on a terminal never, elsewhere 20]",
)
@_option("--sql-address", **ADDRESS, help=_DEMO_ADDRESS.format(SQL_ADDRESS))
@_option("--internal-sql-address", **ADDRESS, help=_DEMO_ADDRESS.format(INTERNAL_SQL_ADDRESS))
@_option("--http-address", **ADDRESS, help=_DEMO_ADDRESS.format(HTTP_ADDRESS))
def demo(
    what: str,
    data_dir: Path | None,
    kafka_dir: Path,
    seconds: float | None,
    sql_address: Address | None,
    internal_sql_address: Address | None,
    http_address: Address | None,
) -> None:
    """Start a server with live auctions and watch its tables grow.

    With `kafka`: start a broker as well, and watch one topic as three live tables.
    """
    from headwater.demo import chosen_addresses, run_demo

    def run() -> None:
        addresses = chosen_addresses(sql_address, internal_sql_address, http_address)
        if what == "auction":
            run_demo(data_dir or Path("data/demo"), seconds, addresses)
            return
        from headwater.demo_kafka import run_kafka_demo

        run_kafka_demo(data_dir or Path("data/demo-kafka"), kafka_dir, seconds, addresses)

    _guarded(run)


@main.command()
@click.argument("file", type=click.File("r", encoding="utf-8"), default="-")
@_option("--address", **ADDRESS, default=str(SQL_ADDRESS), help="The server.")
@_option("--http", help="The server's URL, as http://user:password@host:6876: speak HTTP instead.")
@_option("--user", default="materialize", help="Who you are.")
@_option("--database", default="materialize", help="The session's database.")
def sql(file: TextIO, address: Address, http: str | None, user: str, database: str) -> None:
    """Run the statements of FILE, or of stdin.

    Rows are a table on a terminal and separated by tabs elsewhere.  The first error
    ends it with status 1.
    """
    from headwater.client_output import run_script

    if file.isatty():
        click.echo("Type statements and end with Ctrl-D.  For a real prompt use psql.", err=True)
    try:
        text = file.read()
    except UnicodeDecodeError as error:
        _fail(
            f'"{file.name}" is not UTF-8 at byte {error.start}',
            None,
            f"Convert it: iconv -f LATIN1 -t UTF-8 {file.name}",
        )
    _guarded(lambda: run_script(text, address, user, database, http))


@main.command()
@_option("--data-dir", type=DIRECTORY, default="data", help="The data directory to look at.")
@_option("--sql-address", **ADDRESS, default=str(SQL_ADDRESS), help="Is it free?")
@_option("--internal-sql-address", **ADDRESS, default=str(INTERNAL_SQL_ADDRESS), help="Is it free?")
@_option("--http-address", **ADDRESS, default=str(HTTP_ADDRESS), help="Is it free?")
def doctor(
    data_dir: Path, sql_address: Address, internal_sql_address: Address, http_address: Address
) -> None:
    """Look whether Headwater can run here, and say how to fix what is wrong.

    A server that runs on the data directory already is looked at as well, and may hold its own ports.
    Status 1 if something is wrong.
    """
    from headwater.doctor import diagnose, report

    findings = diagnose(data_dir, (sql_address, http_address, internal_sql_address), http_address)
    for line in report(findings):
        click.echo(line)
    if not all(finding.well for finding in findings):
        sys.exit(1)


def _guarded(work: Callable[[], None]) -> None:
    """Run a command's work; our own errors become words for the terminal and status 1."""
    try:
        work()
    except UserError as error:
        _fail(error.message, error.detail, error.hint)
    except HeadwaterError as error:
        _fail(str(error), None, getattr(error, "hint", None))
    except KeyboardInterrupt:
        sys.exit(130)


def _fail(message: str, detail: str | None, hint: str | None) -> NoReturn:
    click.echo(f"ERROR:  {message}", err=True)
    if detail:
        click.echo(f"DETAIL: {detail}", err=True)
    if hint:
        click.echo(f"HINT:   {hint}", err=True)
    sys.exit(1)
