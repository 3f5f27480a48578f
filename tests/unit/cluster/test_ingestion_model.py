"""An ingestion against the plainest model of it: at every binding, every table is what the upstream was.

Method: a folder of JSON lines is the upstream (tests/kinds/lines), tasks run in this process, and the turns
of the source are taken by the test, with random writes, tables that come and go, pauses and deaths between.
A death is another incarnation over the same ledger, with whatever threads of the one before are still there.
Since a binding says how many lines of each file were read, what each table must be there is known.
"""

from __future__ import annotations

import contextlib
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from headwater.cluster.ingestion import Ingestion
from headwater.core.protocol import RunIngestion
from headwater.observe import failpoints
from headwater.persist.ledger import Ledger
from headwater.persist.opening import open_ledger
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import Export
from tests.kinds.lines import KIND, NAME, ROW
from tests.support.ingesting import shared_of
from tests.support.server import eventually
from tests.support.tables_of_files import Reader

SOURCE = "u1"
FILES = ("left", "right")


class Died(BaseException):
    """In place of a process that ends."""


class Story:
    """One source, and all that was ever written upstream."""

    def __init__(self, root: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.data_dir = root / "data"
        self.data_dir.mkdir()
        self.folder = root / "upstream"
        self.folder.mkdir()
        self.lines: dict[str, list[dict[str, Any]]] = {name: [] for name in FILES}
        for name in FILES:
            (self.folder / f"{name}.jsonl").touch()
        self.exports: dict[str, Export] = {}
        self.made = 1
        self.paused = False
        self.ledgers: list[Ledger] = []
        self.ingestion = self.incarnation()
        self.reader = Reader(self.data_dir)

    def incarnation(self) -> Ingestion:
        self.ledger = open_ledger(self.data_dir)
        self.ledgers.append(self.ledger)
        return Ingestion(shared_of(self.data_dir, self.ledger, []), self.stated(), lambda _: None)

    def stated(self) -> RunIngestion:
        options = {"connection": {"folder": str(self.folder)}, "suffix": ".jsonl", "reader": "r"}
        exports = [export.to_json() for export in self.exports.values()]
        return RunIngestion(SOURCE, NAME, options, 1_000, exports, "quickstart", self.paused)

    # What happens

    def write(self) -> None:
        name = self.chance.choice(FILES)
        with (self.folder / f"{name}.jsonl").open("a") as file:
            for _ in range(self.chance.randint(1, 4)):
                change: dict[str, Any] = {"id": self.chance.randint(1, 5)}
                if self.chance.random() < 0.7:
                    change["note"] = f"n{len(self.lines[name])}"
                self.lines[name].append(change)
                file.write(json.dumps(change) + "\n")

    def create(self) -> None:
        self.made += 1
        id_ = f"u{self.made}"
        columns = tuple(ROW.column_names())
        path = ("lines", self.chance.choice(FILES))
        self.exports[id_] = Export(id_, path, ROW, columns, "keyed")
        self.ingestion.restate(self.stated())

    def drop(self) -> None:
        if self.exports:
            del self.exports[self.chance.choice(sorted(self.exports))]
            self.ingestion.restate(self.stated())

    def pause(self) -> None:
        self.paused = not self.paused
        self.ingestion.restate(self.stated())

    def turn(self) -> None:
        self.ingestion._moment_ms += 1
        self.ingestion._turn()

    def die(self) -> None:
        """At the next failpoint of the source's thread, or where it is."""

        def dies(name: str) -> None:
            raise Died(name)

        armed = self.chance.choice(
            ("ingestion.before_append", "ingestion.after_append", "ingestion.after_join")
        )
        with pytest.MonkeyPatch.context() as patch:
            for module in ("ingestion", "backfill"):
                patch.setattr(
                    f"headwater.cluster.{module}.failpoint",
                    lambda name: dies(name) if name == armed else failpoints.failpoint(name),
                )
            with contextlib.suppress(Died):
                self.turn()
        self.ingestion.stop()
        self.ingestion = self.incarnation()

    # What must be

    def check(self) -> None:
        """Everything comes to rest, and each table was right at every binding that can be read."""
        self.paused = False
        self.ingestion.restate(self.stated())
        eventually(self.settled, within_s=60)
        bindings = self.ledger.bindings(SOURCE)
        assert [ts for ts, _ in bindings] == sorted({ts for ts, _ in bindings})
        for id_, export in self.exports.items():
            collection = self.ledger.collection(id_)
            assert collection is not None
            for ts, counts in bindings:
                if ts >= collection.since:
                    assert self.rows_at(id_, ts) == self.expected(export, counts), (id_, ts)

    def settled(self) -> bool:
        self.turn()
        found = [self.ledger.collection(id_) for id_ in self.exports]
        _, counts = self.ledger.bindings(SOURCE)[-1]
        read = all(counts.get(name, 0) == len(self.lines[name]) for name in FILES)
        return read and all(collection is not None and collection.hydrated for collection in found)

    def rows_at(self, id_: str, ts: int) -> Counter[Any]:
        return Counter(
            (row[0], row[1]) for row in self.reader.rows(self.ledger.read_plan(id_, ts)).elements()
        )

    def expected(self, export: Export, counts: dict[str, int]) -> Counter[Any]:
        name = export.reference[-1]
        rows: dict[int, str | None] = {}
        for change in self.lines[name][: counts.get(name, 0)]:
            rows[change["id"]] = change.get("note")
        return Counter((id_, note) for id_, note in rows.items() if note is not None)

    def close(self) -> None:
        self.ingestion.stop()
        self.reader.close()
        eventually(lambda: not self.ingestion.backfills.alive())
        for ledger in self.ledgers:
            ledger.close()


@pytest.mark.parametrize("seed", range(16))
def test_at_every_binding_every_table_is_what_the_upstream_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setitem(SOURCE_TYPES, NAME, KIND)
    story = Story(tmp_path, seed)
    steps = [story.write] * 4 + [story.turn] * 5 + [story.create] * 2 + [story.drop, story.pause, story.die]
    try:
        for _ in range(40):
            story.chance.choice(steps)()
        story.check()
    finally:
        story.close()
