"""CREATE CONNECTION .. TO MYSQL: its options.  MariaDB is reached by the same."""

from __future__ import annotations

from typing import Any, Final

from headwater.core.errors import UserError
from headwater.sources.connections import (
    ConnectionKind,
    check_certificates,
    port,
    secret,
    ssl_mode,
    string,
    string_or_secret,
)
from headwater.sources.mysql.connection import DISABLED, PORT_DEFAULT, SSL_MODES, validate


def _check(options: dict[str, Any]) -> None:
    check_certificates(options)
    if options["ssl_mode"] == DISABLED and (given := [name for name in options if name.startswith("ssl_c")]):
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
        "SSL MODE": ssl_mode(SSL_MODES),
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
