"""How much memory the statements of a role may take together: `max_statement_memory`.

    a statement's task ── memory.current ──► its role's account; None: the operator's, or the server's own
                                                 │
                         DuckDB ◄────────────────┤  if it is limited, a database of the role's own
                                                 │  (databases.py): what the account does not keep is
                                                 │  what its operators may take
        rows of writes, results that are        ◄┘  kept here, and counted while they are
        followed, changes that wait for a client

DuckDB's own limit is one of a database, and not of a query.  So whoever is limited gets a database, and the
statements of one role share it.  Spark does not tell statements apart at all: they are not run there.

An account is found by what runs, not handed from function to function: a task that a session starts has the
session's, with all that it starts itself.  So nothing can be forgotten on the way.

Not counted (docs/user/roles.md): the plan of a statement (its text is bounded instead), values that a
function has just made of one batch of rows, what the operating system keeps of files, scratch space on disk.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field

from headwater.coordinator.sizes import size_bytes
from headwater.core.errors import UserError
from headwater.core.limits import PLANNED_TEXT_RATIO

OUT_OF_MEMORY = "53200"


@dataclass(eq=False, slots=True)
class Account:
    """One role's; belongs to the event loop."""

    role: str
    limit_bytes: int  # 0: as much as there is
    _kept: dict[object, int] = field(default_factory=dict)
    kept_bytes: int = 0

    @property
    def limited(self) -> bool:
        return self.limit_bytes > 0

    @property
    def left_bytes(self) -> int:
        """What DuckDB may take."""
        return max(0, self.limit_bytes - self.kept_bytes)

    def keep(self, owner: object, size: int) -> None:
        """`owner` keeps so many bytes from now on, in place of those that it kept before."""
        before = self._kept.get(owner, 0)
        if self.limited and size > before and self.kept_bytes + size - before > self.limit_bytes:
            raise self.exceeded()
        self.kept_bytes += size - before
        if size:
            self._kept[owner] = size
        else:
            self._kept.pop(owner, None)

    def add(self, owner: object, size: int) -> None:
        """So many bytes more."""
        self.keep(owner, self._kept.get(owner, 0) + size)

    def check_text(self, character_count: int) -> None:
        """Planning a text takes several times what it is long."""
        if self.limited and character_count * PLANNED_TEXT_RATIO > self.limit_bytes:
            raise self.exceeded()

    def exceeded(self) -> UserError:
        """What whoever needs more is told."""
        limit = f"{self.limit_bytes >> 20}MB"
        return UserError(
            f'the statements of role "{self.role}" need more memory than max_statement_memory allows',
            OUT_OF_MEMORY,
            detail=f"All statements that the role runs at a time may take {limit} together.",
            hint="Select fewer rows or columns at a time, write in several transactions, or run fewer"
            " statements at once. Somebody with CREATEROLE can raise the limit:"
            f" ALTER ROLE {self.role} SET max_statement_memory = '{self.limit_bytes >> 19}MB'.",
        )


current: ContextVar[Account | None] = ContextVar("memory", default=None)
"""The account of the role for which something runs; None for the operator and for the server itself."""


def limited() -> Account | None:
    """The account of whatever runs, if it has a limit."""
    account = current.get()
    return account if account is not None and account.limited else None


class Collected:
    """Rows that a session keeps until its statement or its block has ended."""

    __slots__ = ("_account",)

    def __init__(self) -> None:
        self._account: Account | None = None

    def add(self, size: int) -> None:
        """So many bytes more; 53200 if its role may not have them."""
        account = current.get()
        if account is not None:
            self._account = account
            account.add(self, size)

    def release(self) -> None:
        """They are gone."""
        if self._account is not None:
            self._account.keep(self, 0)
            self._account = None


def away_from_spark(wanted: str) -> bool:
    """Whether what runs must stay here, because there all statements have the same memory."""
    if limited() is None:
        return False
    if wanted == "spark":
        raise UserError(
            "a role with max_statement_memory cannot run queries on Spark, which has one memory for all",
            "0A000",
            hint="SET read_engine = auto.",
        )
    return True


class Accounts:
    """By role; one stays for as long as the process, with a few numbers."""

    def __init__(self) -> None:
        self._of_role: dict[str, Account] = {}

    def of(self, role_id: str, role: str, limit: str) -> Account:
        """The account of a role that has this max_statement_memory now."""
        limit_bytes = size_bytes(limit)
        account = self._of_role.setdefault(role_id, Account(role, limit_bytes))
        account.role, account.limit_bytes = role, limit_bytes
        return account
