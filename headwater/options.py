"""Options: what a process is told when it starts, as values.

The command line (cli.py) makes them, the two processes (server.py and
cluster/server.py) take them.  Nothing in here reads the environment or a file.

    Address       127.0.0.1:6875      a TCP socket; port 0 is any free one
    UnixAddress   unix:/run/hw.sock   a socket in the file system
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from headwater.core.errors import UserError

LogLevel = Literal["debug", "info", "warn", "error"]
LogFormat = Literal["auto", "console", "keyvalue", "json"]
AuthMethod = Literal["trust", "password", "certificate"]
TlsMode = Literal["disable", "allow", "require"]

PORT_MAX = 65_535
UNIX_PREFIX = "unix:"
# Spark separates its folders by commas and Python's by colons; Spark and DuckDB read the others
# as patterns; Delta decodes what looks like a percent-encoded character.
_NOT_IN_A_PATH = re.compile(r"[,:*?\[{\\\x00-\x1f\x7f\ud800-\udfff]|%[0-9a-fA-F]{2}")


@dataclass(frozen=True, slots=True)
class Address:
    """A TCP address."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class UnixAddress:
    """A Unix socket's path."""

    path: Path

    def __str__(self) -> str:
        return f"{UNIX_PREFIX}{self.path}"


SQL_ADDRESS = Address("127.0.0.1", 6875)
HTTP_ADDRESS = Address("127.0.0.1", 6876)
INTERNAL_SQL_ADDRESS = Address("127.0.0.1", 6877)
SPARK_MASTER = "local[*]"
CLUSTER_NAME = "quickstart"


@dataclass(frozen=True, slots=True)
class LogOptions:
    """How a process writes its diagnostics."""

    level: LogLevel = "info"
    format: LogFormat = "auto"


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """Which Spark a cluster runs on; `conf` overrides our own settings."""

    master: str = SPARK_MASTER
    conf: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class AuthOptions:
    """How clients show who they are, and from where they need not."""

    method: AuthMethod = "trust"
    trust_network: bool = False  # trust also holds for addresses that others can reach
    admin_password_file: Path | None = None


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """The server's certificate, and who signs those of clients."""

    certificate: Path
    key: Path
    required: bool = True
    client_ca: Path | None = None
    crl: Path | None = None  # certificates of clients that are not good any more


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """`headwater server`: the environment and its default cluster."""

    data_dir: Path
    sql_address: Address = SQL_ADDRESS
    internal_sql_address: Address = INTERNAL_SQL_ADDRESS
    http_address: Address = HTTP_ADDRESS
    auth: AuthOptions = field(default_factory=AuthOptions)
    tls: TlsOptions | None = None
    external_addresses_only: bool = False
    spark: SparkOptions = field(default_factory=SparkOptions)
    log: LogOptions = field(default_factory=LogOptions)


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """`headwater cluster`: one Spark driver that an environment commands."""

    data_dir: Path
    listen: Address | UnixAddress
    name: str = CLUSTER_NAME
    spark: SparkOptions = field(default_factory=SparkOptions)
    log: LogOptions = field(default_factory=LogOptions)


def parse_data_dir(text: str) -> Path:
    """The path, absolute and free of what the programs below us would read as something else."""
    path = Path(text).absolute()
    found = _NOT_IN_A_PATH.search(str(path.resolve()))
    if found is not None:
        raise UserError(
            f'data directory "{_printable(str(path))}" cannot be used: "{_printable(found[0])}" in a path has'
            " another meaning to Spark, DuckDB or Delta; rename the directory or choose another one",
            "22023",
        )
    return path


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def parse_address(text: str) -> Address:
    """`host:port`, with an IPv6 host in brackets."""
    host, colon, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    host = host[1:-1] if bracketed else host
    if not colon or not host or (":" in host and not bracketed):
        raise UserError(f'address "{text}" is not of the form host:port', "22023")
    if not port.isascii() or not port.isdigit() or int(port) > PORT_MAX:
        raise UserError(f'port "{port}" of address "{text}" is not a number up to {PORT_MAX}', "22023")
    return Address(host, int(port))


def tls_options(
    tls_mode: TlsMode | None,
    tls_certificate: Path | None,
    tls_key: Path | None,
    tls_client_ca: Path | None,
    tls_crl: Path | None = None,
) -> TlsOptions | None:
    """Options of TLS that fit together; with a certificate and no mode, nobody comes in without TLS."""
    if tls_mode is None:
        given = any(path is not None for path in (tls_certificate, tls_key, tls_client_ca, tls_crl))
        tls_mode = "require" if given else "disable"
    if tls_mode == "disable":
        return None
    if tls_certificate is None or tls_key is None:
        missing = "--tls-certificate" if tls_certificate is None else "--tls-key"
        raise UserError(f"TLS needs a certificate and its key, and {missing} is not there", "22023")
    if tls_crl is not None and tls_client_ca is None:
        raise UserError("--tls-crl needs --tls-client-ca: no other certificates are asked for", "22023")
    return TlsOptions(tls_certificate, tls_key, tls_mode == "require", tls_client_ca, tls_crl)


def parse_listen_address(text: str) -> Address | UnixAddress:
    """`unix:PATH` or `host:port`."""
    if not text.startswith(UNIX_PREFIX):
        return parse_address(text)
    path = text.removeprefix(UNIX_PREFIX)
    if not path:
        raise UserError(f'address "{text}" has no path after "{UNIX_PREFIX}"', "22023")
    return UnixAddress(Path(path))


def parse_setting(text: str) -> tuple[str, str]:
    """`key=value`; the value may contain further equals signs."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise UserError(f'setting "{text}" is not of the form key=value', "22023")
    return key.strip(), value
