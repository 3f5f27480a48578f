"""A session's prepared statements, as many as one may have."""

from __future__ import annotations

from headwater.coordinator.api import Prepared
from headwater.core.errors import UserError
from headwater.core.limits import PREPARED_BYTES_MAX, PREPARED_STATEMENTS_MAX


class PreparedStatements(dict[str, Prepared]):
    """By name."""

    def __setitem__(self, name: str, prepared: Prepared) -> None:
        new = name not in self
        if new and len(self) >= PREPARED_STATEMENTS_MAX:
            raise _too_many(f"{PREPARED_STATEMENTS_MAX} prepared statements")
        if new and sum(map(_size, self.values())) + _size(prepared) > PREPARED_BYTES_MAX:
            raise _too_many(f"prepared statements of {PREPARED_BYTES_MAX >> 20} MiB")
        super().__setitem__(name, prepared)


def _size(prepared: Prepared) -> int:
    return len(prepared.parsed.text)


def _too_many(what: str) -> UserError:
    return UserError(
        f"a session cannot have more than {what}",
        "53400",
        hint="DEALLOCATE those that are not needed any more.",
    )
