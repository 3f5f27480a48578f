"""ALTER CONNECTION: change options of a connection.

ALTER CONNECTION [IF EXISTS] name
    {SET (option [=] value, ...) | RESET (option, ...) | DROP (option, ...)}, ...
    [WITH (VALIDATE [=] bool)]

RESET and DROP are the same: an option that is not set has its default, if it has one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from headwater.core.errors import UserError
from headwater.sql.connection_options import (
    ConnectionOption,
    parse_connection_options,
    parse_option_names,
    parse_validate,
    render_validate,
    without_values,
)
from headwater.sql.cursor import Cursor, Name
from headwater.sql.parts import parse_if_exists
from headwater.sql.statement import Statement

PHRASES = ("ALTER CONNECTION [IF EXISTS] <name> SET|RESET|DROP",)


@dataclass(frozen=True, slots=True)
class AlterConnection(Statement):
    """New values for the options in `set`, none for those named in `dropped`."""

    name: Name
    set: tuple[ConnectionOption, ...] = ()
    dropped: tuple[str, ...] = ()
    validate: bool | None = None
    if_exists: bool = False

    def render(self) -> str:
        condition = "IF EXISTS " if self.if_exists else ""
        actions = []
        if self.set:
            actions.append(f"SET ({', '.join(str(option) for option in self.set)})")
        if self.dropped:
            actions.append(f"DROP ({', '.join(self.dropped)})")
        return f"ALTER CONNECTION {condition}{self.name} {', '.join(actions)}{render_validate(self.validate)}"

    def shown(self, text: str) -> str:
        hidden = without_values(self.set)
        return text if hidden == self.set else replace(self, set=hidden).render()


def parse(cursor: Cursor) -> AlterConnection:
    """Parse the statement."""
    cursor.expect("ALTER", "CONNECTION")
    if_exists = parse_if_exists(cursor)
    name = cursor.name()
    options: list[ConnectionOption] = []
    dropped: list[str] = []

    def action() -> None:
        position = cursor.error_position()
        if cursor.expect_any("SET", "RESET", "DROP") == "SET":
            cursor.expect_symbol("(")
            options.extend(parse_connection_options(cursor))
            cursor.expect_symbol(")")
        else:
            dropped.extend(parse_option_names(cursor))
        _check(options, dropped, position)

    cursor.separated(action)
    return AlterConnection(name, tuple(options), tuple(dropped), parse_validate(cursor), if_exists)


def _check(options: list[ConnectionOption], dropped: list[str], position: int) -> None:
    names = [option.name for option in options]
    both = sorted(set(names) & set(dropped))
    if both:
        raise UserError(
            f"cannot both SET and DROP/RESET options {', '.join(both)}", "42601", position=position
        )
    for option in (*names, *dropped):
        if names.count(option) + dropped.count(option) > 1:
            raise UserError(f"{option} specified more than once", "42601", position=position)
