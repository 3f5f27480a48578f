"""From facts to what a table freezes: references, and pinning one of them.

    TableFacts --reference_of--> Reference --pin(TEXT, EXCLUDE COLUMNS)--> Reference

A reference lists what is there, also when it cannot be ingested; the types of columns
that are not known here stand as text in it.  Enums and domains are text, whether that is asked for or
not: their values are what they are called.  Pinning takes away excluded columns, gives
TEXT COLUMNS their type, decides how the table is kept, and refuses what cannot be
ingested, each with its own words.

How a table is kept follows from what the upstream's changes carry (replica identity):

    the key of the identity     keyed by it
    whole rows (FULL)           keyed by the primary key if it is taken, otherwise counted
    nothing                     cannot be kept

A deferrable key is no key for this: two rows may have the same one in the middle of a
transaction, and the deletion of either would take the other along.

Not here: asking (inspect.py), what happens to a pinned table later (facts.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from headwater.core.change import Discipline
from headwater.core.errors import UserError
from headwater.core.export import ODD_KEYS
from headwater.core.quoting import quoted as always
from headwater.core.relation import Column, Relation
from headwater.core.types import TEXT
from headwater.sources.column_options import check_named, named_by_both, refuse_both
from headwater.sources.contract import Absent, Pinned, Reference
from headwater.sources.postgres.facts import Facts, GeneratedFacts, KeyFacts, TableFacts
from headwater.sources.postgres.flaws import may_be_odd
from headwater.sources.postgres.types import object_type_name, sql_type

PREFIX: Final = "POSTGRES source validation: "
VERSION_GENERATED: Final = 180_000
"""Since 18 a publication may send generated columns, if they are stored."""

_Part = Mapping[str, Any]
"""What is said of a column or a key."""

_UNPINNED: Final = (
    "user",
    "usable",
    "unreadable",
    "row_security",
    "generated_key",
    "partitions",
    "unchecked",
    "heirs",
)
"""What a reference says of itself that a table does not keep."""


_HEIRS_TOLD_MAX: Final = 3
_PINNED_OF_COLUMNS: Final = ("name", "attnum", "type_oid", "typmod", "not_null", "text")


def reference_of(facts: Facts, table: TableFacts) -> Reference:
    """A published table, not pinned yet."""
    reference = {
        "oid": table.oid,
        "database": facts.database,
        "schema": table.schema,
        "table": table.name,
        "relkind": table.relkind,
        "identity": table.identity,
        "row_filter": table.row_filter,
        "left_out": [] if facts.publication is None else list(facts.publication.left_out()),
        "user": facts.user,
        "usable": table.schema_usable,
        "unreadable": [column.attnum for column in table.columns if not column.readable],
        "row_security": table.row_security,
        "generated_key": _generated_key(table),
        "unchecked": facts.unchecked,
        "partitions": [
            [part.schema, part.name, part.schema_usable, list(part.unreadable)] for part in table.partitions
        ],
        "heirs": list(table.heirs),
    }
    columns = tuple(
        {
            "name": column.name,
            "attnum": column.attnum,
            "type_oid": column.type_oid,
            "typmod": column.typmod,
            "not_null": column.not_null,
            "text": column.labelled,
            "type_name": column.type_name,
        }
        for column in table.columns
    )
    whole = Pinned(columns, reference, tuple(_key_json(key) for key in _known_keys(table)))
    made = _reference(whole, "counted" if _row_key(whole) is None else "keyed")
    return replace(made, absent=tuple(_absent(facts, column) for column in table.generated))


def _absent(facts: Facts, column: GeneratedFacts) -> Absent:
    """A generated column that the stream does not have, so that it cannot be kept in step."""
    computed = f"A view here can compute it; in the upstream it is {column.expression}."
    if not column.stored:
        return Absent(
            column.name, "it is generated whenever it is read, and PostgreSQL does not send it", computed
        )
    if facts.version < VERSION_GENERATED:
        major = facts.version // 10_000
        return Absent(
            column.name, f"it is generated, and PostgreSQL {major} does not send generated columns", computed
        )
    return Absent(
        column.name,
        f"it is generated, and publication {facts.publication_name} does not send it",
        f"In the upstream: ALTER PUBLICATION {quoted(facts.publication_name)}"
        f" SET (publish_generated_columns = stored), then create the table again. {computed}",
    )


def pin(
    reference: Reference, text_columns: Sequence[str] = (), exclude_columns: Sequence[str] = ()
) -> Reference:
    """The reference as a table takes it; UserError when it cannot be taken so."""
    whole = reference.pinned
    _check_column_options(reference, text_columns, exclude_columns)
    text, excluded = frozenset(text_columns), frozenset(exclude_columns)
    columns = tuple(
        {**column, "text": column["text"] or column["name"] in text}
        for column in whole.columns
        if column["name"] not in excluded
    )
    if not columns:
        raise UserError(
            f"{PREFIX}table {_name(whole)} has no columns to ingest",
            "55000",
            hint="Name fewer EXCLUDE COLUMNS, or publish a table with columns.",
        )
    taken = {column["attnum"] for column in columns}
    check_access([(reference, exclude_columns)])
    keys = tuple(key for key in whole.constraints if taken.issuperset(key["columns"]))
    kept = {name: value for name, value in whole.reference.items() if name not in _UNPINNED}
    pinned = Pinned(columns, kept, keys)
    row_key = _row_key(pinned)
    lost = _lost_key(whole, columns) if row_key is None else ()
    if row_key is None and kept["identity"] != "f":
        _refuse_identity(whole, lost)
    _check_types(pinned)
    if row_key is not None:
        keys = tuple(sorted(keys, key=lambda key: key is not row_key))
    pinned = Pinned(
        tuple({name: column[name] for name in _PINNED_OF_COLUMNS} for column in columns),
        kept,
        tuple({"oid": key["oid"], "columns": key["columns"]} for key in keys),
    )
    made = _reference(pinned, "counted" if row_key is None else "keyed")
    return replace(
        made,
        absent=tuple(absent for absent in reference.absent if absent.name not in excluded),
        export_options=ODD_KEYS if _may_have_odd_keys(made, whole) else (),
        remarks=_remarks(whole, lost),
    )


def _may_have_odd_keys(made: Reference, whole: Pinned) -> bool:
    """Whether some values of the key by which rows are told apart may be impossible to store."""
    unchecked, columns = whole.reference["unchecked"], made.relation.columns
    return made.discipline == "keyed" and any(
        may_be_odd(columns[place].type, unchecked or made.pinned.columns[place]["text"])
        for place in made.relation.keys[0]
    )


def _reference(pinned: Pinned, discipline: Discipline) -> Reference:
    places = {column["attnum"]: place for place, column in enumerate(pinned.columns)}
    relation = Relation(
        tuple(_column(column) for column in pinned.columns),
        tuple(
            tuple(places[attnum] for attnum in key["columns"])
            for key in pinned.constraints
            if places.keys() >= set(key["columns"])
        ),
    )
    table = pinned.reference
    return Reference((table["database"], table["schema"]), table["table"], relation, discipline, pinned)


def _column(column: _Part) -> Column:
    known = None if column["text"] else sql_type(column["type_oid"], column["typmod"])
    return Column(column["name"], known or TEXT, nullable=not column["not_null"])


# Keys


def _known_keys(table: TableFacts) -> list[KeyFacts]:
    """Constraints, and the index of the identity, as far as they make rows unique; NULLs do not."""
    not_null = {column.attnum for column in table.columns if column.not_null}
    return [
        key
        for key in table.keys
        if (key.constraint_oid is not None or key.identity)
        and (key.nulls_equal or not_null.issuperset(key.columns))
    ]


def _generated_key(table: TableFacts) -> list[str]:
    """Columns of the key of its changes that are generated, and not sent."""
    by_index = table.identity == "i"
    key = next((key for key in table.keys if (key.identity if by_index else key.primary)), None)
    return [column.name for column in table.generated if key is not None and column.attnum in key.columns]


def _key_json(key: KeyFacts) -> dict[str, Any]:
    return {
        "oid": key.constraint_oid,
        "columns": list(key.columns),
        "primary": key.primary,
        "identity": key.identity,
        "deferrable": key.deferrable,
    }


def _row_key(pinned: Pinned) -> _Part | None:
    """The key that every change of the table carries, if one is taken."""
    identity = pinned.reference["identity"]
    if identity == "n":
        return None
    wanted = "identity" if identity == "i" else "primary"
    return next((key for key in pinned.constraints if key[wanted] and not key["deferrable"]), None)


def _lost_key(pinned: Pinned, columns: Sequence[_Part]) -> tuple[str, ...]:
    """Columns of the key that every change carries which are not taken, so that there is no key here."""
    key = _row_key(pinned)
    taken = {column["attnum"] for column in columns}
    lost = set(key["columns"]) - taken if key is not None else set()
    return tuple(column["name"] for column in pinned.columns if column["attnum"] in lost)


def _remarks(pinned: Pinned, lost: Sequence[str]) -> tuple[tuple[str, str], ...]:
    remarks = []
    if lost:
        remarks.append(
            (
                f"the table has no key, as {_columns(lost)} of {_name(pinned)} {_is(lost)} left out",
                "Rows are told apart by all of their values; take the key along if they are many.",
            )
        )
    unsaid = pinned.reference["left_out"]
    if unsaid:
        remarks.append(
            (
                f"the publication does not publish {', '.join(unsaid)} of {_name(pinned)}",
                "The table will not follow such changes.",
            )
        )
    heirs = pinned.reference["heirs"]
    if heirs:
        remarks.append(
            (
                f"rows of {', '.join(heirs[:_HEIRS_TOLD_MAX])}{', ...' * (len(heirs) > _HEIRS_TOLD_MAX)}"
                f" are not rows of {_name(pinned)} here",
                "What inherits is a table of its own in the stream: create a table of each, and a view with"
                " UNION ALL.",
            )
        )
    return tuple(remarks)


# What cannot be taken


def _refuse_identity(pinned: Pinned, lost: Sequence[str]) -> None:
    """Changes do not tell which row they are about."""
    detail = f"referenced items: {_name(pinned)}"
    full = f"In the upstream: ALTER TABLE {_quoted_name(pinned)} REPLICA IDENTITY FULL"
    if lost:
        detail += f"; its changes are told by its key, of which {_columns(lost)} {_is(lost)} left out"
        full = f"Take {_columns(lost)} as well. Or, in the upstream{full.removeprefix('In the upstream')}"
    elif pinned.reference["generated_key"]:
        detail += (
            f"; its key has {_columns(pinned.reference['generated_key'])}, which is generated and not sent"
        )
    raise UserError(
        f"{PREFIX}referenced items not tables with REPLICA IDENTITY FULL", "55000", detail=detail, hint=full
    )


def _check_column_options(reference: Reference, text: Sequence[str], excluded: Sequence[str]) -> None:
    name = _full_name(reference.pinned)
    check_named(reference, text, excluded, name)
    both = [f'"{name}.{column}"' for column in named_by_both(text, excluded)]
    if both:
        raise refuse_both(f"{PREFIX}duplicated column name references: [{', '.join(both)}]")


def same_reference(was: Pinned, now: Pinned) -> bool:
    """Whether it is the same table, and not another one that has got its name."""
    return bool(was.reference["oid"] == now.reference["oid"])


def check_access(wanted: Sequence[tuple[Reference, Sequence[str]]]) -> None:
    """Whether all of these may be read, without the columns that are excluded; UserError names what not."""
    if not wanted:
        return
    schemas: dict[str, None] = {}
    tables: dict[str, None] = {}
    hidden: dict[str, None] = {}
    for reference, excluded in wanted:
        pinned = reference.pinned
        taken = [column for column in pinned.columns if column["name"] not in excluded]
        if not pinned.reference["usable"]:
            schemas[quoted(pinned.reference["schema"])] = None
        if not {column["attnum"] for column in taken}.isdisjoint(pinned.reference["unreadable"]):
            tables[_quoted_name(pinned)] = None
        for schema, name, usable, unreadable in pinned.reference["partitions"]:
            if not usable:
                schemas[quoted(schema)] = None
            if not {column["name"] for column in taken}.isdisjoint(unreadable):
                tables[f"{quoted(schema)}.{quoted(name)}"] = None
        if pinned.reference["row_security"]:
            hidden[_quoted_name(pinned)] = None
    user = quoted(wanted[0][0].pinned.reference["user"])
    _refuse_privileges(user, ", ".join(schemas), ", ".join(tables))
    if hidden:
        raise UserError(
            f"{PREFIX}one or more tables requires BYPASSRLS",
            "42501",
            detail=f"user must have BYPASSRLS attribute to read tables {', '.join(hidden)}",
            hint=f"Add the BYPASSRLS attribute to the Materialize user: ALTER ROLE {user} BYPASSRLS",
        )


def _refuse_privileges(user: str, schemas: str, tables: str) -> None:
    lacking, grants = [], []
    if schemas:
        lacking.append(f"user lacks USAGE privileges for schemas {schemas}")
        grants.append(f"GRANT USAGE ON SCHEMA {schemas} TO {user}")
    if tables:
        lacking.append(f"user lacks SELECT privileges for tables {tables}")
        grants.append(f"GRANT SELECT ON {tables} TO {user}")
    if lacking:
        raise UserError(
            f"{PREFIX}insufficient privileges",
            "42501",
            detail=" and ".join(lacking),
            hint=f"In the upstream: {'; '.join(grants)}",
        )


def _check_types(pinned: Pinned) -> None:
    unknown = [
        column
        for column in pinned.columns
        if not column["text"] and sql_type(column["type_oid"], column["typmod"]) is None
    ]
    for column in unknown:
        type_name = object_type_name(column["type_oid"])
        if type_name is not None:
            raise UserError(
                f"table {pinned.reference['table']} contains column {column['name']} of type {type_name}"
                " which Materialize cannot currently ingest",
                "0A000",
                hint=f"Remove the table or use TEXT COLUMNS ({quoted(column['name'])}, ..)"
                " to ingest this column as text",
            )
    if unknown:
        listed = ", ".join(quoted(column["name"]) for column in unknown)
        lines = [
            f"{_full_name(pinned)}.{c['name']} ({c['type_name'] or 'OID {}'.format(c['type_oid'])})"
            for c in unknown
        ]
        raise UserError(
            f"{PREFIX}referenced tables use unsupported types",
            "0A000",
            detail="\n".join(["the following columns contain unsupported types:", *lines]),
            hint=f"Use TEXT COLUMNS ({listed}) to ingest their text,"
            f" or EXCLUDE COLUMNS ({listed}) to leave them out.",
        )


# Names in messages


def _columns(names: Sequence[str]) -> str:
    return ", ".join(map(quoted, names))


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _name(pinned: Pinned) -> str:
    return f"{pinned.reference['schema']}.{pinned.reference['table']}"


def _full_name(pinned: Pinned) -> str:
    return f"{pinned.reference['database']}.{_name(pinned)}"


def _quoted_name(pinned: Pinned) -> str:
    return f"{quoted(pinned.reference['schema'])}.{quoted(pinned.reference['table'])}"


_PLAIN: Final = re.compile(r"[a-z_][a-z0-9_]*")


def quoted(name: str) -> str:
    """As it must be written in a statement."""
    return name if _PLAIN.fullmatch(name) else always(name)
