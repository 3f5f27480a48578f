"""The durable catalog: what its store promises, whichever keeps it.

    transact(requirements, updates)
        check the requirements       against the state in memory
        apply the updates            pure, `apply.py`
        one transaction              compare the version, write what differs, the audit log
        publish the new state        only now do readers see it

**The state in memory** is the truth of this process and equals what is durable, except for temporary items,
which are never written and gone when the store is opened again.

**Atomic and durable.**  A method that changes something has done so as a whole when it returns, for ever;
when it raises before its commit it
has changed nothing.  A commit of which it is not known whether it succeeded leaves this process behind: its
next change is refused, and the next start finds what is there.

**Fencing.**  One environment writes at a time (persist/lock.py).  Should there be two all the same: the
version of the catalog is compared and set in the same transaction as the changes, so the one whose state is
not the newest is refused, with an InvariantViolation, and writes nothing.  `bump_epoch` tells a later start
of the environment from an earlier one.

**Busy.**  The ledger may be kept in the same place, by other connections.  While another process writes, a
method that changes something waits for `patience_ms`, then raises MetadataBusy and has changed nothing.
Once an event loop's thread calls, that is short, and the waiting is the caller's (coordinator/patience.py).
Questions do not wait.

**Threads.**  Any thread may call; changes follow one another.

**Opening.**  The tables are made, with what a new environment has in it, or brought to this release's
version; a newer one is refused by a UserError, and so is what is damaged or somebody else's.  Whatever else
goes wrong is a UserError that says what to do.

**Failing.**  An implementation passes the failpoints `catalog.before_commit` and `catalog.after_commit` in
`transact`: tests of this contract (tests/unit/catalog/test_store.py) make it fail there.

Not here: who opens one (`opening.py`), how it is kept (`sqlite_store.py`), ids' meaning (`core/ids.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from headwater.catalog.audit import AuditEvent
from headwater.catalog.state import CatalogState
from headwater.catalog.updates import Requirement, Update
from headwater.core.errors import UserError

IdKind = Literal["item", "database", "schema", "cluster", "role"]
Sample = tuple[str, str | None, int | None]
"""(object, replica, value)."""


class MetadataBusy(UserError):
    """Another process writes to the database; nothing was changed, and another try may succeed."""


class Author(Protocol):
    """Who changes the catalog, and from where: a session, or the server itself."""

    @property
    def user(self) -> str: ...

    @property
    def address(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Named:
    """An author that is no session."""

    user: str
    address: str = ""


MZ_SYSTEM: Final = Named("mz_system")
"""Whoever nobody has asked."""


class CatalogStore(Protocol):
    """The catalog, and a few small durable facts beside it."""

    patience_ms: int
    """How long a change waits while another process writes; METADATA_BUSY_MS_MAX at first."""

    @property
    def state(self) -> CatalogState:
        """The newest state, which never changes; another one takes its place.  Asked all the time."""

    def transact(
        self, requirements: Sequence[Requirement], updates: Sequence[Update], *, by: Author | None = None
    ) -> CatalogState:
        """Apply all updates in order, or none of them; `by` is for the audit log.

        UserError if a requirement does not hold; MetadataBusy if another process writes; InvariantViolation
        if an update does not fit the state, or another process has committed since this one looked.  In all
        of these nothing has changed, here or there.
        """

    def allocate_ids(self, kind: IdKind, count: int = 1) -> tuple[str, ...]:
        """New ids of that kind, never given out again."""

    def allocate_oids(self, count: int = 1) -> tuple[int, ...]:
        """New oids, never given out again."""

    def bump_epoch(self) -> int:
        """A number larger than any earlier one: the epoch of this start of the environment."""

    def get_setting(self, name: str) -> str | None:
        """A small durable fact of some other module, by name."""

    def put_setting(self, name: str, value: str) -> None:
        """Durable when this returns."""

    def add_samples(
        self, kind: str, at_ms: int, samples: Iterable[Sample], since_ms: int, count_max: int
    ) -> None:
        """Keep numbers of objects at a moment; those before `since_ms`, or beyond so many, go."""

    def samples(self, kind: str) -> list[tuple[int, str, str | None, int | None]]:
        """(moment, object, replica, value) of all that is kept, the oldest first."""

    def audit_events(self, after_id: int = 0) -> tuple[AuditEvent, ...]:
        """The audit log from the line after `after_id` on, in order."""

    def close(self) -> None:
        """Let go of what it is kept in; the state can still be looked at."""
