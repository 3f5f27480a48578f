"""TEXT COLUMNS and EXCLUDE COLUMNS, for kinds whose references are tables of a database.

Such a kind pins of each column at least its `name`, and whether it is taken as `text`.

Not here: which types need it, and what is pinned besides (pin.py of each kind).
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.core.errors import UserError
from headwater.sources.contract import Pinned, Reference


def check_named(reference: Reference, text: Sequence[str], excluded: Sequence[str], full_name: str) -> None:
    """UserError unless each of the columns is there, and is named once by its option."""
    known = [column["name"] for column in reference.pinned.columns]
    absent = [column.name for column in reference.absent]  # left out anyway
    for option, columns, names in (
        ("TEXT COLUMNS", text, {*known}),
        ("EXCLUDE COLUMNS", excluded, {*known, *absent}),
    ):
        seen: set[str] = set()
        for column in columns:
            if column not in names:
                raise UserError(
                    f'invalid {option} option value: column "{reference.name}.{column}" does not exist',
                    "42703",
                    hint=f"The table has {', '.join(known)}.",
                )
            if column in seen:
                raise UserError(
                    f"invalid {option} option value: unexpected multiple references to {full_name}.{column}",
                    "42701",
                )
            seen.add(column)


def named_by_both(text: Sequence[str], excluded: Sequence[str]) -> list[str]:
    """Columns that are to be taken as text and to be left out."""
    return sorted({*text} & {*excluded})


def refuse_both(message: str) -> UserError:
    """What a kind says of such columns, in words of its own."""
    return UserError(
        message, "42701", hint="Name a column in TEXT COLUMNS or in EXCLUDE COLUMNS, not in both."
    )


def taken_as_text(pinned: Pinned) -> tuple[str, ...]:
    """The columns that were asked for as text."""
    return tuple(column["name"] for column in pinned.columns if column["text"])
