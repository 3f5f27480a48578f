"""CREATE CONNECTION .. TO MYSQL: its options.  MariaDB is reached by the same."""

from __future__ import annotations

from typing import Any, Final

from headwater.core.errors import UserError
from headwater.sources.connections import ConnectionKind, port, secret, string, string_or_secret
from headwater.sources.mysql.connection import DISABLED, PORT_DEFAULT, SSL_MODES, validate
from headwater.sql.connection_options import OptionValue


def _ssl_mode(name: str, value: OptionValue) -> str:
    text = string(name, value)
    mode = text.upper().replace("-", "_")
    if mode not in SSL_MODES:
        raise UserError(
            f'invalid CONNECTION: unknown SSL MODE "{text}"',
            "22023",
            hint=f"It is one of {', '.join(SSL_MODES)}.",
        )
    return mode


def _check(options: dict[str, Any]) -> None:
    if ("ssl_key" in options) != ("ssl_certificate" in options):
        raise UserError("invalid CONNECTION: both SSL KEY and SSL CERTIFICATE are required", "22023")
    mode = options["ssl_mode"]
    if mode.startswith("VERIFY") and "ssl_certificate_authority" not in options:
        raise UserError(f"invalid CONNECTION: SSL MODE {mode} requires SSL CERTIFICATE AUTHORITY", "22023")
    if mode == DISABLED and (given := [name for name in options if name.startswith("ssl_c")]):
        option = given[0].upper().replace("_", " ")
        raise UserError(
            f"invalid CONNECTION: {option} is of no use with SSL MODE {DISABLED}",
            "22023",
            hint=f"Set SSL MODE to one of {', '.join(SSL_MODES[1:])}.",
        )


CONNECTION: Final = ConnectionKind(
    words="MYSQL",
    readers={
        "HOST": string,
        "PORT": port,
        "USER": string,
        "PASSWORD": string_or_secret,
        "SSL MODE": _ssl_mode,
        "SSL CERTIFICATE": string_or_secret,
        "SSL KEY": secret,
        "SSL CERTIFICATE AUTHORITY": string_or_secret,
    },
    required=("HOST", "USER"),
    defaults={"port": PORT_DEFAULT, "ssl_mode": DISABLED},
    not_yet=("SSH TUNNEL", "AWS PRIVATELINK", "AWS CONNECTION"),
    check=_check,
    validate=validate,
)
