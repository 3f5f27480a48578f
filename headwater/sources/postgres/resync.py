"""A source that begins anew: with the server, the publication and the tables that are there now.

A table is tied to its upstream table by numbers: of the table, its columns, its keys and types.  A server
restored from a dump has the same tables with other numbers, and so has one where a table was created again.

    resync      what is other in the options: which server it is, and the next generation
    retied      tables, each as one of the upstream table that has its name now

What is not there as it was pinned gets a number that nothing has, or keeps its own: the check that every
table passes before it is read (facts.py) says what has become of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from headwater.core.errors import UserError
from headwater.core.export import Pinned
from headwater.sources.contract import Options, Secrets
from headwater.sources.postgres.facts import ColumnFacts, KeyFacts, TableFacts, missing_publication
from headwater.sources.postgres.inspect import inspect
from headwater.sources.postgres.silence import bounded
from headwater.sources.postgres.slot import reach

_NOTHING: Final = 0
"""The number of no column."""

_Part = Mapping[str, Any]
"""What is pinned of a column or a key."""


def resync(options: Options, secrets: Secrets) -> Options:
    """What makes a source the next generation of itself, of the server that is there now."""
    with reach(options, secrets) as control, bounded(control):
        facts = inspect(control, options["publication"], ())
    if facts.publication is None:
        hint = f'In database "{facts.database}" of the upstream: CREATE PUBLICATION ... FOR TABLE ...'
        raise UserError(missing_publication(facts.publication_name), "42704", hint=hint)
    return {"identity": facts.identity(), "generation": options.get("generation", 0) + 1}


def retied(options: Options, secrets: Secrets, tables: tuple[Pinned, ...]) -> tuple[Pinned, ...]:
    """What is pinned of tables of a source that begins anew."""
    with reach(options, secrets) as control, bounded(control):
        facts = inspect(control, options["publication"])
    named = {(table.schema, table.name): table for table in facts.tables.values()}
    found = [
        (pinned, named.get((pinned.reference["schema"], pinned.reference["table"]))) for pinned in tables
    ]
    return tuple(pinned if table is None else tied(pinned, table) for pinned, table in found)


def tied(pinned: Pinned, table: TableFacts) -> Pinned:
    """The same columns and keys, by the numbers that they have in this table."""
    same = pinned.reference["oid"] == table.oid
    there = {column.name: column for column in table.columns}
    columns = tuple(_column(column, there.get(column["name"]), same) for column in pinned.columns)
    numbers = {was["attnum"]: now["attnum"] for was, now in zip(pinned.columns, columns, strict=True)}
    return Pinned(
        columns,
        {**pinned.reference, "oid": table.oid, "relkind": table.relkind, "identity": table.identity},
        tuple(_key(key, numbers, table.keys) for key in pinned.constraints),
    )


def _column(pinned: _Part, now: ColumnFacts | None, same: bool) -> dict[str, Any]:
    """`same`: it is a column of the same table, and may be called otherwise."""
    if now is None:
        return {**pinned, "attnum": pinned["attnum"] if same else _NOTHING}
    if not pinned["text"]:
        return {**pinned, "attnum": now.attnum}
    return {**pinned, "attnum": now.attnum, "type_oid": now.type_oid, "typmod": now.typmod}


def _key(pinned: _Part, numbers: Mapping[int, int], keys: Sequence[KeyFacts]) -> dict[str, Any]:
    columns = tuple(numbers[attnum] for attnum in pinned["columns"])
    alike = [key.constraint_oid for key in keys if key.columns == columns]
    oid = pinned["oid"] if pinned["oid"] in alike or not alike else alike[0]
    return {"oid": oid, "columns": list(columns)}
