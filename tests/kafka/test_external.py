"""Brokers that send us into the operator's network are not followed.

Method: a real broker that is known by one name and advertises another; resolution handed in.
"""

from __future__ import annotations

import pytest

from headwater.core.errors import TransientError
from headwater.sources import external
from headwater.sources.external import EXTERNAL_ONLY
from headwater.sources.kafka.connection import Admin
from tests.support.kafka import KafkaServer


def no_secrets(id_: str) -> bytes:
    raise AssertionError("no secret is needed")


def test_what_brokers_advertise_is_looked_at_as_well(
    kafka: KafkaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {"localhost": ["203.0.114.7"], "127.0.0.1": ["127.0.0.1"]}
    monkeypatch.setattr(external, "resolve", names.__getitem__)
    port = kafka.address().rpartition(":")[2]
    connection = {"brokers": [f"localhost:{port}"], "security_protocol": "PLAINTEXT"}
    Admin(connection, no_secrets).brokers_known()
    with pytest.raises(TransientError, match=r'host "127\.0\.0\.1" has a loopback address'):
        Admin({**connection, EXTERNAL_ONLY: True}, no_secrets).brokers_known()
