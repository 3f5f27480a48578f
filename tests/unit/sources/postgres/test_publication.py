"""When changes of a table may be missing from the stream, judged by what the catalog shows.

Method: looks are made by hand; each case is one thing that can have happened to a table's file between two.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headwater.core.relation import Column, Relation
from headwater.core.types import INT4
from headwater.sources.contract import Export
from headwater.sources.postgres.publication import REWRITTEN, UNLOGGED, Look, Published, Stored

OID = 16_400
TABLE = Stored(OID, "public", "t", "p", 17_000, 0, 800, older=True)
PUBLISHED = frozenset(("p1.700", "n2.701"))


def export(**details: Any) -> Export:
    relation = Relation((Column("id", INT4),), ((0,),))
    pinned = {"oid": OID, "published": sorted(PUBLISHED), "files": [17_000, 0], **details}
    return Export("u1", ("d", "public", "t"), relation, ("id",), "keyed", details=pinned)


def seen(stored: Stored = TABLE, lsn: int = 1_000, xid: int = 900) -> Look:
    return Look(xid, lsn, False, {OID: PUBLISHED}, {OID: (stored,)})


def judged(
    watch: Published,
    look: Look,
    received: int = 5_000,
    truncated: dict[int, int] | None = None,
    old_rows: bool = False,
    **details: Any,
) -> str | None:
    found = watch.judge((export(**details),), look, received, truncated or {}, lambda *_: old_rows)
    return found.get("u1")


def watch() -> Published:
    """One that has looked once, when all was well."""
    made = Published("p", None)
    assert judged(made, seen()) is None
    assert made.since == 900
    return made


REPLACED = replace(TABLE, file=17_100, xid=950, older=False)


@pytest.mark.parametrize(
    ("stored", "more"),
    [
        (TABLE, {}),
        (replace(TABLE, xid=950, older=False), {}),  # GRANT, ADD COLUMN, ...
        (REPLACED, {"old_rows": True}),  # VACUUM FULL, CLUSTER
        (REPLACED, {"truncated": {OID: 950}}),
        (replace(REPLACED, file=OID), {}),
        (replace(REPLACED, file=17_200), {"files": [17_200, 0]}),
        (replace(REPLACED, toast=17_003), {"files": [17_000, 17_003]}),
    ],
    ids=["untouched", "altered", "vacuumed", "truncated", "never-rewritten", "as-pinned", "same-toast"],
)
def test_a_table_goes_on_if_its_file_is_explained(stored: Stored, more: dict[str, Any]) -> None:
    made = watch()
    assert judged(made, seen(stored, xid=960), **more) is None
    assert made.since == 960


@pytest.mark.parametrize("more", [{}, {"truncated": {OID: 940}}, {"truncated": {OID + 1: 950}}])
def test_a_table_ends_if_nothing_explains_its_file(more: dict[str, Any]) -> None:
    assert judged(watch(), seen(REPLACED), **more) == REWRITTEN


def test_a_table_that_is_unlogged_ends() -> None:
    assert judged(watch(), seen(replace(TABLE, persistence="u"))) == UNLOGGED


def test_nothing_is_judged_before_what_could_explain_it_has_arrived() -> None:
    made = watch()
    assert judged(made, seen(REPLACED, lsn=6_000, xid=960), received=5_000) is None
    assert made.since == 900, "a look that is not good yet is not remembered"
    assert judged(made, seen(REPLACED, lsn=7_000, xid=970), received=5_999) is None
    truncated = {OID: 950}
    assert judged(made, seen(REPLACED, lsn=8_000, xid=980), received=6_000, truncated=truncated) is None
    assert made.since == 980
    made = watch()
    assert judged(made, seen(REPLACED, lsn=6_000), received=5_000) is None
    assert judged(made, seen(REPLACED, lsn=7_000), received=6_000) == REWRITTEN


def test_after_a_restart_what_is_not_known_is_asked_for() -> None:
    assert judged(Published("p", 900), seen(REPLACED)) == REWRITTEN
    assert judged(Published("p", 900), seen(REPLACED), old_rows=True) is None
    assert judged(Published("p", 900), seen(replace(REPLACED, older=True))) is None


def test_a_table_that_pinned_no_identity_keeps_the_first_that_is_seen() -> None:
    made = Published("p", None)
    assert judged(made, seen(), published=None) is None
    other = replace(seen(), identities={OID: frozenset(("p1.777", "n2.701"))})
    assert 'publication "p" was altered' in str(judged(made, other, published=None))


def test_what_rises_above_a_table_matters_if_roots_are_published() -> None:
    risen = {OID: PUBLISHED | {"A16400.16500.960", "R3.640"}}
    assert judged(watch(), replace(seen(), identities=risen)) is None
    assert "taken out" in str(judged(watch(), replace(seen(), identities=risen, via_root=True)))


def test_a_file_that_was_good_while_a_transaction_was_open_is_good_after_a_restart() -> None:
    made = watch()
    held_back = seen(REPLACED, xid=940)  # the truncation is later than the oldest transaction
    assert judged(made, held_back, truncated={OID: REPLACED.xid}) is None
    assert made.recent == ((OID, REPLACED.file),)
    later = Published("p", made.since, made.recent)
    assert judged(later, held_back) is None
    assert judged(Published("p", made.since), held_back) == REWRITTEN
    assert judged(later, seen(replace(REPLACED, older=True), xid=960)) is None
    assert later.recent == ()
