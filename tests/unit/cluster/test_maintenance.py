"""Housekeeping: whatever goes wrong with one table or source, that of the others is done.

Method: a thread of it that is not started, and steps that raise errors for one of two tables.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from headwater.cluster import maintenance
from headwater.cluster.maintenance import Maintenance
from headwater.core.errors import TransientError
from headwater.sources import SOURCE_TYPES

ERRORS = pytest.mark.parametrize(
    "error", [KeyError("nobody foresaw it"), TransientError("no room"), OSError(28)]
)


def made(done: list[Any], error: Exception) -> Maintenance:
    """What is done with `u2` is noted; with `u1` everything fails."""

    def step(*said: Any) -> Any:
        if "u1" in said:
            raise error
        done.append(said)
        return said[-1], []

    ledger = SimpleNamespace(
        upstreams=lambda: {"u1": {"source_type": "breaking", "options": {}}},
        collections=lambda: {"u1", "u2"},
        drop_writer=lambda id_: None,
        forget_bindings=step,
        tails=lambda: ["u1", "u2"],
    )
    shared: Any = SimpleNamespace(
        ledger=ledger,
        store=SimpleNamespace(remove=lambda *paths: None),
        secrets=None,
        clock=SimpleNamespace(monotonic_s=lambda: 0.0),
        forget=step,
        pinned=lambda id_: False,
        report=lambda message: done.append(message.ids),
        set_status=lambda *status: done.append(status),
    )
    return Maintenance(shared, lambda id_: False, lambda error: None)


@ERRORS
@pytest.mark.parametrize("where", ["upstream", "here"])
def test_what_cannot_be_dropped_keeps_nothing_else(
    where: str, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def drop(*said: Any) -> None:
        if "u1" in said or (where == "upstream" and "u2" not in said):
            raise error

    upstream = SimpleNamespace(drop=drop if where == "upstream" else lambda options, secrets: None)
    monkeypatch.setitem(SOURCE_TYPES, "breaking", upstream)
    monkeypatch.setattr(maintenance, "drop_collection", drop)
    done: list[Any] = []
    thread = made(done, error)
    thread.drop(["u1", "u2"])
    thread._attempt("drop", thread._drop)
    assert done == [["u2"]]
    assert thread._drops == {"u1"}, "it is tried again"


@ERRORS
def test_what_cannot_be_forgotten_keeps_nothing_else(error: Exception) -> None:
    done: list[Any] = []
    thread = made(done, error)
    thread.allow({"u1": 7, "u2": 8})
    thread._attempt("forget", thread._forget)
    assert done == [("u2", 8)]
    assert thread._since == {"u1": 7}


@ERRORS
def test_what_cannot_be_folded_says_so_and_keeps_nothing_else(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fold(shared: Any, tail: Any) -> None:
        if tail.collection_id == "u1":
            raise error
        done.append(tail.collection_id)

    monkeypatch.setattr(maintenance, "fold", fold)
    monkeypatch.setattr(
        maintenance, "due", lambda tails: [SimpleNamespace(collection_id=id_) for id_ in tails]
    )
    done: list[Any] = []
    thread = made(done, error)
    thread._attempt("fold", thread._fold)
    (status, folded) = done
    assert (status[:2], folded) == (("u1", "stalled"), "u2")
    thread._attempt("fold", thread._fold)
    assert done[2:] == ["u2"], "it is left alone for a while"
