"""A client of the environment that a test has."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.environment import Environment
from tests.wire.plain import Plain


@pytest.fixture
def client(environment: Environment) -> Iterator[Plain]:
    made = Plain(environment)
    yield made
    made.close()
