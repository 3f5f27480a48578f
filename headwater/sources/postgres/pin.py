"""From facts to what a table freezes: references, and pinning one of them.

    TableFacts --reference_of--> Reference --pin(TEXT, EXCLUDE COLUMNS)--> Reference

A reference lists what is there, also when it cannot be ingested; the types of columns
that are not known here stand as text in it.  Pinning takes away excluded columns, gives
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
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from headwater.core.change import Discipline
from headwater.core.errors import UserError
from headwater.core.relation import Column, Relation
from headwater.core.types import TEXT
from headwater.sources.contract import Reference
from headwater.sources.postgres.facts import Facts, KeyFacts, TableFacts
from headwater.sources.postgres.types import object_type_name, sql_type

PREFIX: Final = "POSTGRES source validation: "

Details = Mapping[str, Any]

_UNPINNED: Final = ("user", "usable", "unreadable", "row_security")
"""What a reference says of itself that a table does not keep."""


def reference_of(facts: Facts, table: TableFacts) -> Reference:
    """A published table, not pinned yet."""
    details = {
        "oid": table.oid,
        "database": facts.database,
        "schema": table.schema,
        "table": table.name,
        "relkind": table.relkind,
        "identity": table.identity,
        "row_filter": table.row_filter,
        "columns": [
            {
                "name": column.name,
                "attnum": column.attnum,
                "type_oid": column.type_oid,
                "typmod": column.typmod,
                "not_null": column.not_null,
                "text": False,
            }
            for column in table.columns
        ],
        "keys": [_key_json(key) for key in _known_keys(table)],
        "user": facts.user,
        "usable": table.schema_usable,
        "unreadable": [column.attnum for column in table.columns if not column.readable],
        "row_security": table.row_security,
    }
    if facts.look is not None:
        details |= {"published": facts.look.identity(table.oid), "files": facts.look.files(table.oid)}
    return _reference(details, "counted" if _row_key(details) is None else "keyed")


def pin(
    reference: Reference, text_columns: Sequence[str] = (), exclude_columns: Sequence[str] = ()
) -> Reference:
    """The reference as a table takes it; UserError when it cannot be taken so."""
    details = reference.details
    _check_column_options(details, text_columns, exclude_columns)
    text, excluded = frozenset(text_columns), frozenset(exclude_columns)
    columns = [
        {**column, "text": column["name"] in text}
        for column in details["columns"]
        if column["name"] not in excluded
    ]
    if not columns:
        raise UserError(
            f"{PREFIX}table {_name(details)} has no columns to ingest",
            hint="Name fewer EXCLUDE COLUMNS, or publish a table with columns.",
        )
    taken = {column["attnum"] for column in columns}
    _check_privileges(details, taken)
    _check_row_security(details)
    keys = [key for key in details["keys"] if taken.issuperset(key["columns"])]
    pinned = {
        **{name: value for name, value in details.items() if name not in _UNPINNED},
        "columns": columns,
        "keys": keys,
    }
    row_key = _row_key(pinned)
    if row_key is None and details["identity"] != "f":
        raise UserError(
            f"{PREFIX}referenced items not tables with REPLICA IDENTITY FULL",
            detail=f"referenced items: {_name(details)}",
            hint=f"In the upstream: ALTER TABLE {_quoted_name(details)} REPLICA IDENTITY FULL",
        )
    _check_types(pinned)
    if row_key is not None:
        keys.sort(key=lambda key: key is not row_key)
    pinned["keys"] = [{"oid": key["oid"], "columns": key["columns"]} for key in keys]
    return _reference(pinned, "counted" if row_key is None else "keyed")


def _reference(details: dict[str, Any], discipline: Discipline) -> Reference:
    places = {column["attnum"]: place for place, column in enumerate(details["columns"])}
    relation = Relation(
        tuple(_column(column) for column in details["columns"]),
        tuple(
            tuple(places[attnum] for attnum in key["columns"])
            for key in details["keys"]
            if places.keys() >= set(key["columns"])
        ),
    )
    namespace = (details["database"], details["schema"])
    return Reference(namespace, details["table"], relation, discipline, details)


def _column(column: Details) -> Column:
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


def _key_json(key: KeyFacts) -> dict[str, Any]:
    return {
        "oid": key.constraint_oid,
        "columns": list(key.columns),
        "primary": key.primary,
        "identity": key.identity,
        "deferrable": key.deferrable,
    }


def _row_key(details: Details) -> Details | None:
    """The key that every change of the table carries, if one is taken."""
    if details["identity"] == "n":
        return None
    wanted = "identity" if details["identity"] == "i" else "primary"
    keys: list[Details] = details["keys"]
    return next((key for key in keys if key[wanted] and not key["deferrable"]), None)


# What cannot be taken


def _check_column_options(details: Details, text: Sequence[str], excluded: Sequence[str]) -> None:
    names = {column["name"] for column in details["columns"]}
    for option, columns in (("TEXT COLUMNS", text), ("EXCLUDE COLUMNS", excluded)):
        seen: set[str] = set()
        for column in columns:
            if column not in names:
                raise UserError(
                    f'invalid {option} option value: column "{details["table"]}.{column}" does not exist',
                    hint=f"The table has {', '.join(c['name'] for c in details['columns'])}.",
                )
            if column in seen:
                raise UserError(
                    f"invalid {option} option value: unexpected multiple references to"
                    f" {_full_name(details)}.{column}"
                )
            seen.add(column)
    both = [f'"{_full_name(details)}.{column}"' for column in sorted({*text} & {*excluded})]
    if both:
        raise UserError(
            f"{PREFIX}duplicated column name references: [{', '.join(both)}]",
            hint="Name a column in TEXT COLUMNS or in EXCLUDE COLUMNS, not in both.",
        )


def _check_privileges(details: Details, taken: Collection[int]) -> None:
    lacking, grants = [], []
    user = _quoted(details["user"])
    if not details["usable"]:
        lacking.append(f"user lacks USAGE privileges for schemas {details['schema']}")
        grants.append(f"GRANT USAGE ON SCHEMA {_quoted(details['schema'])} TO {user}")
    if not set(details["unreadable"]).isdisjoint(taken):
        lacking.append(f"user lacks SELECT privileges for tables {_name(details)}")
        grants.append(f"GRANT SELECT ON {_quoted_name(details)} TO {user}")
    if lacking:
        raise UserError(
            f"{PREFIX}insufficient privileges",
            detail=" and ".join(lacking),
            hint=f"In the upstream: {'; '.join(grants)}",
        )


def _check_row_security(details: Details) -> None:
    if details["row_security"]:
        raise UserError(
            f"{PREFIX}one or more tables requires BYPASSRLS",
            detail=f"user must have BYPASSRLS attribute to read tables {_name(details)}",
            hint="Add the BYPASSRLS attribute to the Materialize user:"
            f" ALTER ROLE {_quoted(details['user'])} BYPASSRLS",
        )


def _check_types(details: Details) -> None:
    unknown = [
        column
        for column in details["columns"]
        if not column["text"] and sql_type(column["type_oid"], column["typmod"]) is None
    ]
    for column in unknown:
        type_name = object_type_name(column["type_oid"])
        if type_name is not None:
            raise UserError(
                f"table {details['table']} contains column {column['name']} of type {type_name}"
                " which Materialize cannot currently ingest",
                hint=f"Remove the table or use TEXT COLUMNS ({_quoted(column['name'])}, ..)"
                " to ingest this column as text",
            )
    if unknown:
        listed = ", ".join(_quoted(column["name"]) for column in unknown)
        lines = [f"{_full_name(details)}.{c['name']} (OID {c['type_oid']})" for c in unknown]
        raise UserError(
            f"{PREFIX}referenced tables use unsupported types",
            detail="\n".join(["the following columns contain unsupported types:", *lines]),
            hint=f"Use TEXT COLUMNS ({listed}) to ingest their text,"
            f" or EXCLUDE COLUMNS ({listed}) to leave them out.",
        )


# Names in messages


def _name(details: Details) -> str:
    return f"{details['schema']}.{details['table']}"


def _full_name(details: Details) -> str:
    return f"{details['database']}.{_name(details)}"


def _quoted_name(details: Details) -> str:
    return f"{_quoted(details['schema'])}.{_quoted(details['table'])}"


_PLAIN: Final = re.compile(r"[a-z_][a-z0-9_]*")


def _quoted(name: str) -> str:
    """As it must be written in a statement."""
    return name if _PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"'
