"""Pinning as a function of facts: what a table takes, in which order it is refused, what survives.

Method: facts made by hand, so that nothing but the function is tested; that a real server
gives such facts is tested in tests/postgres.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import UserError
from headwater.sources.contract import Export
from headwater.sources.postgres.facts import (
    ColumnFacts,
    GeneratedFacts,
    KeyFacts,
    TableFacts,
    changed,
)
from headwater.sources.postgres.pin import pin, reference_of
from tests.unit.sources.postgres.pinning import INT, REGCLASS, TABLE, TEXT, facts_of, pinned


def message(table: TableFacts, text: tuple[str, ...] = ("mood",), excluded: tuple[str, ...] = ()) -> str:
    with pytest.raises(UserError) as error:
        pinned(table, text, excluded)
    return error.value.message


def test_what_is_pinned_survives_json() -> None:
    export = pinned(TABLE)
    again = Export.from_json(json.loads(json.dumps(export.to_json())))
    assert again == export
    assert changed(again.pinned, facts_of(TABLE)) is None


def test_a_reference_lists_columns_that_it_could_not_take() -> None:
    reference = reference_of(facts_of(TABLE), TABLE)
    assert reference.relation.column_names() == ("id", "mood", "note", "code")
    assert reference.path() == ("db", "public", "t")


def test_what_is_pinned_of_columns_is_of_those_of_the_table() -> None:
    export = pinned(TABLE, ("mood",), ("note",))
    assert [column["name"] for column in export.pinned.columns] == list(export.columns)
    assert [column["attnum"] for column in export.pinned.columns] == [1, 2, 5]
    assert export.relation.keys == ((0,), (2,))


def test_the_key_of_the_discipline_comes_first() -> None:
    by_index = replace(TABLE, identity="i", keys=(TABLE.keys[0], replace(TABLE.keys[1], identity=True)))
    export = pinned(by_index)
    assert (export.discipline, export.relation.key_names()) == ("keyed", ("code",))
    assert export.relation.keys == ((3,), (0,))


def test_nulls_that_are_equal_keep_a_key_a_key() -> None:
    loose = replace(
        TABLE, keys=(TABLE.keys[0], KeyFacts((4,), 17_002), KeyFacts((2,), 17_003, nulls_equal=True))
    )
    assert pinned(loose).relation.keys == ((0,), (1,))


def test_refusals_come_in_a_fixed_order() -> None:
    """Options first, then rights, then row security, then identity, then types."""
    worst = replace(
        TABLE,
        columns=tuple(replace(column, readable=False) for column in TABLE.columns),
        schema_usable=False,
        row_security=True,
        identity="n",
    )
    assert "does not exist" in message(worst, ("nothing",))
    assert "insufficient privileges" in message(worst, ())
    worst = replace(worst, schema_usable=True, columns=TABLE.columns)
    assert "BYPASSRLS" in message(worst, ())
    worst = replace(worst, row_security=False)
    assert "REPLICA IDENTITY FULL" in message(worst, ())
    worst = replace(worst, identity="f")
    assert "unsupported types" in message(worst, ())
    assert pinned(worst).discipline == "keyed"


def test_an_object_name_is_told_of_before_other_types() -> None:
    columns = (*TABLE.columns, ColumnFacts("c", 6, REGCLASS))
    assert "of type regclass" in message(replace(TABLE, columns=columns), ())


def test_a_long_list_of_columns_is_no_trouble() -> None:
    columns = tuple(ColumnFacts(f"c{place}", place, INT, not_null=place == 1) for place in range(1, 1601))
    wide = replace(TABLE, columns=columns, keys=(KeyFacts((1,), 1, primary=True),))
    names = tuple(column.name for column in columns[1:])
    assert len(pinned(wide, names).columns) == 1600
    assert pinned(wide, (), names).columns == ("c1",)


@given(st.data())
def test_whatever_is_added_a_pinned_table_survives(data: st.DataObject) -> None:
    excluded = data.draw(st.sets(st.sampled_from(["mood", "note", "code"])))
    export = pinned(TABLE, tuple({"mood"} - excluded), tuple(excluded))
    new = data.draw(st.integers(0, 3))
    columns = [*TABLE.columns, *(ColumnFacts(f"new{n}", 10 + n, TEXT) for n in range(new))]
    kept = [c for c in columns if c.name not in excluded or data.draw(st.booleans())]
    stricter = [replace(c, not_null=c.not_null or data.draw(st.booleans())) for c in kept]
    later = replace(TABLE, columns=tuple(stricter), keys=(*TABLE.keys, KeyFacts((4,), 99)))
    assert changed(export.pinned, facts_of(later)) is None


@given(
    st.sampled_from(["id", "note", "code"]), st.sampled_from(["name", "attnum", "type_oid", "typmod", "gone"])
)
def test_no_change_of_a_column_that_is_taken_goes_unnoticed(name: str, what: str) -> None:
    export = pinned(TABLE)
    other: dict[str, Any] = {"name": "x", "attnum": 99, "type_oid": 1043, "typmod": 12}
    columns = tuple(
        replace(column, **{what: other[what]}) if column.name == name and what != "gone" else column
        for column in TABLE.columns
        if column.name != name or what != "gone"
    )
    assert "has been altered" in str(changed(export.pinned, facts_of(replace(TABLE, columns=columns))))


GENERATED = (
    GeneratedFacts("twice", 7, "(code * 2)"),
    GeneratedFacts("thrice", 8, "(code * 3)", stored=False),
)


@pytest.mark.parametrize(
    ("version", "stored", "hint"),
    [
        (150_000, "PostgreSQL 15 does not send generated columns", "A view here can compute it"),
        (180_001, "publication p does not send it", "In the upstream: ALTER PUBLICATION p SET"),
    ],
)
def test_generated_columns_that_are_not_sent_are_named_with_the_reason(
    version: int, stored: str, hint: str
) -> None:
    table = replace(TABLE, generated=GENERATED)
    reference = reference_of(replace(facts_of(table), version=version), table)
    first, second = pin(reference, ("mood",)).absent
    assert first.why == f"it is generated, and {stored}"
    assert first.hint.startswith(hint)
    assert first.hint.endswith("in the upstream it is (code * 2).")
    assert second.why == "it is generated whenever it is read, and PostgreSQL does not send it"
    assert pin(reference, ("mood",), ("twice", "thrice")).absent == ()
    with pytest.raises(UserError, match="does not exist"):
        pin(reference, ("twice",))


def test_a_key_that_is_left_out_is_named() -> None:
    with pytest.raises(UserError) as error:
        pinned(TABLE, (), ("id", "mood"))
    assert str(error.value.detail).endswith("told by its key, of which id is left out")
    full = replace(TABLE, identity="f")
    reference = pin(reference_of(facts_of(full), full), (), ("id", "mood"))
    assert reference.discipline == "counted"
    assert [text for text, _ in reference.remarks] == ["the table has no key, as id of public.t is left out"]
    generated = replace(TABLE, columns=TABLE.columns[1:], generated=(GeneratedFacts("id", 1, "1"),))
    with pytest.raises(UserError) as error:
        pinned(generated)
    assert str(error.value.detail).endswith("its key has id, which is generated and not sent")
