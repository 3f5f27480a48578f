"""What the stream does not tell of, remembered from look to look and compared.

Rows can change upstream without a change in the stream: a partition that is attached brings some
and one that is detached, dropped or truncated takes some away; ALTER COLUMN ... TYPE ... USING writes
all values anew; a value of an enum may get another name.  Each leaves traces in the catalog that do not
go away again, also when what was done is undone:

    a partition's membership   the transaction that made its row in pg_inherits
    a table's file             TRUNCATE and rewrites give it another one
    a column                   the transaction that last wrote its row in pg_attribute
    an enum's value            its name, and the transaction that last wrote its row in pg_enum
    a composite type           its attributes, by number and type

What was seen of a table is kept with the binding before which it was looked at; a table begins with
what its snapshot shows.  It is a flat JSON object, so that a wider table's can be put together.

    differences     pure: which partitions came, went or got another file since
    rewritten ...   pure: what has become of columns and of the types of texts
    remembered      pure: what is to be kept

Not here: asking (watch.py), what one sees when a table is made (pin.py).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

Seen = Mapping[str, Any]
"""By what it is of: `published`, `part:<oid>`, `column:<name>`, `label:<oid>`, `type:<oid>`."""

LOGGED: Final = "p"
_VARCHAR: Final = 1043
_TEXT: Final = 25


@dataclass(frozen=True, slots=True)
class Part:
    """A table as a whole, or one of its partitions or theirs; by numbers of PostgreSQL's catalog."""

    oid: int
    parent: int  # 0: the table itself
    name: str
    kind: str  # as pg_class.relkind
    member: int  # the transaction that made it a part of its parent; 0: the table itself
    file: int
    altered: int  # the transaction that last wrote its row in pg_class
    altered_at: int  # and as which of its commands
    identity: str = "d"
    identity_columns: Sequence[str] = ()  # of the index that is its identity, if one was named
    toast: int = 0  # the table of its long values; 0: it can have none
    persistence: str = LOGGED
    named: bool = True  # in a publication: such a table cannot become UNLOGGED

    @property
    def full(self) -> bool:
        """Whether it can have rows of its own."""
        return self.kind == "r"

    def untouched(self) -> bool:
        """Whether it has had one file alone since it became a part, by what can be seen of it."""
        # A table's first file has its number, and to become a part is to be altered.
        return not self.full or self.file == self.oid or self.altered == self.member


@dataclass(frozen=True, slots=True)
class ColumnSight:
    """A column of a table as a whole."""

    base: int  # its type, without domains
    written: int  # the transaction that last wrote its row in pg_attribute
    written_at: int
    missing: bool  # rows from before ADD COLUMN ... DEFAULT do not have it in them
    default: int  # its row in pg_attrdef; 0: none
    rest: str  # all else that is said of it, as one word

    def to_json(self) -> list[Any]:
        return [self.base, self.written, self.missing, self.default, self.rest]


@dataclass(frozen=True, slots=True)
class Sight:
    """A table at one look."""

    parts: Mapping[int, Part]
    columns: Mapping[str, ColumnSight] | None  # None: not asked for
    texts: Mapping[str, list[str]]  # what the texts of columns with types of the upstream's own depend on
    horizon: int  # all transactions before this one had ended
    published: Sequence[str] = ()  # the rows of the catalog by which it is published


@dataclass(frozen=True, slots=True)
class Differences:
    """What became of a table's parts since they were seen."""

    gone: tuple[str, ...] = ()
    again: tuple[str, ...] = ()  # left, and became a part again
    new: tuple[Part, ...] = ()
    refiled: tuple[Part, ...] = ()


def differences(seen: Seen, parts: Mapping[int, Part]) -> Differences:
    """Which parts are not as they were seen; without anything seen all are."""
    before = {int(name[5:]): value for name, value in seen.items() if name.startswith("part:")}
    if not before:
        return Differences()
    known = [(part, before[oid]) for oid, part in parts.items() if oid in before]
    return Differences(
        tuple(name for oid, (name, *_) in before.items() if oid not in parts),
        tuple(part.name for part, (_, member, *_) in known if part.member != member),
        tuple(part for oid, part in parts.items() if oid not in before),
        tuple(part for part, (_, _, file, *_) in known if part.file != file),
    )


def horizon_of(seen: Seen, part: Part) -> int:
    """All transactions before this one had ended when the part was first seen with its file."""
    before = seen.get(f"part:{part.oid}")
    return 0 if before is None else int(before[3])


def same_toast(seen: Seen, part: Part) -> bool:
    """Whether a part has the table for long values that it had.

    ALTER TABLE that writes rows anew makes another; TRUNCATE, VACUUM FULL and CLUSTER do not.
    """
    before = seen.get(f"part:{part.oid}")
    return before is not None and part.toast != 0 and part.toast == before[4]


def emptied_by(seen: Seen, refiled: Collection[Part], touched: Collection[Part]) -> int | None:
    """The one transaction that gave all parts with rows another file, as TRUNCATE of the whole does.

    `touched` are parts that have come since, and have got another file since.
    """
    known = {int(name[5:]) for name, value in seen.items() if name.startswith("part:") and value[2]}
    writers = {part.altered for part in (*refiled, *touched)}
    return writers.pop() if len(writers) == 1 and known <= {part.oid for part in refiled} else None


def rewritten(seen: Seen, sight: Sight, table: Part, taken: Collection[str]) -> tuple[str, ...]:
    """Columns whose rows in the catalog were written since; with another file, so were their values."""
    found = []
    for name in taken:
        before, now = seen.get(f"column:{name}"), (sight.columns or {}).get(name)
        if before is None or now is None or now.written == before[1]:
            continue
        if not (before[2] and not now.missing and [now.default, now.rest] == before[3:]):
            found.append(name)
            continue
        # VACUUM FULL and CLUSTER put defaults into rows that lack them, after the new file is there.
        # ALTER COLUMN does so before, and writes the column's default anew.
        after = now.written == table.altered and now.written_at > table.altered_at
        if not now.default and not after:
            found.append(name)
    return tuple(found)


def retyped(seen: Seen, sight: Sight, texts: Collection[str]) -> tuple[str, ...]:
    """Columns of types that print the same bytes in other ways than before."""
    columns = sight.columns or {}
    return tuple(
        name
        for name in texts
        if name in columns
        and (before := seen.get(f"column:{name}")) is not None
        and _printed_as(columns[name].base) != _printed_as(before[0])
    )


def _printed_as(base: int) -> int:
    return _TEXT if base == _VARCHAR else base


def reworded(seen: Seen, sight: Sight) -> tuple[str, str] | None:
    """(before, now) of something that texts depend on and that is not as it was."""
    return next(
        ((seen[name][0], now[0]) for name, now in sight.texts.items() if name in seen and seen[name] != now),
        None,
    )


def altered_columns(sight: Sight, part: Part) -> bool:
    """Whether who gave the part its file altered columns: its rows may have been written anew for that."""
    return any(column.written == part.altered for column in (sight.columns or {}).values())


def defaulted(sight: Sight, part: Part) -> bool:
    """Whether a column came with a default that had to be written into all rows."""
    columns = (sight.columns or {}).values()
    return any(c.written == part.altered and c.default and not c.missing for c in columns)


def remembered(
    seen: Seen,
    sight: Sight,
    taken: Collection[str],
) -> dict[str, Any]:
    """What is to be kept after a look that found nothing wrong; equal to `seen` when nothing changed."""
    kept: dict[str, Any] = {"published": list(sight.published)}
    for oid, part in sight.parts.items():
        name = f"part:{oid}"
        before = seen.get(name)
        same = before is not None and before[1:3] == [part.member, part.file]
        horizon = before[3] if before is not None and same else sight.horizon
        kept[name] = [part.name, part.member, part.file, horizon, part.toast]
    for name in taken:
        column = f"column:{name}"
        if sight.columns is None:
            if column in seen:
                kept[column] = seen[column]
        elif name in sight.columns:
            kept[column] = sight.columns[name].to_json()
    return {**kept, **sight.texts}


# Why a table is read again


def _unsaid(cause: str) -> str:
    return f"{cause}, and the replication stream does not show that"


def left(part: str, table: str, again: bool = False) -> str:
    """It is no part any more, or is one anew."""
    what = "detached and attached again" if again else "detached or dropped"
    return _unsaid(f"partition {part} of {table} was {what}")


def attached(part: str, table: str) -> str:
    """It may have brought rows."""
    return _unsaid(f"partition {part}, which may have had rows, was attached to {table}")


def passed_by(table: str) -> str:
    """Somebody's rows came and went with it."""
    return _unsaid(f"a partition was attached to {table} and detached again")


def emptied_within(table: str) -> str:
    """The second TRUNCATE of one transaction leaves no trace."""
    return _unsaid(
        f"{table} was truncated and written to by one transaction,"
        " which may have truncated a partition as well"
    )


def made_within(part: str, table: str) -> str:
    """As the one before."""
    return _unsaid(
        f"partition {part} of {table} was made and written to by one transaction,"
        " which may have truncated it as well"
    )


def unlogged(part: str, table: str, now: bool) -> str:
    """Changes of the time without a log are nowhere."""
    if now:
        return _unsaid(f"{part} is UNLOGGED, so that changes of {table} are missing")
    return _unsaid(
        f"{part} was rewritten and may have been UNLOGGED, so that changes of {table} may be missing"
    )


def truncated(part: str, table: str) -> str:
    """Rows that it had may be gone."""
    return _unsaid(
        f"partition {part} of {table} was truncated on its own, or written anew with no row left that"
        " was there before"
    )


def changed_in_place(columns: Collection[str], table: str) -> str:
    """Values that we have are not those of now."""
    return _unsaid(f"values of {', '.join(columns)} in {table} were written anew (ALTER COLUMN ... TYPE)")


def renamed_between(columns: Collection[str], table: str) -> str:
    """Values came under names that other columns have now."""
    return _unsaid(
        f"columns of {table} were renamed and named back while rows were written: {', '.join(columns)}"
    )


def printed_otherwise(columns: Collection[str], table: str) -> str:
    """The same values are other texts now."""
    return _unsaid(f"{', '.join(columns)} in {table} got another type, whose values are other texts")


def named_otherwise(before: str, now: str, table: str) -> str:
    """Texts are others, by way of their type."""
    return _unsaid(f"texts in {table} changed with their type, from {before} to {now}")
