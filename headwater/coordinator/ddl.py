"""DDL: a statement and a catalog snapshot -> updates; then one transaction and convergence.

A file of `sequence/` plans one kind of statement as a pure function of a
`DdlScope`; what it returns is values.  Outside of a transaction block they are
committed at once.  Inside, they are applied to the session's private copy of the
catalog, which later statements of the block see, and committed together at COMMIT if
nobody changed the catalog meanwhile; temporary objects of other sessions may come and go.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from headwater.catalog.apply import apply
from headwater.catalog.rebase import rebased
from headwater.catalog.rights import Who
from headwater.catalog.snapshot import SessionNames
from headwater.catalog.state import SYSTEM_ROLE_ID, CatalogState, Item
from headwater.catalog.updates import DropItem, DropSchema, Requirement, Update, check, taken_sqlstate
from headwater.coordinator.api import Notice
from headwater.core.change import HIDDEN_COLUMNS
from headwater.core.errors import UserError, not_supported
from headwater.core.ids import id_number
from headwater.core.names import SessionFacts
from headwater.sources.contract import Secrets

if TYPE_CHECKING:
    from headwater.coordinator.coordinator import Coordinator

Question = Callable[[Secrets], Any]
"""Something to ask of an upstream; runs in a thread."""

NOBODY = Who(SYSTEM_ROLE_ID, "mz_system", True)
"""For what nobody typed."""
CASCADE_HINT = "Use DROP ... CASCADE to drop the dependent objects too."
RESERVED_COLUMNS = frozenset((*HIDDEN_COLUMNS, "_diff"))


@dataclass(frozen=True, slots=True)
class DdlScope:
    """What planning a DDL statement may look at."""

    state: CatalogState
    names: SessionNames
    facts: SessionFacts
    backend_pid: int
    now_ms: int
    new_item: Callable[[], tuple[str, int]]  # an id and an oid
    new_id: Callable[[str], str]  # of a database, schema or cluster
    new_oid: Callable[[], int]
    batch: str  # tables with the same one become readable together
    failure_of: Callable[[str], tuple[str, str | None] | None] = lambda ingestion_id: None
    """Why a source cannot go on and what to do, in which `{source}` stands for its name."""
    operator: bool = False  # connected to the operator's address
    answer: Any = None  # what an upstream said, for statements that ask one
    who: Who = NOBODY

    def full_name(self, item: Item) -> str:
        return self.names.full_name(item)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a DDL statement does."""

    tag: str
    updates: tuple[Update, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    notices: tuple[Notice, ...] = ()
    secret_values: Mapping[str, bytes] = field(default_factory=dict, repr=False)  # by id
    until: Callable[[Coordinator], Awaitable[None]] | None = None
    """What a statement that is not in a block waits for, once it is committed."""


@dataclass(slots=True)
class StagedDdl:
    """The DDL of a transaction block that is not committed yet."""

    base: CatalogState
    state: CatalogState
    updates: list[Update] = field(default_factory=list)
    secret_values: dict[str, bytes] = field(default_factory=dict, repr=False)

    def copy(self) -> StagedDdl:
        """As it is now, for a savepoint."""
        return StagedDdl(self.base, self.state, list(self.updates), dict(self.secret_values))

    def check(self, requirement: Requirement) -> None:
        """Against the private copy."""
        check(self.state, requirement)

    def add(self, outcome: Outcome) -> None:
        """Apply to the private copy."""
        state = self.state
        for update in outcome.updates:
            state = apply(state, update)
        self.state = replace(state, derived={})
        self.updates += outcome.updates
        self.secret_values.update(outcome.secret_values)

    def rebased(self, now: CatalogState) -> list[Update]:
        """All of it for the catalog as it is now, or 40001 when that has moved on."""
        updates = rebased(self.base, self.state, now, self.updates)
        if updates is None:
            raise UserError(
                "another session modified the catalog while this DDL transaction was open",
                "40001",
                hint="Run the transaction again.",
            )
        return updates


def drop_temporary(scope: DdlScope) -> Outcome:
    """All temporary objects of the session."""
    ids = [item.id for item in scope.state.temporary_items_of(scope.backend_pid)]
    return Outcome("DISCARD TEMP", tuple(DropItem(id_) for id_ in scope.state.drop_order(ids)))


def check_column_names(names: Sequence[str]) -> None:
    """No name twice, also not in another case: open table formats do not tell cases apart."""
    seen: dict[str, str] = {}
    for name in names:
        lowered = name.lower()
        if lowered in RESERVED_COLUMNS:
            raise UserError(f'column name "{name}" is reserved', "42939", hint="Choose another name.")
        if seen.get(lowered) == name:
            raise UserError(f'column "{name}" specified more than once', "42701")
        if lowered in seen:
            raise UserError(
                f'columns "{seen[lowered]}" and "{name}" differ only by case',
                "42701",
                detail="Stored tables are open to readers that do not tell cases apart.",
            )
        seen[lowered] = name


def already_exists(kind: str, name: str) -> Notice:
    """For IF NOT EXISTS."""
    return Notice("NOTICE", f'{kind} "{name}" already exists, skipping', taken_sqlstate(kind))


def does_not_exist(kind: str, name: str) -> Notice:
    """For IF EXISTS."""
    return Notice("NOTICE", f'{kind} "{name}" does not exist, skipping', "00000")


def cascades_to(
    scope: DdlScope, dropped: Iterable[Update], named: Collection[str] = ()
) -> tuple[Notice, ...]:
    """What goes by CASCADE besides the items that were `named`, in the order in which it depends on one
    another, a source's progress relation included."""
    texts: list[str] = []
    for update in reversed(list(dropped)):
        if isinstance(update, DropSchema):
            texts.append(f"schema {scope.names.schema_full_name(scope.state.schemas[update.id])}")
        if isinstance(update, DropItem) and update.id not in named:
            item = scope.state.items[update.id]
            texts.append(f"{item.kind} {scope.full_name(item)}")
    if len(texts) < 2:
        return tuple(Notice("NOTICE", f"drop cascades to {text}") for text in texts)
    detail = "\n".join(f"drop cascades to {text}" for text in texts)
    return (Notice("NOTICE", f"drop cascades to {len(texts)} other objects", detail=detail),)


def check_restrict(state: CatalogState, item: Item, dropped: set[str]) -> None:
    """Nothing but `dropped` depends on the item, or on the progress relation that goes with it."""
    dependents = state.dependents.get(item.id, frozenset())
    if item.progress_id is not None:
        dependents |= state.dependents[item.progress_id] - {item.id}
    for dependent_id in sorted(dependents, key=id_number):
        if dependent_id not in dropped:
            dependent = state.items[dependent_id]
            raise UserError(
                f'cannot drop {item.kind} "{item.name}": still depended upon by'
                f' {dependent.kind} "{dependent.name}"',
                "2BP01",
                hint=CASCADE_HINT,
            )


def refuse_partition_by(columns: tuple[str, ...]) -> None:
    """Rows are kept by key, whatever is asked for; who asks should not believe otherwise."""
    if columns:
        raise not_supported("PARTITION BY", hint="Leave it out: it would change nothing.")
