"""CREATE CONNECTION .. TO POSTGRES: its options."""

from __future__ import annotations

from typing import Final

from headwater.sources.connections import (
    ConnectionKind,
    check_certificates,
    port,
    secret,
    ssl_mode,
    string,
    string_or_secret,
)
from headwater.sources.postgres.connection import PORT_DEFAULT, validate

_SSL_MODES: Final = ("disable", "require", "verify-ca", "verify-full")


CONNECTION: Final = ConnectionKind(
    words="POSTGRES",
    readers={
        "HOST": string,
        "PORT": port,
        "DATABASE": string,
        "USER": string,
        "PASSWORD": string_or_secret,
        "SSL MODE": ssl_mode(_SSL_MODES),
        "SSL CERTIFICATE": string_or_secret,
        "SSL KEY": secret,
        "SSL CERTIFICATE AUTHORITY": string_or_secret,
    },
    required=("HOST", "DATABASE", "USER"),
    defaults={"port": PORT_DEFAULT, "ssl_mode": "disable"},
    not_yet=("SSH TUNNEL", "AWS PRIVATELINK"),
    check=check_certificates,
    validate=validate,
)
