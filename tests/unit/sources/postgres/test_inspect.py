"""What is wrong with a server, whichever table is wanted.

Method: facts made by hand in the place of a server's; asking a real one is tested in
tests/postgres.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from headwater.core.errors import UserError
from headwater.sources.postgres import inspect as module
from headwater.sources.postgres.facts import ColumnFacts, Facts, PublicationFacts, TableFacts

TABLE = TableFacts(16_400, "public", "t", (ColumnFacts("a", 1, 23),), identity="f")
FACTS = Facts(
    *("db", "reader", "7", 1, 150_000, "logical", False, "p"), PublicationFacts(), {TABLE.oid: TABLE}
)


def examined(monkeypatch: pytest.MonkeyPatch, facts: Facts) -> Any:
    server = SimpleNamespace(info=SimpleNamespace(server_version=facts.version))
    monkeypatch.setattr(module, "connect", lambda connection, secrets: nullcontext(server))
    monkeypatch.setattr(module, "bounded", lambda connection: nullcontext())
    monkeypatch.setattr(module, "inspect", lambda connection, publication, name=None: facts)
    return module.examine({"connection": {}, "publication": "p"}, lambda id_: b"")


def test_a_server_that_is_in_order_gives_its_references(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [reference.name for reference in examined(monkeypatch, FACTS).references] == ["t"]


@pytest.mark.parametrize(
    ("facts", "message", "detail"),
    [
        (
            replace(FACTS, wal_level="replica"),
            "server must have wal_level >= logical, but has replica",
            None,
        ),
        (
            replace(FACTS, recovering=True),
            "POSTGRES source validation: server is a physical replica",
            "PostgreSQL can decode changes on a physical replica since version 16.",
        ),
        (
            replace(FACTS, version=120_011),
            "POSTGRES source validation: PostgreSQL 12 is not supported",
            None,
        ),
        (
            replace(FACTS, publication=None),
            "failed to connect to PostgreSQL database",
            'publication "p" does not exist',
        ),
        (replace(FACTS, tables={}), "POSTGRES source validation: PUBLICATION p is empty", None),
    ],
)
def test_a_server_that_cannot_be_followed_is_refused(
    monkeypatch: pytest.MonkeyPatch, facts: Facts, message: str, detail: str | None
) -> None:
    with pytest.raises(UserError) as error:
        examined(monkeypatch, facts)
    assert (error.value.message, error.value.detail) == (message, detail)
    if detail is None or "replica" in message:
        assert error.value.hint


def test_a_replica_that_can_decode_is_as_good_as_a_primary(monkeypatch: pytest.MonkeyPatch) -> None:
    assert examined(monkeypatch, replace(FACTS, recovering=True, version=160_000)).references
