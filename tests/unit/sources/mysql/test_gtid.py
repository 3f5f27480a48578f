"""Sets of transactions against plain sets of pairs; texts as servers print them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.sources.mysql.gtid import NUMBER_MAX, Gtid, GtidPosition, GtidSet, parse_gtids

A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
B = "5e11fa47-71ca-11e1-9e33-c80aa9429562"
SOURCES = (A, f"{A}:first", f"{A}:second", B)
TRANSACTIONS = st.sets(st.tuples(st.sampled_from(SOURCES), st.integers(1, 12)), max_size=30)
POSITIONS = st.dictionaries(
    st.sampled_from(("0", "2", "10")), st.tuples(st.integers(1, 9), st.integers(1, 3)), max_size=3
)
Pairs = set[tuple[str, int]]


def made(pairs: Pairs) -> GtidSet:
    return GtidSet().with_gtids(Gtid(*pair) for pair in pairs)


def pairs_of(gtids: GtidSet) -> Pairs:
    return {
        (source, number)
        for source, intervals in gtids.intervals.items()
        for first, last in intervals
        for number in range(first, last + 1)
    }


@given(TRANSACTIONS, TRANSACTIONS)
def test_sets_of_transactions_are_sets(one: Pairs, other: Pairs) -> None:
    a, b = made(one), made(other)
    assert pairs_of(a) == one
    assert pairs_of(a.union(b)) == one | other
    assert pairs_of(a.minus(b)) == one - other
    assert (a <= b) == (one <= other)
    assert (a == b) == (one == other)
    assert a.count() == len(one)
    assert GtidSet.parse(str(a)) == a
    for source in SOURCES:
        numbers = np.arange(1, 15)
        assert a.having(source, numbers).tolist() == [(source, number) in one for number in range(1, 15)]
        assert all((Gtid(source, number) in a) == ((source, number) in one) for number in range(1, 15))


@given(POSITIONS, POSITIONS)
def test_a_position_has_all_up_to_it_in_each_domain(
    one: dict[str, tuple[int, int]], other: dict[str, tuple[int, int]]
) -> None:
    a, b = GtidPosition(one), GtidPosition(other)
    domains = one.keys() | other.keys()
    number = {d: (one.get(d, (0, 0))[0], other.get(d, (0, 0))[0]) for d in domains}
    assert (a <= b) == all(mine <= theirs for mine, theirs in number.values())
    assert {d: last for d, (last, _) in a.union(b).last.items()} == {d: max(number[d]) for d in domains}
    assert GtidPosition.parse(str(a)) == GtidPosition({d: one[d] for d in sorted(one, key=int)})
    for domain in domains:
        told = a.having(domain, np.arange(1, 12)).tolist()
        assert told == [Gtid(domain, place, 1) in a for place in range(1, 12)]
        assert sum(told) == number[domain][0]


def test_texts_are_read_as_mysql_prints_them() -> None:
    text = f"{A}:1-3:5:first:1-2:second:9,\n{B}:1-{NUMBER_MAX}"
    found = parse_gtids("mysql", text)
    assert isinstance(found, GtidSet)
    assert found.intervals == {
        A: ((1, 3), (5, 5)),
        f"{A}:first": ((1, 2),),
        f"{A}:second": ((9, 9),),
        B: ((1, NUMBER_MAX),),
    }
    assert str(found) == text.replace("\n", "")
    assert str(parse_gtids("mysql", f" {A.upper()}:7 : 8-9:4 ")) == f"{A}:4:7-9"
    assert str(parse_gtids("mysql", A.replace("-", "") + ":1")) == f"{A}:1"
    assert str(parse_gtids("mysql", "")) == ""
    assert str(Gtid(f"{A}:tag", 5)) == f"{A}:tag:5"


def test_texts_are_read_as_mariadb_prints_them() -> None:
    found = parse_gtids("mariadb", "10-5-4,2-1-7,2-3-9")
    assert found == GtidPosition({"2": (9, 3), "10": (4, 5)})
    assert str(found) == "2-3-9,10-5-4"
    assert str(found.union(GtidPosition.parse("0-1-1,2-1-8"))) == "0-1-1,2-3-9,10-5-4"
    assert str(found.with_gtids([Gtid("2", 10, 1), Gtid("2", 11, 8)])) == "2-8-11,10-5-4"
    assert str(Gtid("2", 10, 1)) == "2-1-10"
    assert str(found.without(GtidPosition.parse("2-3-9"))) == "2-3-8,10-5-4"
    assert str(GtidPosition.parse("0-1-1,2-1-8").without(GtidPosition.parse("0-1-1"))) == "2-1-8"


@pytest.mark.parametrize(
    "text", [A, f"{A}:", f"{A}:0", f"{A}:3-1", "x:1", f"{A}:1-2-3", f"{A}:1:Ä:2", "0-1-5"]
)
def test_what_is_no_set_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"GTID set"):
        parse_gtids("mysql", text)


@pytest.mark.parametrize("text", ["0-1", "0-1-x", "5000000000-1-1", f"{A}:1", "0-1-5 6", "-1-2-3"])
def test_what_is_no_position_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no GTID"):
        parse_gtids("mariadb", text)
