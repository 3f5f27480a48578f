"""What a table of ours takes of one upstream, and what it cannot take; facts in, references or errors out.

Names, types and rights as servers tell them are tested with servers (tests/mysql/test_create.py).
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from headwater.core.errors import UserError
from headwater.sources.contract import Reference
from headwater.sources.mysql.facts import ColumnFacts, Flavour, KeyFacts, ServerFacts, TableFacts
from headwater.sources.mysql.grants import Grants
from headwater.sources.mysql.pin import Rights, check_access, check_table, pin, reference_of, same_reference

ALL = Grants.parse(["GRANT ALL PRIVILEGES ON *.* TO `u`@`%`"])
ALLOWED = Rights(ALL)
A = ColumnFacts("a", "int", "int", nullable=False, place=0)
B = ColumnFacts("b", "varchar", "varchar(5)", nullable=False, length=5, place=1)
C = ColumnFacts("c", "int", "int", place=2)
TABLE = TableFacts("s", "t", (A, B, C))
PRIMARY = KeyFacts("PRIMARY", ("a",), True)


def reference(
    table: TableFacts = TABLE,
    rights: Rights = ALLOWED,
    metadata: str = "FULL",
    flavour: Flavour = "mysql",
    version: tuple[int, int, int] = (9, 7, 0),
) -> Reference:
    server = ServerFacts(flavour, version, 1, {"binlog_row_metadata": metadata}, "u@%")
    return reference_of(server, rights, table)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ((), None),
        ((PRIMARY,), ("a",)),
        ((KeyFacts("also", ("b",)), PRIMARY), ("a",)),
        ((KeyFacts("also", ("b",)),), ("b",)),
        ((KeyFacts("nulls", ("c",)),), None),
        ((KeyFacts("both", ("b", "a")),), ("b", "a")),
    ],
)
def test_rows_are_told_apart_by_a_key_without_nulls(
    keys: tuple[KeyFacts, ...], expected: tuple[str, ...] | None
) -> None:
    made = pin(reference(replace(TABLE, keys=keys)))
    names = made.relation.column_names()
    found = tuple(names[place] for place in made.relation.keys[0]) if made.relation.keys else None
    assert found == expected
    assert made.discipline == ("counted" if expected is None else "keyed")


def test_another_key_takes_the_place_of_one_that_is_left_out() -> None:
    whole = reference(replace(TABLE, keys=(PRIMARY, KeyFacts("also", ("b",)))))
    made = pin(whole, (), ("a",))
    assert (made.discipline, made.relation.keys) == ("keyed", ((0,),))
    without = pin(whole, (), ("a", "b"))
    assert (without.discipline, without.relation.keys) == ("counted", ())
    [(text, _)] = without.remarks
    assert text == "the table has no key, as a of s.t is left out"


def test_what_foreign_keys_do_unlogged_is_remarked() -> None:
    [(text, _)] = pin(reference(replace(TABLE, cascades=("fk",)))).remarks
    assert text == "what foreign keys of s.t do to its rows is not in the upstream's log (fk)"


def test_what_is_pinned_stays_where_nothing_changes_a_value() -> None:
    """Or a table could not get more columns once others have come and gone."""
    enum = ColumnFacts("e", "enum", "enum('a')", place=3)
    before = pin(reference(replace(TABLE, columns=(A, enum))), ("e",)).pinned
    moved = (replace(enum, column_type="enum('a','b')", place=0), replace(A, place=1, invisible=True))
    after = pin(reference(replace(TABLE, columns=moved)), ("e",)).pinned
    assert [before.of_column(0), before.of_column(1)] == [after.of_column(1), after.of_column(0)]
    assert same_reference(before, after)


def refused(whole: Reference, text: tuple[str, ...] = (), excluded: tuple[str, ...] = ()) -> UserError:
    with pytest.raises(UserError) as error:
        pin(whole, text, excluded)
    return error.value


def test_types_that_are_not_known_are_told_with_a_way_out() -> None:
    columns = (A, ColumnFacts("y", "year", "year"), ColumnFacts("s", "set", "set('x')"))
    error = refused(reference(replace(TABLE, columns=columns)), ("a",))
    assert error.message == "MYSQL source validation: referenced tables use unsupported types"
    assert error.detail is not None
    assert error.detail.splitlines()[1:] == ["'int' for a.t", "'set('x')' for s.t", "'year' for y.t"]
    assert error.hint == (
        "Use TEXT COLUMNS (y) to ingest their text. Leave a out of TEXT COLUMNS: that has a type here."
        " Use EXCLUDE COLUMNS (s) to leave them out."
    )


@pytest.mark.parametrize(
    ("text", "excluded", "message"),
    [
        (("x",), (), 'invalid TEXT COLUMNS option value: column "t.x" does not exist'),
        ((), ("x",), 'invalid EXCLUDE COLUMNS option value: column "t.x" does not exist'),
        ((), ("a", "a"), "invalid EXCLUDE COLUMNS option value: unexpected multiple references to s.t.a"),
        (("a",), ("a",), 'MYSQL source validation: duplicated column name references in table s.t: ["a"]'),
        ((), ("a", "b", "c"), "MYSQL source validation: table s.t has no columns to ingest"),
    ],
)
def test_columns_that_are_named_wrongly_are_refused(
    text: tuple[str, ...], excluded: tuple[str, ...], message: str
) -> None:
    assert refused(reference(), text, excluded).message == message


def test_tables_that_cannot_be_followed_are_refused() -> None:
    memory = refused(reference(replace(TABLE, engine="MyISAM")))
    assert memory.message == "MYSQL source validation: table s.t is kept by MyISAM"
    assert memory.hint == "In the upstream: ALTER TABLE `s`.`t` ENGINE = InnoDB"
    for rights, option in (
        (Rights(ALL, left_out=frozenset({"s"})), "binlog_ignore_db"),
        (Rights(ALL, logged_only=frozenset({"other"})), "binlog_do_db"),
    ):
        error = refused(reference(rights=rights))
        assert "changes of table s.t are not in the upstream's binary log" in error.message
        assert option in str(error.detail)


def test_privileges_that_are_missing_are_told_of_all_tables_at_once() -> None:
    rights = Rights(Grants.parse(["GRANT SELECT ON `s`.`t` TO `u`@`%`"]))
    others = reference(replace(TABLE, name="other"), rights)
    with pytest.raises(UserError) as error:
        check_access([(reference(rights=rights), ()), (others, ())])
    assert error.value.message == "MYSQL source validation: User lacks required MySQL privileges"
    assert error.value.detail == (
        "Missing MySQL privileges: 'LOCK TABLES' on 's.other', 'LOCK TABLES' on 's.t', 'SELECT' on 's.other'"
    )
    assert error.value.hint == (
        "In the upstream: GRANT LOCK TABLES ON s.* TO 'u'@'%'; GRANT SELECT ON s.other TO 'u'@'%'"
    )


def test_tables_of_sources_need_the_names_of_columns_in_the_log() -> None:
    check_table(reference())
    with pytest.raises(UserError, match="'binlog_row_metadata' is set to an unsupported value: MINIMAL"):
        check_table(reference(metadata="MINIMAL"))
    with pytest.raises(UserError, match=r"The MySQL version 5\.7\.44 is unsupported"):
        check_table(reference(metadata="", version=(5, 7, 44)))
    with pytest.raises(UserError) as error:
        check_table(reference(metadata="NO_LOG", flavour="mariadb", version=(10, 11, 6)))
    assert error.value.hint == (
        "In the upstream: SET GLOBAL binlog_row_metadata = 'FULL', and the same in its option file."
    )
