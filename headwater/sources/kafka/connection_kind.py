"""CREATE CONNECTION .. TO KAFKA and TO CONFLUENT SCHEMA REGISTRY: their options."""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import urlsplit

from headwater.core.errors import UserError
from headwater.sources.connections import ConnectionKind, port, secret, string, string_or_secret
from headwater.sources.kafka import connection, registry
from headwater.sql.connection_options import OptionValue

_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_BROKER: Final = re.compile(r"(\[[0-9a-fA-F:]+\]|[^\s,:/\[\]]+)(:\d{1,5})?")
_SASL_OPTIONS: Final = ("sasl_mechanisms", "sasl_username", "sasl_password")
_PORT_DEFAULT: Final = 9092


def _invalid(message: str, hint: str | None = None) -> UserError:
    return UserError(f"invalid CONNECTION: {message}", "22023", hint=hint)


def _broker(name: str, value: OptionValue) -> str:
    text = string(name, value).strip()
    if "," in text:
        raise _invalid(
            "cannot specify multiple Kafka broker addresses in one string", "BROKERS ('a:9092', 'b:9092')"
        )
    if not _BROKER.fullmatch(text):
        raise _invalid(f'"{text}" is not the address of a broker', "Write host:port.")
    return text if re.search(r":\d+$", text) else f"{text}:{_PORT_DEFAULT}"


def _brokers(name: str, value: OptionValue) -> list[str]:
    values = value if isinstance(value, tuple) else (value,)
    if not values:
        raise UserError(f"{name} must not be empty", "22023")
    return [_broker(name, one) for one in values]


def _one_of(allowed: tuple[str, ...], what: str) -> Any:
    def read(name: str, value: OptionValue) -> str:
        text = string(name, value).upper()
        if text not in allowed:
            raise _invalid(f"unknown {what}: {text}", f"It is one of {', '.join(allowed)}.")
        return text

    return read


def _check(options: dict[str, Any]) -> None:
    """Brokers become a list, and what was not said follows from what was."""
    one, several = options.pop("broker", None), options.pop("brokers", None)
    if one is None and several is None:
        raise _invalid("must set one of BROKER, BROKERS, or AWS PRIVATELINK")
    if one is not None and several is not None:
        raise _invalid("can only set one of BROKER, BROKERS, or AWS PRIVATELINK")
    options["brokers"] = several if one is None else [one]
    sasl = [option for option in _SASL_OPTIONS if option in options]
    protocol = options.setdefault("security_protocol", "SASL_SSL" if sasl else "SSL")
    if protocol.startswith("SASL"):
        for option in _SASL_OPTIONS:
            if option not in options:
                raise _invalid(f"{option.upper().replace('_', ' ')} must be specified")
    elif sasl:
        raise _invalid(
            f"option {sasl[0].upper().replace('_', ' ')} not supported with this configuration",
            "SECURITY PROTOCOL must be SASL_SSL or SASL_PLAINTEXT.",
        )
    certificates = [name for name in options if name.startswith("ssl_")]
    if certificates and not protocol.endswith("SSL"):
        raise _invalid(
            f"option {certificates[0].upper().replace('_', ' ')} not supported with this configuration",
            "SECURITY PROTOCOL must be SSL or SASL_SSL.",
        )
    if ("ssl_key" in options) != ("ssl_certificate" in options):
        raise _invalid("SSL KEY must be specified with SSL CERTIFICATE")


KAFKA: Final = ConnectionKind(
    words="KAFKA",
    readers={
        "BROKER": _broker,
        "BROKERS": _brokers,
        "SECURITY PROTOCOL": _one_of(_PROTOCOLS, "security protocol"),
        "SASL MECHANISMS": _one_of(_MECHANISMS, "SASL mechanism"),
        "SASL USERNAME": string_or_secret,
        "SASL PASSWORD": secret,
        "SSL KEY": secret,
        "SSL CERTIFICATE": string_or_secret,
        "SSL CERTIFICATE AUTHORITY": string_or_secret,
        "PROGRESS TOPIC": string,
    },
    required=(),
    # Only what writes to Kafka makes that topic, and nothing does yet: how often it is kept would be ignored.
    not_yet=("SSH TUNNEL", "AWS PRIVATELINK", "AWS CONNECTION", "PROGRESS TOPIC REPLICATION FACTOR"),
    fixed=("PROGRESS TOPIC",),
    check=_check,
    validate=connection.validate,
)


def _url(name: str, value: OptionValue) -> str:
    text = string(name, value)
    place = urlsplit(text)
    if place.scheme not in ("http", "https") or not place.hostname:
        raise _invalid(f'URL "{text}" is not the address of a registry', "Write http://host:port.")
    if place.path not in ("", "/") or place.query or place.fragment:
        raise _invalid("URL must have an empty path", "Write http://host:port.")
    return text.rstrip("/")


def _check_registry(options: dict[str, Any]) -> None:
    if "url" not in options:
        raise _invalid("must specify URL")
    if "port" in options:
        place = urlsplit(options["url"])
        options["url"] = f"{place.scheme}://{place.hostname}:{options.pop('port')}"


REGISTRY: Final = ConnectionKind(
    words="CONFLUENT SCHEMA REGISTRY",
    readers={
        "URL": _url,
        "PORT": port,
        "USER": string_or_secret,
        "PASSWORD": string_or_secret,
        "SSL CERTIFICATE AUTHORITY": string_or_secret,
    },
    required=(),
    not_yet=("SSH TUNNEL", "AWS PRIVATELINK", "SSL KEY", "SSL CERTIFICATE"),
    check=_check_registry,
    validate=registry.validate,
)
