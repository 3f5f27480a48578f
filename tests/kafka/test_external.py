"""Brokers that send us into the operator's network are not followed.

Method: a real broker; resolution handed in, which gives another answer the second time it is asked.
"""

from __future__ import annotations

import pytest

from headwater.core.errors import TransientError
from headwater.sources import external
from headwater.sources.external import EXTERNAL_ONLY
from headwater.sources.kafka.connection import Admin, settings
from tests.support.kafka import KafkaServer


def no_secrets(id_: str) -> bytes:
    raise AssertionError("no secret is needed")


def test_what_brokers_advertise_is_looked_at_as_well(
    kafka: KafkaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([["203.0.114.7"], ["127.0.0.1"]])
    monkeypatch.setattr(external, "resolve", lambda host: next(answers))
    connection = {
        "brokers": [kafka.address("SSL")],
        "security_protocol": "SSL",
        "ssl_certificate_authority": {"text": kafka.authority_certificate()},
    }
    Admin(connection, no_secrets).brokers_known()
    with pytest.raises(TransientError, match=r'host "localhost" has a loopback address'):
        Admin({**connection, EXTERNAL_ONLY: True}, no_secrets).brokers_known()


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SASL_PLAINTEXT"])
def test_nothing_is_said_in_the_clear_where_addresses_matter(
    protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external, "resolve", lambda host: ["203.0.114.7"])
    connection = {
        "brokers": ["broker.example:9092"],
        "security_protocol": protocol,
        "sasl_mechanisms": "PLAIN",
        "sasl_username": {"text": "me"},
        "sasl_password": {"text": "pw"},
    }
    assert settings(connection, no_secrets)["security.protocol"] == protocol
    with pytest.raises(TransientError, match=f"SECURITY PROTOCOL {protocol} is not encrypted"):
        settings({**connection, EXTERNAL_ONLY: True}, no_secrets)
