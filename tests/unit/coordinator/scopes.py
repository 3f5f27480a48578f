"""A statement's surroundings, without a session or a server."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from headwater.catalog import updates
from headwater.catalog.apply import apply
from headwater.catalog.snapshot import SessionNames
from headwater.catalog.state import CatalogState, Cluster, Database, Schema
from headwater.coordinator.ddl import DdlScope, Outcome
from headwater.coordinator.dispatch import DDL, QUESTIONS
from headwater.core.names import SessionFacts
from headwater.sql.parse import parse_statement


def scope_of(state: CatalogState, numbers: Iterator[int]) -> DdlScope:
    """In which new items get these numbers."""
    return DdlScope(
        state,
        SessionNames(state),
        SessionFacts(),
        backend_pid=7,
        now_ms=1_000,
        new_item=lambda: (f"u{next(numbers)}", 20_100),
        new_id=lambda kind: "u9",
        new_oid=lambda: 20_200,
        batch="b1",
        operator=True,
    )


class Catalog:
    """A catalog that takes statements."""

    def __init__(self) -> None:
        self.state = CatalogState(
            databases={"u1": Database("u1", 20_001, "materialize")},
            schemas={"u1": Schema("u1", 20_002, "u1", "public"), "u2": Schema("u2", 20_003, "u1", "other")},
            clusters={"u1": Cluster("u1", "quickstart", "local")},
        )
        self._numbers = itertools.count(1)

    def scope(self) -> DdlScope:
        return scope_of(self.state, self._numbers)

    def plan(self, text: str) -> Outcome:
        statement = parse_statement(text)
        scope = self.scope()
        question = QUESTIONS[type(statement)](scope, statement) if type(statement) in QUESTIONS else None
        answer = None if question is None else question(self.secrets)
        return DDL[type(statement)](replace(scope, answer=answer), statement)

    def secrets(self, id_: str) -> bytes:
        raise AssertionError(f"secret {id_} was not to be asked for")

    def run(self, *texts: str) -> Catalog:
        for text in texts:
            outcome = self.plan(text)
            for requirement in outcome.requirements:
                updates.check(self.state, requirement)
            for update in outcome.updates:
                self.state = replace(apply(self.state, update), derived={})
        return self

    def sql_of(self, name: str) -> str:
        return next(item.create_sql for item in self.state.items.values() if item.name == name)
