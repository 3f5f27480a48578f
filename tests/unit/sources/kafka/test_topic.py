"""What brokers say of a topic is believed only if later ones under its name can be told from it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from confluent_kafka import Uuid

from headwater.core.errors import TransientError
from headwater.sources.kafka.connection import Admin
from headwater.sources.kafka.topic import Topic, described


def test_a_topic_without_an_id_is_not_read() -> None:
    admin = Admin({"brokers": ["127.0.0.1:1"], "security_protocol": "PLAINTEXT"}, lambda id_: b"")
    answer = {"authorized_operations": None, "partitions": [None] * 3, "is_internal": False}
    told = described(admin, "t", SimpleNamespace(topic_id=Uuid(1, 2), **answer))
    assert told == Topic("t", str(Uuid(1, 2)), 3)
    with pytest.raises(TransientError, match=r'^kafka: topic "t" has no id at "127\.0\.0\.1:1"$') as refused:
        described(admin, "t", SimpleNamespace(topic_id=Uuid(0, 0), **answer))
    assert "Kafka 2.8" in str(refused.value.hint)
