"""Where connections may not go, they do not: before anything is sent, and whatever a name resolves to.

Method: resolution handed in, a listener that nobody may reach, and connection strings of libpq.
"""

from __future__ import annotations

import socket
from typing import Any

import psycopg.conninfo
import pytest

from headwater.core.errors import TransientError
from headwater.sources import external
from headwater.sources.external import EXTERNAL_ONLY, addresses
from headwater.sources.kafka import connection as kafka
from headwater.sources.kafka.registry import Registry
from headwater.sources.postgres.connection import conninfo

ONLY = {EXTERNAL_ONLY: True}
NAMES = {
    "open": ["203.0.114.7", "2001:4860::1"],
    "inside": ["10.0.0.1"],
    "both": ["203.0.114.7", "127.0.0.1"],
    "127.0.0.1": ["127.0.0.1"],
}


@pytest.fixture(autouse=True)
def resolution(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(host: str) -> list[str]:
        if host not in NAMES:
            raise socket.gaierror(-2, "Name or service not known")
        return NAMES[host]

    monkeypatch.setattr(external, "resolve", resolve)


def no_secrets(id_: str) -> bytes:
    raise AssertionError("no secret is needed")


def test_anywhere_is_the_default() -> None:
    assert addresses({}, "inside") == []


def test_a_name_is_what_it_resolves_to() -> None:
    assert addresses(ONLY, "open") == NAMES["open"]


@pytest.mark.parametrize("host", ["inside", "both", "127.0.0.1", "", "/run/postgresql", "@abstract"])
def test_one_address_within_is_enough(host: str) -> None:
    with pytest.raises(TransientError, match="external addresses only") as raised:
        addresses(ONLY, host)
    assert "10.0.0.1" not in str(raised.value)


def test_a_name_that_is_not_known() -> None:
    with pytest.raises(TransientError, match="failed to lookup address information"):
        addresses(ONLY, "nowhere")


def postgres(host: str, **more: Any) -> dict[str, Any]:
    return {"host": host, "user": "u", "database": "d", **more}


def test_libpq_is_given_the_addresses_that_were_looked_at() -> None:
    found = psycopg.conninfo.conninfo_to_dict(conninfo(postgres("open", **ONLY), no_secrets))
    assert found["hostaddr"] == "203.0.114.7,2001:4860::1"
    assert found["host"] == "open,open"  # for the name in the certificate
    found = psycopg.conninfo.conninfo_to_dict(conninfo(postgres("open"), no_secrets))
    assert (found["host"], found["hostaddr"]) == ("open", "")


@pytest.mark.parametrize("host", ["inside", "both", "open,inside", "open, /run", "open,"])
def test_libpq_is_given_none_if_one_is_within(host: str) -> None:
    with pytest.raises(TransientError, match="external addresses only"):
        conninfo(postgres(host, **ONLY), no_secrets)


def test_a_registry_within_is_asked_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(TransientError, match="external addresses only"):
            Registry({"url": url, **ONLY}, no_secrets).subjects()
        with pytest.raises(TimeoutError):
            listener.accept()


@pytest.mark.parametrize("brokers", [["127.0.0.1:9092"], ["open:9092", "inside:9092"]])
def test_brokers_within_are_asked_nothing(brokers: list[str]) -> None:
    options = {"brokers": brokers, "security_protocol": "PLAINTEXT", **ONLY}
    with pytest.raises(TransientError, match="external addresses only"):
        kafka.Admin(options, no_secrets)
