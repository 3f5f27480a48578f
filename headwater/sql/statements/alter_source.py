"""ALTER SOURCE: change an option, list the upstream's references again, or begin anew after a loss.

ALTER SOURCE [IF EXISTS] name SET (RETAIN HISTORY = FOR i) | SET (TIMESTAMP INTERVAL = i)
ALTER SOURCE [IF EXISTS] name RESET (RETAIN HISTORY) | RESET (TIMESTAMP INTERVAL)
ALTER SOURCE [IF EXISTS] name REFRESH REFERENCES
ALTER SOURCE [IF EXISTS] name RESYNC
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from headwater.core.errors import UserError, not_supported
from headwater.sql.cursor import Cursor, Name
from headwater.sql.options import Duration, OptionReader, duration, option_of, parse_options, retain_history
from headwater.sql.parts import parse_if_exists
from headwater.sql.statement import Statement
from headwater.sql.words import tree

PHRASES = ("ALTER SOURCE [IF EXISTS] <name> SET|RESET|REFRESH|RESYNC",)

_OPTIONS: Final[dict[str, OptionReader]] = {
    "RETAIN HISTORY": retain_history,
    "TIMESTAMP INTERVAL": duration,
}
_NAMES: Final = tree((name, name) for name in _OPTIONS)


@dataclass(frozen=True, slots=True)
class AlterSource(Statement):
    """One change to a source; `option` is RETAIN HISTORY or TIMESTAMP INTERVAL."""

    name: Name
    action: Literal["set", "reset", "refresh references", "resync"]
    option: str | None = None
    value: Duration | None = None
    if_exists: bool = False

    def render(self) -> str:
        action = self.action.upper()
        if self.value is not None:
            action += f" ({self.option} = {'FOR ' if self.option == 'RETAIN HISTORY' else ''}{self.value})"
        elif self.option is not None:
            action += f" ({self.option})"
        return f"ALTER SOURCE {'IF EXISTS ' if self.if_exists else ''}{self.name} {action}"


def parse(cursor: Cursor) -> AlterSource:
    """Parse the statement."""
    cursor.expect("ALTER", "SOURCE")
    if_exists = parse_if_exists(cursor)
    name = cursor.name()
    match cursor.expect_any("SET", "RESET", "REFRESH", "RESYNC"):
        case "REFRESH":
            cursor.expect("REFERENCES")
            return AlterSource(name, "refresh references", if_exists=if_exists)
        case "RESYNC":
            return AlterSource(name, "resync", if_exists=if_exists)
        case "RESET":
            position = cursor.error_position()
            names = cursor.parenthesized(lambda: cursor.choose(_NAMES))
            _refuse_several(names, position)
            return AlterSource(name, "reset", names[0], if_exists=if_exists)
        case _:
            position = cursor.error_position()
            if cursor.at_symbol("(") and cursor.peek(1).value.lower() == "publication":
                raise not_supported(
                    "ALTER SOURCE ... SET (PUBLICATION ...)",
                    hint="Make a source with the other publication and tables from it, then swap the tables.",
                    position=cursor.peek(1).start + 1,
                )
            values = parse_options(cursor, _OPTIONS)
            names = tuple(option_of(field) for field in values)
            _refuse_several(names, position)
            return AlterSource(name, "set", names[0], next(iter(values.values())), if_exists)


def _refuse_several(names: tuple[str, ...], position: int) -> None:
    if len(names) > 1:
        raise UserError(f"{names[0]} must be only option", "42601", position=position)
