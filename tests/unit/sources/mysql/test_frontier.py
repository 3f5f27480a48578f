"""Where a source stands: its order, its JSON, what is shown of it."""

from __future__ import annotations

import itertools
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.sources.mysql.frontier import (
    GtidFrontier,
    Last,
    offset,
    position_from_text,
    progress_columns,
    progress_rows,
    reached,
)
from headwater.sources.mysql.gtid import parse_gtids

A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
B = "5e11fa47-71ca-11e1-9e33-c80aa9429562"
MYSQL, MARIADB = {"flavour": "mysql"}, {"flavour": "mariadb"}


def mysql(text: str) -> GtidFrontier:
    return GtidFrontier(parse_gtids("mysql", text))


def mariadb(text: str) -> GtidFrontier:
    return GtidFrontier(parse_gtids("mariadb", text))


def test_a_frontier_is_before_another_that_has_all_its_transactions() -> None:
    assert mysql(f"{A}:1-5") <= mysql(f"{A}:1-5,{B}:1")
    assert not mysql(f"{A}:1-5:7") <= mysql(f"{A}:1-6,{B}:1")
    assert mariadb("0-1-5") <= mariadb("0-2-5,3-1-1")
    assert not mariadb("0-1-5,3-1-1") <= mariadb("0-2-9")
    assert not mysql("") <= mariadb("0-1-1")
    assert not reached(mysql(""), mariadb("0-1-1"))
    assert reached(mysql(f"{A}:1-5"), mysql(f"{A}:2-3"))
    assert not reached(mysql(f"{A}:2-3"), mysql(f"{A}:1-5"))


@pytest.mark.parametrize("frontier", [mysql(f"{A}:1-5:tag:1,{B}:3:5"), mariadb("0-1-5,7-8-9"), mysql("")])
def test_json_keeps_all_of_a_frontier(frontier: GtidFrontier) -> None:
    whole = GtidFrontier(frontier.gtids, Last("any", 17, "a server", 4), 3)
    for each in (frontier, whole, whole.at(frontier.gtids)):
        assert GtidFrontier.from_json(each.to_json()) == each
    assert whole.at(frontier.gtids) == GtidFrontier(frontier.gtids, None, 3)


def test_a_position_is_written_as_the_server_shows_it() -> None:
    assert position_from_text(MYSQL, f"{A}:1-5,\n{B}:7") == mysql(f"{A}:1-5,{B}:7")
    assert position_from_text(MARIADB, "0-1-5") == mariadb("0-1-5")
    assert offset(mysql(f"{A}:1-5,{B}:7")) == 6
    for options, text, example in (
        (MYSQL, "0-1-5", f"@@gtid_executed shows them, as in {A}:1-57"),
        (MYSQL, "", "@@gtid_executed"),
        (MARIADB, f"{A}:1", "@@gtid_current_pos shows them, as in 0-1-270"),
    ):
        with pytest.raises(ValueError, match=example):
            position_from_text(options, text)


def test_progress_of_mariadb_is_the_last_of_each_domain() -> None:
    assert progress_rows(mariadb("0-1-5,7-8-9").to_json()) == [(0, 1, 5), (7, 8, 9)]
    assert progress_rows(mariadb("").to_json()) == []
    assert [column.name for column in progress_columns(MARIADB)] == [
        "domain_id", "server_id", "sequence_number",
    ]  # fmt: skip


ENDS = (str(uuid.UUID(int=0)), str(uuid.UUID(int=(1 << 128) - 1)))
UUIDS = st.one_of(
    st.sampled_from([0, 1, 2, (1 << 128) - 2, (1 << 128) - 1]), st.integers(0, (1 << 128) - 1)
).map(lambda number: str(uuid.UUID(int=number)))


@given(st.dictionaries(UUIDS, st.integers(1, 100), max_size=5))
def test_progress_of_mysql_tiles_all_servers(last: dict[str, int]) -> None:
    frontier = mysql(",".join(f"{source}:1-{number}:tag:1-7" for source, number in last.items()))
    every = progress_rows(frontier.to_json())
    assert {(low, high, number) for low, high, number, tag in every if tag == "tag"} == {
        (source, source, 8) for source in last
    }
    rows = [row[:3] for row in every if row[3] is None]
    assert len(progress_columns(MYSQL)) == len(every[0])
    assert (rows[0][0], rows[-1][1]) == ENDS
    for (_, before, _), (after, _, _) in itertools.pairwise(rows):
        assert uuid.UUID(before).int + 1 == uuid.UUID(after).int
    assert all(low <= high for low, high, _ in rows)
    assert {low: number - 1 for low, _, number in rows if number} == last
    assert all(low == high for low, high, number in rows if number)


def test_progress_of_mysql_is_behind_the_last_number() -> None:
    assert (A, A, 8, None) in progress_rows(mysql(f"{A}:1-3:6-7").to_json())
