"""From facts to what a table freezes: references, and pinning one of them.

    TableFacts --reference_of--> Reference --pin(TEXT, EXCLUDE COLUMNS)--> Reference

A reference lists what is there, also when it cannot be ingested; columns of types that are not known here
stand as text in it.  Pinning takes away excluded columns, gives TEXT COLUMNS their type, decides how the
table is kept, and refuses what cannot be ingested, each with its own words.

A table is keyed by its primary key, or else by another key that has no NULLs, if all of its columns are
taken; otherwise its rows are counted.  Keys here are equal if their bytes are, while the upstream's may be
equal in other ways ('a' and 'A', 'a' and 'a ').  That does no harm: rows with different keys there have
different ones here, and the log has whole rows of before and after, so that 'a' that becomes 'A' is one row
that goes and one that comes.

Not here: asking (inspect.py), what happens to a pinned table later (altered.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from headwater.core.change import Discipline
from headwater.core.errors import UserError
from headwater.core.quoting import backquoted
from headwater.core.relation import Column, Relation
from headwater.core.types import TEXT
from headwater.sources.column_options import check_named, named_by_both, refuse_both
from headwater.sources.contract import Pinned, Reference
from headwater.sources.mysql.facts import ENGINE, ColumnFacts, KeyFacts, ServerFacts, TableFacts
from headwater.sources.mysql.grants import Grants
from headwater.sources.mysql.server import FULL, METADATA, METADATA_VERSION_MIN
from headwater.sources.mysql.types import sql_type, text_allowed

PREFIX: Final = "MYSQL source validation: "
UNLOGGED: Final = "changes of table {} are not in the upstream's binary log"

_Part = Mapping[str, Any]
"""What is said of a column or a key."""

_PINNED: Final = ("schema", "table", "flavour", "metadata")
"""What a table keeps of what a reference says of itself."""


@dataclass(frozen=True, slots=True)
class Rights:
    """What the user may read, and what the server logs."""

    grants: Grants
    logged_only: frozenset[str] = frozenset()  # binlog_do_db
    left_out: frozenset[str] = frozenset()  # binlog_ignore_db

    def lacking(self, schema: str, table: str) -> list[str]:
        """Privileges that would be needed to read a table."""
        return [p for p in ("SELECT", "LOCK TABLES") if not self.grants.has(p, schema, table)]

    def unlogged(self, schema: str) -> str | None:
        """By which option of the server changes in a database are not logged; None: they are."""
        if schema in self.left_out:
            return "binlog_ignore_db"
        return "binlog_do_db" if self.logged_only and schema not in self.logged_only else None


def reference_of(server: ServerFacts, rights: Rights, table: TableFacts) -> Reference:
    """A base table, not pinned yet."""
    reference = {
        "schema": table.schema,
        "table": table.name,
        "flavour": server.flavour,
        "metadata": server.variables.get(METADATA, ""),
        "version": list(server.version),
        "engine": table.engine,
        "user": server.user,
        "lacking": rights.lacking(table.schema, table.name),
        "unlogged": rights.unlogged(table.schema),
        "cascades": list(table.cascades),
    }
    columns = tuple({**column.to_json(), "text": False} for column in table.columns)
    whole = Pinned(columns, reference, tuple(key.to_json() for key in _known_keys(table)))
    return _reference(whole)


def pin(
    reference: Reference, text_columns: Sequence[str] = (), exclude_columns: Sequence[str] = ()
) -> Reference:
    """The reference as a table takes it; UserError when it cannot be taken so."""
    whole = reference.pinned
    _check_column_options(reference, text_columns, exclude_columns)
    text, excluded = frozenset(text_columns), frozenset(exclude_columns)
    columns = tuple(
        _pinned(column, column["name"] in text, whole.reference["metadata"] == FULL)
        for column in whole.columns
        if column["name"] not in excluded
    )
    if not columns:
        raise UserError(
            f"{PREFIX}table {_name(whole)} has no columns to ingest",
            "55000",
            hint="Name fewer EXCLUDE COLUMNS.",
        )
    check_access([(reference, exclude_columns)])
    _check_followed(whole)
    _check_types(whole, columns)
    taken = {column["name"] for column in columns}
    pinned = Pinned(
        columns,
        {name: whole.reference[name] for name in _PINNED},
        tuple(key for key in whole.constraints if taken.issuperset(key["columns"])),
    )
    return replace(_reference(pinned), remarks=_remarks(whole, pinned))


def _pinned(column: _Part, text: bool, named: bool) -> dict[str, Any]:
    """What is kept of a column: not what may change without changing a value."""
    kept = {**column, "text": text, "invisible": False}
    if named:
        # The log says where the column is, and what its labels are.
        kept["place"] = 0
        if text and column["data_type"] == "enum":
            kept["column_type"] = "enum"
    return kept


def check_table(reference: Reference) -> None:
    """UserError unless CREATE TABLE .. FROM SOURCE can be had: it tells columns by their names."""
    said = reference.pinned.reference
    least = METADATA_VERSION_MIN[said["flavour"]]
    if tuple(said["version"]) < least:
        wanted = ".".join(map(str, least))
        raise UserError(
            f"The MySQL version {'.'.join(map(str, said['version']))} is unsupported. Materialize requires"
            f' version {wanted} or later to use the "CREATE TABLE FROM SOURCE" syntax for MySQL sources.',
            "55000",
            hint="Upgrade the upstream, or use the legacy syntax: CREATE SOURCE .. FOR TABLES (..).",
        )
    if said["metadata"] != FULL:
        how = f"SET PERSIST {METADATA} = '{FULL}'"
        if said["flavour"] == "mariadb":
            how = f"SET GLOBAL {METADATA} = '{FULL}', and the same in its option file"
        raise UserError(
            f"The MySQL system variable '{METADATA}' is set to an unsupported value: {said['metadata']}."
            f" Materialize requires this variable to be set to '{FULL}' to use the"
            ' "CREATE TABLE FROM SOURCE" syntax for MySQL sources.',
            "55000",
            hint=f"In the upstream: {how}.",
        )


def _reference(pinned: Pinned) -> Reference:
    places = {column["name"]: place for place, column in enumerate(pinned.columns)}
    relation = Relation(
        tuple(_column(column) for column in pinned.columns),
        tuple(tuple(places[name] for name in key["columns"]) for key in pinned.constraints),
    )
    discipline: Discipline = "keyed" if relation.keys else "counted"
    table = pinned.reference
    return Reference((table["schema"],), table["table"], relation, discipline, pinned)


def _column(column: _Part) -> Column:
    known = None if column["text"] else sql_type(ColumnFacts.from_json(column))
    return Column(column["name"], known or TEXT, nullable=column["nullable"])


def _known_keys(table: TableFacts) -> list[KeyFacts]:
    """Those that tell rows apart, which those with NULLs do not; the primary one first."""
    not_null = {column.name for column in table.columns if not column.nullable}
    known = [key for key in table.keys if not_null.issuperset(key.columns)]
    return sorted(known, key=lambda key: not key.primary)


def _remarks(whole: Pinned, pinned: Pinned) -> tuple[tuple[str, str], ...]:
    remarks = []
    name = _name(whole)
    if whole.constraints and not pinned.constraints:
        taken = {column["name"] for column in pinned.columns}
        lost = [column for column in whole.constraints[0]["columns"] if column not in taken]
        verb = "is" if len(lost) == 1 else "are"
        remarks.append(
            (
                f"the table has no key, as {', '.join(lost)} of {name} {verb} left out",
                "Rows are told apart by all of their values; take the key along if they are many.",
            )
        )
    if whole.reference["cascades"]:
        listed = ", ".join(whole.reference["cascades"])
        remarks.append(
            (
                f"what foreign keys of {name} do to its rows is not in the upstream's log ({listed})",
                "The table will not follow changes by ON DELETE or ON UPDATE CASCADE or SET NULL.",
            )
        )
    return tuple(remarks)


def same_reference(was: Pinned, now: Pinned) -> bool:
    """Whether it has the same name, which is all that the upstream lets us know of it."""
    return all(was.reference[part] == now.reference[part] for part in ("schema", "table"))


# What cannot be taken


def check_access(wanted: Sequence[tuple[Reference, Sequence[str]]]) -> None:
    """Whether all of these may be read; UserError names what not."""
    lacking = [
        (privilege, _name(reference.pinned))
        for reference, _ in wanted
        for privilege in reference.pinned.reference["lacking"]
    ]
    if lacking:
        refuse_privileges(wanted[0][0].pinned.reference["user"], lacking)


def refuse_privileges(user: str, lacking: Sequence[tuple[str, str]]) -> None:
    """Privileges, each with what it is lacking on."""
    by_place: dict[str, list[str]] = {}
    for privilege, on in lacking:
        # Tables can be locked by who may lock all of their database.
        on = on.rpartition(".")[0] + ".*" if privilege == "LOCK TABLES" else on
        by_place.setdefault(on, []).append(privilege)
    name, _, host = user.rpartition("@")
    account = f"'{name}'@'{host}'"
    grants = [f"GRANT {', '.join(dict.fromkeys(p))} ON {on} TO {account}" for on, p in by_place.items()]
    raise UserError(
        f"{PREFIX}User lacks required MySQL privileges",
        "42501",
        detail="Missing MySQL privileges: " + ", ".join(f"'{p}' on '{on}'" for p, on in sorted(lacking)),
        hint=f"In the upstream: {'; '.join(grants)}",
    )


def _check_followed(whole: Pinned) -> None:
    """Whether changes of the table can be read, and its rows at one moment."""
    said = whole.reference
    if said["engine"].lower() != ENGINE.lower():
        raise UserError(
            f"{PREFIX}table {_name(whole)} is kept by {said['engine'] or 'no known engine'}",
            "0A000",
            detail=f"Only tables of {ENGINE} can be read as they were at one moment.",
            hint=f"In the upstream: ALTER TABLE {_quoted(whole)} ENGINE = {ENGINE}",
        )
    if said["unlogged"]:
        raise UserError(
            f"{PREFIX}{UNLOGGED.format(_name(whole))}",
            "55000",
            detail=f"The server leaves database {said['schema']} out ({said['unlogged']}).",
            hint=f"Change {said['unlogged']} in the upstream's option file, and restart it.",
        )


def _check_column_options(reference: Reference, text: Sequence[str], excluded: Sequence[str]) -> None:
    name = _name(reference.pinned)
    check_named(reference, text, excluded, name)
    both = [f'"{column}"' for column in named_by_both(text, excluded)]
    if both:
        listed = ", ".join(both)
        raise refuse_both(f"{PREFIX}duplicated column name references in table {name}: [{listed}]")


def _check_types(whole: Pinned, columns: Sequence[_Part]) -> None:
    facts = [(column["text"], ColumnFacts.from_json(column)) for column in columns]
    unknown = [c for text, c in facts if not text_allowed(c) and (text or sql_type(c) is None)]
    needed = [c for text, c in facts if text_allowed(c) and not text and sql_type(c) is None]
    if not unknown and not needed:
        return
    lines = [
        f"'{column.column_type}' for {column.name}.{whole.reference['table']}"
        for column in (*unknown, *needed)
    ]
    hints = []
    if needed:
        hints.append(f"Use TEXT COLUMNS ({', '.join(c.name for c in needed)}) to ingest their text.")
    taken = [c.name for c in unknown if sql_type(c) is not None]
    left = [c.name for c in unknown if sql_type(c) is None]
    if taken:
        hints.append(f"Leave {', '.join(taken)} out of TEXT COLUMNS: that has a type here.")
    if left:
        hints.append(f"Use EXCLUDE COLUMNS ({', '.join(left)}) to leave them out.")
    raise UserError(
        f"{PREFIX}referenced tables use unsupported types",
        "0A000",
        detail="the following columns contain unsupported types:\n" + "\n".join(lines),
        hint=" ".join(hints),
    )


def _name(pinned: Pinned) -> str:
    return f"{pinned.reference['schema']}.{pinned.reference['table']}"


def _quoted(pinned: Pinned) -> str:
    return ".".join(backquoted(pinned.reference[part]) for part in ("schema", "table"))
