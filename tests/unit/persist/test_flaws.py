"""Rows keep their flaws, column by column, through changes that say some columns only, moves and folds.

Method: as in test_carried.py, random changes against a model of plain Python rows, where some values cannot
be stored; and bags of rows without a key, some of them flawed, that come and go.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from headwater.cluster.tasks import FoldTask
from headwater.core import flaws
from headwater.core.change import CARRIED, DELETE, FLAWS, INSERT, KEY, PARTIAL, FileEntry, ReadPlan
from headwater.core.flaws import Flaw, Flaws
from headwater.core.relation import Column, Relation
from headwater.core.types import BYTEA, INT8, JSONB, TEXT
from headwater.persist.local import LocalStore
from tests.support.tables_of_files import Change, Reader, Row, write_changes

ODD = 'it\'s "a/b~c"'
COLUMNS = (Column("k", INT8), Column("a", TEXT), Column(ODD, TEXT), Column("c", TEXT))
TABLE = Relation((*COLUMNS, Column(FLAWS, TEXT)), ((0,),), FLAWS)
SHOWN = Relation((*COLUMNS, Column("lost", JSONB)), ((0,),), "lost")
NAMES = ("a", ODD, "c")
Value = tuple[bool, str]
"""(whether it can be stored, what it is)"""


def test_flaws_are_read_as_they_were_written() -> None:
    told = Flaws({ODD: Flaw("x\ny", 'no "reason"\n'), "ä": Flaw("", "")}, "0/1")
    assert flaws.from_text(flaws.to_text(told)) == told
    assert flaws.from_text(f"{flaws.to_text(told)}\n17") == replace(told, ts=17)


def row_of(key: int, values: list[Value | None], ts: int, shown: bool = False) -> Row:
    """As a file has it; None is a column that is not said."""
    bad = {name: v[1] for name, v in zip(NAMES, values, strict=True) if v is not None and not v[0]}
    text = None
    if bad and shown:
        text = json.dumps(dict(sorted(bad.items(), key=lambda one: (len(one[0].encode()), one[0]))))
    elif bad:
        told = Flaws({name: Flaw(value, "why") for name, value in bad.items()}, f"0/{ts}")
        text = f"{flaws.to_text(told)}\n{ts}"
    return (key, *(v[1] if v is not None and v[0] else None for v in values), text)


def model_row(key: int, values: list[Value]) -> Row:
    bad = tuple(sorted((name, v[1]) for name, v in zip(NAMES, values, strict=True) if not v[0]))
    return (key, *(v[1] if v[0] else None for v in values), bad)


def found_rows(reader: Reader, plan: ReadPlan, shown: bool) -> Counter[Row]:
    found: Counter[Row] = Counter()
    for *row, text in zip(*(c.to_pylist() for c in reader.table(plan).columns), strict=True):
        if text is None:
            values = {}
        elif shown:
            values = json.loads(text)
            assert text == json.dumps(values)  # as jsonb is printed
        else:
            values = {name: flaw.value for name, flaw in flaws.from_text(text).columns.items()}
        found[(*row, tuple(sorted(values.items())))] += 1
    return found


def changes_of(
    pick: random.Random, rows: dict[int, list[Value]], ts: int, sequence: int, shown: bool
) -> list[Change]:
    key = pick.randrange(6)
    said: list[Value] = [(pick.random() < 0.6, str(pick.randrange(9))) for _ in NAMES]
    gone: Change = (DELETE, ts, sequence, (key, None, None, None, None))
    if key not in rows:
        rows[key] = said
        return [(INSERT, ts, sequence + 1, row_of(key, [*said], ts, shown))]
    what, free = pick.random(), [key for key in range(6) if key not in rows]
    if what < 0.2:
        del rows[key]
        return [gone]
    to = key if what < 0.7 or not free else pick.choice(free)
    unsaid = {place for place in range(3) if pick.random() < 0.5}
    old = rows.pop(key)
    rows[to] = [old[i] if i in unsaid else said[i] for i in range(3)]
    listed = ",".join(str(place + 1) for place in sorted(unsaid))
    op = INSERT if not unsaid else PARTIAL + (CARRIED if to != key else "") + listed
    sent = row_of(to, [None if i in unsaid else said[i] for i in range(3)], ts, shown)
    came: Change = (op, ts, sequence + 1, sent)
    return [came] if to == key else [gone, came]


@pytest.mark.parametrize("shown", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_rows_have_the_flaws_of_the_values_that_they_have(tmp_path: Path, seed: int, shown: bool) -> None:
    pick, reader, relation = random.Random(seed), Reader(tmp_path), SHOWN if shown else TABLE
    rows: dict[int, list[Value]] = {}
    files: list[FileEntry] = []
    states: dict[int, tuple[FileEntry, ...]] = {0: ()}
    for ts in range(1, 8):
        changes = [c for n in range(pick.randint(1, 12)) for c in changes_of(pick, rows, ts, 2 * n, shown)]
        files.append(replace(write_changes(tmp_path, f"{ts}.parquet", relation, changes), ts=ts))
        expected = Counter(model_row(key, values) for key, values in rows.items())
        for at, state in states.items():
            tail = tuple(file for file in files if file.ts > at)
            plan = ReadPlan("u1", relation, "keyed", ts, at, state, tail)
            assert found_rows(reader, plan, shown) == expected
        if pick.random() < 0.4:
            folded = [FoldTask(LocalStore(tmp_path), "1-1", plan, i, 2, 2**28).run() for i in range(2)]
            states[ts] = tuple(file for file in folded if file.rows)
            assert sum(file.flawed for file in folded) == sum(bool(row[-1]) for row in expected)
    reader.close()


KEYED = Relation(
    (Column("k", INT8), Column("a", TEXT), Column(KEY, BYTEA), Column(FLAWS, TEXT)), ((0, 2),), FLAWS
)


def test_what_came_along_from_a_key_that_cannot_be_stored_says_nothing_of_the_new_key(tmp_path: Path) -> None:
    """Both are as new, and it was chance which of them counted."""
    reader = Reader(tmp_path)
    x, y = (f"{flaws.to_text(Flaws({'k': Flaw(name, 'why')}, '0/1'))}\n1" for name in "xy")
    before: list[Change] = [
        (INSERT, 1, 1, (None, "x" * 4_000, b"x", x)),
        (INSERT, 1, 2, (None, "y" * 4_000, b"y", y)),
    ]
    after: list[Change] = [
        (f"{PARTIAL}1", 2, 1, (None, None, b"x", x)),
        (f"{PARTIAL}1", 2, 2, (None, None, b"y", y)),
        (DELETE, 2, 3, (None, None, b"x", x)),
        (f"{PARTIAL}{CARRIED}1", 2, 4, (7, None, None, None)),
    ]
    state = write_changes(tmp_path, "1.parquet", KEYED, before)
    tail = replace(write_changes(tmp_path, "2.parquet", KEYED, after), ts=2)
    first = ReadPlan("u1", KEYED, "keyed", 1, 0, (), (replace(state, ts=1),))
    folded = FoldTask(LocalStore(tmp_path), "1-1", first, 0, 1, 2**28).run()
    plan = ReadPlan("u1", KEYED, "keyed", 2, 1, (folded,), (tail,))
    for _ in range(300):
        found = sorted(reader.table(plan).to_pylist(), key=lambda row: str(row["a"]))
        assert found[0] == {"k": 7, "a": "x" * 4_000, KEY: None, FLAWS: None}
        assert found[1] == {"k": None, "a": "y" * 4_000, KEY: b"y", FLAWS: y}
    reader.close()


BAG = Relation((Column("n", INT8), Column("a", TEXT), Column(FLAWS, TEXT)), (), FLAWS)


@pytest.mark.parametrize("seed", range(5))
def test_of_rows_without_a_key_one_that_goes_is_the_one_that_came(tmp_path: Path, seed: int) -> None:
    pick, reader = random.Random(seed), Reader(tmp_path)
    rows: list[tuple[int, Value]] = []
    files: list[FileEntry] = []
    states: dict[int, tuple[FileEntry, ...]] = {0: ()}

    def as_kept(row: tuple[int, Value], ts: int) -> Row:
        number, (good, value) = row
        told = Flaws({"a": Flaw(value, f"why {ts}")}, f"0/{ts}")
        return (number, value, None) if good else (number, None, f"{flaws.to_text(told)}\n{ts}")

    for ts in range(1, 8):
        changes: list[Change] = []
        for n in range(pick.randint(1, 10)):
            if rows and pick.random() < 0.45:
                changes.append((DELETE, ts, n, as_kept(rows.pop(pick.randrange(len(rows))), ts)))
            else:
                rows.append((pick.randrange(2), (pick.random() < 0.5, str(pick.randrange(2)))))
                changes.append((INSERT, ts, n, as_kept(rows[-1], ts)))
        files.append(replace(write_changes(tmp_path, f"{ts}.parquet", BAG, changes), ts=ts))
        expected = Counter((n, v if good else None, () if good else (("a", v),)) for n, (good, v) in rows)
        for at, state in states.items():
            tail = tuple(file for file in files if file.ts > at)
            plan = ReadPlan("u1", BAG, "counted", ts, at, state, tail)
            assert found_rows(reader, plan, False) == expected
        if pick.random() < 0.4:
            folded = [FoldTask(LocalStore(tmp_path), "1-1", plan, i, 2, 2**28).run() for i in range(2)]
            states[ts] = tuple(file for file in folded if file.rows)
    reader.close()
