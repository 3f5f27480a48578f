"""One Kafka and one schema registry for all tests of this folder; each has topics and subjects of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.kinds import install
from tests.support import kafka as brokers
from tests.support import registry as registries
from tests.support.dying import DyingServer
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


@pytest.fixture(scope="session")
def mortal_kafka() -> Iterator[KafkaServer]:
    """An upstream of two brokers that may be killed."""
    with brokers.running(brokers=2) as server:
        yield server


@pytest.fixture(scope="session")
def guarded() -> Iterator[KafkaServer]:
    """A broker that lets users do what they are granted; whoever comes without a name may do everything."""
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with brokers.running(guards=("SASL_PLAINTEXT",), users=USERS, settings=settings) as server:
        yield server


@pytest.fixture(scope="session")
def one_mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DyingServer]:
    """What `mortal_server` is; a decoder of it raises errors when it is told to (tests/kinds/planted)."""
    folder = tmp_path_factory.mktemp("mortal")
    made = DyingServer(folder, install(folder / "site", "tests.kinds.planted"))
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture
def mortal_server(one_mortal: DyingServer) -> Iterator[DyingServer]:
    """A server that may be killed and told where to die; tests of this folder share it, one after another."""
    if one_mortal.process is None:
        one_mortal.start()
    yield one_mortal
    one_mortal.disarm()


@pytest.fixture
def here(server: HeadwaterServer, kafka: KafkaServer) -> Iterator[Mirror]:
    """A schema of the shared server, and topics, for one test."""
    made = Mirror(server, kafka)
    yield made
    made.leave()
