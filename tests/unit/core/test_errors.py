"""Errors survive the way from a Spark task to the driver.

Method: pickle and unpickle each class with all its fields, as Spark does with a task's result
(`cluster.tasks.Failed` carries errors as values), and compare class, fields and text.
"""

from __future__ import annotations

import pickle

import pytest

from headwater.cluster.tasks import Failed
from headwater.core.errors import (
    DefiniteError,
    HeadwaterError,
    InvariantViolation,
    TransientError,
    UserError,
    not_supported,
    syntax_error,
)

ERRORS: list[tuple[HeadwaterError, dict[str, object]]] = [
    (
        UserError(
            'table "t" does not exist', "42P01", "There are two.", "Did you mean u?", 12, "COPY t, line 3"
        ),
        {
            "message": 'table "t" does not exist',
            "sqlstate": "42P01",
            "detail": "There are two.",
            "hint": "Did you mean u?",
            "position": 12,
            "context": "COPY t, line 3",
        },
    ),
    (UserError("short"), {"message": "short", "sqlstate": "XX000", "hint": None, "position": 0}),
    (TransientError("could not connect", hint="Start it."), {"hint": "Start it."}),
    (TransientError("could not connect"), {"hint": None}),
    (
        DefiniteError("public.orders", "0/3A1F", 'column "amount" became text'),
        {"reference": "public.orders", "position": "0/3A1F", "message": 'column "amount" became text'},
    ),
    (InvariantViolation("frontier went back: 2 to 1"), {}),
]


@pytest.mark.parametrize(("error", "fields"), ERRORS, ids=[type(error).__name__ for error, _ in ERRORS])
def test_an_error_comes_back_whole_from_another_process(
    error: HeadwaterError, fields: dict[str, object]
) -> None:
    back = pickle.loads(pickle.dumps(Failed(error))).error
    assert type(back) is type(error)
    assert {name: getattr(back, name) for name in fields} == fields
    assert str(back) == str(error) != ""


def test_a_person_reads_the_message_alone() -> None:
    assert str(DefiniteError("public.orders", "7", "cannot be read")) == "cannot be read"
    assert str(UserError("no such thing", "42704", "Detail.", "Hint.")) == "no such thing"


def test_the_two_common_errors_have_their_sqlstates() -> None:
    assert (syntax_error("x", 3).sqlstate, syntax_error("x", 3).position) == ("42601", 3)
    refused = not_supported("WITH TIES", hint="Use LIMIT.")
    assert (str(refused), refused.sqlstate, refused.hint) == (
        "WITH TIES not yet supported",
        "0A000",
        "Use LIMIT.",
    )
