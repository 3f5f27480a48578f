"""The modes of a transaction, in BEGIN and in SET TRANSACTION."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from headwater.core.errors import not_supported
from headwater.sql.cursor import Cursor
from headwater.sql.words import tree


@dataclass(frozen=True, slots=True)
class TransactionModes:
    """Isolation in lower case (`strict serializable`), None when not said."""

    isolation: str | None = None
    read_only: bool | None = None

    def variables(self) -> Iterable[tuple[str, str]]:
        """The variables of a transaction that say the same; new ones begin with `default_` and these."""
        if self.isolation is not None:
            yield "transaction_isolation", self.isolation
        if self.read_only is not None:
            yield "transaction_read_only", "on" if self.read_only else "off"

    def __str__(self) -> str:
        modes = []
        if self.isolation is not None:
            modes.append(f"ISOLATION LEVEL {self.isolation.upper()}")
        if self.read_only is not None:
            modes.append("READ ONLY" if self.read_only else "READ WRITE")
        return ", ".join(modes)


_MODES: Final = tree(
    [
        *(
            (f"ISOLATION LEVEL {level.upper()}", ("isolation", level))
            for level in (
                "read uncommitted",
                "read committed",
                "repeatable read",
                "serializable",
                "strict serializable",
                "strong session serializable",
            )
        ),
        ("READ ONLY", ("read_only", True)),
        ("READ WRITE", ("read_only", False)),
        ("[NOT] DEFERRABLE", ("deferrable", None)),
    ]
)


def parse_transaction_modes(cursor: Cursor) -> TransactionModes:
    """`[mode [,] ...]`; a later mode wins over an earlier one, DEFERRABLE changes nothing."""
    modes: dict[str, Any] = {}
    comma = False
    while comma or not cursor.at_end():
        kind, value = cursor.choose(_MODES)
        modes[kind] = value
        comma = cursor.accept_symbol(",")
    return TransactionModes(modes.get("isolation"), modes.get("read_only"))


def parse_end_of_transaction(cursor: Cursor) -> None:
    """What may follow COMMIT and ROLLBACK, none of which changes them."""
    cursor.accept_any("WORK", "TRANSACTION")
    position = cursor.error_position()
    if cursor.accept("AND"):
        if not cursor.accept("NO", "CHAIN"):
            cursor.expect("CHAIN")
            raise not_supported("AND CHAIN", position=position)
    elif cursor.at("TO"):
        raise not_supported("ROLLBACK TO SAVEPOINT", position=position)
