"""One Kafka and one schema registry for all tests of this folder; each has topics and subjects of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import kafka as brokers
from tests.support import registry as registries
from tests.support.kafka import KafkaServer
from tests.support.mirror import Mirror
from tests.support.registry import RegistryServer
from tests.support.server import HeadwaterServer

LOG_BYTES_SHOWN = 20_000
USERS = {"reader": "let me in"}


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Any:
    """Put the log of every upstream a failed test used under its report."""
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        for name, value in getattr(item, "funcargs", {}).items():
            if isinstance(value, KafkaServer | RegistryServer):
                report.sections.append((f"log of {name}", value.log()[-LOG_BYTES_SHOWN:]))


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaServer]:
    """The upstream, with every kind of listener; user `reader`, password `let me in`."""
    guards = ("SASL_PLAINTEXT", "SSL", "SASL_SSL", brokers.PROXIED)
    with brokers.running(guards=guards, users=USERS) as server:
        yield server


@pytest.fixture(scope="session")
def registry() -> Iterator[RegistryServer]:
    """A schema registry in the clear; who makes its front slow makes it quick again."""
    with registries.running() as server:
        yield server


@pytest.fixture(scope="module")
def mortal_kafka() -> Iterator[KafkaServer]:
    """An upstream of two brokers that may be killed."""
    with brokers.running(brokers=2) as server:
        yield server


@pytest.fixture
def here(server: HeadwaterServer, kafka: KafkaServer) -> Iterator[Mirror]:
    """A schema of the shared server, and topics, for one test."""
    made = Mirror(server, kafka)
    yield made
    made.leave()
