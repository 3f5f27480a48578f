"""What has happened to a table upstream that one here cannot follow, in words.

    what_happened     the facts of now against what was pinned
    what_is_said      a Relation message of the stream against it: how rows are from there on
    altered           the message that a table here ends with

The stream tells columns by their names, the catalog by their numbers too: only the latter knows that one
was renamed.  None: nothing that matters.

Not here: what the publication has to do with it (publication.py), who asks (facts.py, decode.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import TYPE_CHECKING, Any, Final

from headwater.core.types import format_type
from headwater.sources.contract import Pinned
from headwater.sources.postgres.pgoutput import RelationColumn, RelationMessage
from headwater.sources.postgres.types import sql_type

if TYPE_CHECKING:
    from headwater.sources.postgres.facts import ColumnFacts, KeyFacts, TableFacts

_NUMERIC: Final = 1700

_Part = Mapping[str, Any]
"""What is pinned of a column or a key."""


def altered(pinned: Pinned, what: str) -> str:
    """Why the table ends."""
    table, oid = pinned.reference["table"], pinned.reference["oid"]
    return f"incompatible schema change: source table {table} with oid {oid} has been altered: {what}"


def what_happened(pinned: Pinned, table: TableFacts) -> str | None:
    """What makes the upstream's table another one than was pinned."""
    moved = _moved(pinned, table.schema, table.name)
    if moved is not None:
        return moved
    # With another filter rows come and go that no change tells of.
    if pinned.reference["row_filter"] != table.row_filter:
        now = "no row filter" if table.row_filter is None else f"the row filter {table.row_filter}"
        return f"the publication has {now} for it now"
    columns = {column.attnum: column for column in table.columns}
    for column in pinned.columns:
        what = _of_column(column, columns.get(column["attnum"]), column["attnum"] in table.unpublished)
        if what is not None:
            return f"column {column['name']} {what}"
    for key in pinned.constraints:
        if not any(_same_key(key, now) for now in table.keys):
            names = {column["attnum"]: column["name"] for column in pinned.columns}
            return f"its key ({', '.join(names[attnum] for attnum in key['columns'])}) was dropped"
    return None


def what_is_said(pinned: Pinned, relation: RelationMessage, unsaid: Set[str] = frozenset()) -> str | None:
    """What makes rows of this shape others than those of the table that was pinned; `unsaid`: no matter."""
    moved = _moved(pinned, relation.namespace, relation.name)
    if moved is not None:
        return moved
    found = {column.name: column for column in relation.columns}
    for column in pinned.columns:
        what = _of_shape(column, found.get(column["name"]))
        if what is not None and column["name"] not in unsaid:
            return f"column {column['name']} {what}"
    return None


def _moved(pinned: Pinned, schema: str, name: str) -> str | None:
    same = (pinned.reference["schema"], pinned.reference["table"]) == (schema, name)
    return None if same else f"it is called {schema}.{name} now"


def _of_column(pinned: _Part, now: ColumnFacts | None, unpublished: bool) -> str | None:
    if now is None:
        return "is no longer published" if unpublished else "was dropped"
    if now.name != pinned["name"]:
        return f"is called {now.name} now"
    if pinned["not_null"] and not now.not_null:
        return "may be NULL now"
    if pinned["text"] or (pinned["type_oid"], pinned["typmod"]) == (now.type_oid, now.typmod):
        return None
    return _retyped(pinned, now.type_name or _type_name(now.type_oid, now.typmod))


def _of_shape(pinned: _Part, now: RelationColumn | None) -> str | None:
    if now is None:
        return "was dropped or renamed, or is no longer published"
    if pinned["text"] or (pinned["type_oid"], pinned["typmod"]) == (now.type_oid, now.typmod):
        return None
    return _retyped(pinned, _type_name(now.type_oid, now.typmod))


def _retyped(pinned: _Part, now: str) -> str:
    return f"has type {now} instead of {_type_name(pinned['type_oid'], pinned['typmod'])}"


def _type_name(oid: int, typmod: int) -> str:
    """As the upstream calls it, where that is known from its number."""
    if oid == _NUMERIC and typmod >= 0:  # ours has another precision
        precision, scale = ((typmod - 4) >> 16) & 0xFFFF, (((typmod - 4) & 0x7FF) ^ 0x400) - 0x400
        return f"numeric({precision},{scale})"
    known = sql_type(oid, typmod)
    return f"with OID {oid}" if known is None else format_type(known)


def _same_key(pinned: _Part, now: KeyFacts) -> bool:
    # A constraint that was dropped and made again is another one: there was a time without it.
    same_constraint = pinned["oid"] is None or pinned["oid"] == now.constraint_oid
    return same_constraint and tuple(pinned["columns"]) == now.columns
