"""A table of an upstream in facts made by hand, and what is pinned of it."""

from __future__ import annotations

from headwater.sources.contract import Export
from headwater.sources.postgres.facts import ColumnFacts, Facts, KeyFacts, PublicationFacts, TableFacts
from headwater.sources.postgres.pin import pin, reference_of

INT, TEXT, ENUM, REGCLASS = 23, 25, 20_000, 2205

TABLE = TableFacts(
    16_400,
    "public",
    "t",
    (
        ColumnFacts("id", 1, INT, not_null=True),
        ColumnFacts("mood", 2, ENUM),
        ColumnFacts("note", 4, TEXT),
        ColumnFacts("code", 5, INT, not_null=True),
    ),
    (KeyFacts((1,), 17_000, primary=True), KeyFacts((5,), 17_001)),
)


def facts_of(table: TableFacts, publication: PublicationFacts | None = None) -> Facts:
    return Facts(
        *("db", "reader", "7", 1, 150_000, "logical", False, "p"),
        publication or PublicationFacts(),
        {table.oid: table},
    )


def pinned(table: TableFacts, text: tuple[str, ...] = ("mood",), excluded: tuple[str, ...] = ()) -> Export:
    reference = pin(reference_of(facts_of(table), table), text, excluded)
    relation = reference.relation
    return Export(
        "u1",
        reference.path(),
        relation,
        relation.column_names(),
        reference.discipline,
        pinned=reference.pinned,
    )
