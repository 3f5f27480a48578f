"""An upstream whose rows change their keys and leave values unsaid: its model, and what its stream says."""

from __future__ import annotations

import random

from headwater.core.change import CARRIED, DELETE, INSERT, PARTIAL
from headwater.core.relation import Column, Relation
from headwater.core.types import FLOAT8, INT8, TEXT
from tests.support.tables_of_files import Change, Row

TABLE = Relation(
    (Column("a", TEXT), Column("k", INT8), Column("b", FLOAT8), Column("l", TEXT), Column("c", TEXT)),
    ((1, 3),),
)


KEYS = [(n, letter) for n in range(4) for letter in "xy"]


VALUES = (0, 2, 4)


class Upstream:
    """A table and what its stream says, change by change."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.rows: dict[tuple[int, str], list[object]] = {}

    def value(self) -> list[object]:
        pick = self.random
        return [
            pick.choice([None, "", f"a{pick.random()}"]),
            pick.choice([0.0, -0.0, None]),
            str(pick.random()),
        ]

    def change(self, position: int, sequence: int) -> list[Change]:
        pick = self.random
        key, free = pick.choice(KEYS), [key for key in KEYS if key not in self.rows]
        unsaid = {place for place in range(3) if pick.random() < 0.6}
        if key not in self.rows:
            self.rows[key] = self.value()
            return [(INSERT, position, sequence + 1, row_of(key, self.rows[key]))]
        gone: Change = (DELETE, position, sequence, row_of(key, [None] * 3))
        what = pick.random()
        if what < 0.2:
            del self.rows[key]
            return [gone]
        to = key if what < 0.4 or not free else pick.choice(free)
        said, old = self.value(), self.rows.pop(key)
        self.rows[to] = [old[i] if i in unsaid else said[i] for i in range(3)]
        listed = ",".join(str(VALUES[place]) for place in sorted(unsaid))
        sent = row_of(to, [None if i in unsaid else said[i] for i in range(3)])
        op = INSERT
        if unsaid:
            op = f"{PARTIAL}{listed}" if to == key else f"{PARTIAL}{CARRIED}{listed}"
        came: Change = (op, position, sequence + 1, sent)
        return [came] if to == key else [gone, came]


def row_of(key: tuple[int, str], values: list[object]) -> Row:
    return (values[0], key[0], values[1], key[1], values[2])
