"""For all client tests: a schema of each module's own on the shared server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.server import HeadwaterServer


@pytest.fixture(scope="module")
def schema(server: HeadwaterServer, request: pytest.FixtureRequest) -> Iterator[str]:
    """A schema named after the module; it goes at the end with all that is in it."""
    name = request.module.__name__.rpartition(".")[2].removeprefix("test_") + "_tests"
    server.query(f"CREATE SCHEMA {name}")
    yield name
    server.query(f"DROP SCHEMA {name} CASCADE")
