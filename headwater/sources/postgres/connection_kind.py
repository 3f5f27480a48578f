"""CREATE CONNECTION .. TO POSTGRES: its options."""

from __future__ import annotations

from typing import Any, Final

from headwater.core.errors import UserError
from headwater.sources.connections import ConnectionKind, port, secret, string, string_or_secret
from headwater.sources.postgres.connection import PORT_DEFAULT, validate
from headwater.sql.connection_options import OptionValue

_SSL_MODES: Final = ("disable", "require", "verify-ca", "verify-full")


def _ssl_mode(name: str, value: OptionValue) -> str:
    text = string(name, value)
    mode = text.lower().replace("_", "-")
    if mode not in _SSL_MODES:
        raise UserError(
            f'invalid CONNECTION: unknown SSL MODE "{text}"',
            "22023",
            hint=f"It is one of {', '.join(_SSL_MODES)}.",
        )
    return mode


def _check(options: dict[str, Any]) -> None:
    if ("ssl_key" in options) != ("ssl_certificate" in options):
        raise UserError("invalid CONNECTION: both SSL KEY and SSL CERTIFICATE are required", "22023")
    mode = options["ssl_mode"]
    if mode.startswith("verify") and "ssl_certificate_authority" not in options:
        raise UserError(f"invalid CONNECTION: SSL MODE {mode} requires SSL CERTIFICATE AUTHORITY", "22023")


CONNECTION: Final = ConnectionKind(
    words="POSTGRES",
    readers={
        "HOST": string,
        "PORT": port,
        "DATABASE": string,
        "USER": string,
        "PASSWORD": string_or_secret,
        "SSL MODE": _ssl_mode,
        "SSL CERTIFICATE": string_or_secret,
        "SSL KEY": secret,
        "SSL CERTIFICATE AUTHORITY": string_or_secret,
    },
    required=("HOST", "DATABASE", "USER"),
    defaults={"port": PORT_DEFAULT, "ssl_mode": "disable"},
    not_yet=("SSH TUNNEL", "AWS PRIVATELINK"),
    check=_check,
    validate=validate,
)
