"""Topics come, go and come back while a source reads all that match, and the cluster dies now and then.

Method: steps by chance, with the seed printed; an oracle that knows what was written to each topic since it
was made.  At the end every table has exactly the messages of its topic, or says that the topic has gone.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import dataclass, field

from tests.support.kafka import KafkaServer
from tests.support.mirror import Mirror
from tests.support.server import HeadwaterServer, eventually
from tests.support.several import Several

STEPS = int(os.environ.get("HEADWATER_STEPS", "40"))
PARTITIONS = 2


@dataclass
class Life:
    """A topic from when it was made to when it was deleted."""

    name: str
    there: bool = True
    written: list[str] = field(default_factory=list)


class Days:
    """What happens, and what is to come of it."""

    def __init__(self, here: Mirror, chance: random.Random) -> None:
        self.here, self.several, self.chance = here, Several(here), chance
        self.lives: dict[str, Life] = {}
        self.tables: dict[str, Life] = {}
        self.made_count = 0

    def step(self) -> None:
        doing = [self.write] * 6 + [self.table] * 3 + [self.make] * 2 + [self.delete, self.drop, self.die]
        self.chance.choice(doing)()

    def make(self) -> None:
        name = f"{self.here.schema}-{self.chance.randrange(5)}"
        if name not in self.lives:
            self.here.kafka.create_topic(name, PARTITIONS)
            self.here.topics.append(name)
            self.lives[name] = Life(name)

    def delete(self) -> None:
        if self.lives:
            name = self.chance.choice(sorted(self.lives))
            self.here.kafka.delete_topic(name)
            self.here.topics.remove(name)
            self.lives.pop(name).there = False

    def write(self) -> None:
        if self.lives:
            life = self.lives[self.chance.choice(sorted(self.lives))]
            new = [f"{len(life.written) + n}" for n in range(self.chance.randrange(1, 200))]
            rows = [(None, text.encode(), self.chance.randrange(PARTITIONS)) for text in new]
            self.here.kafka.produce(life.name, rows)
            life.written += new

    def table(self) -> None:
        if self.lives:
            life = self.lives[self.chance.choice(sorted(self.lives))]
            name = f"t{self.made_count}"
            self.made_count += 1
            self.several.table(name, life.name)
            self.tables[name] = life

    def drop(self) -> None:
        if self.tables:
            name = self.chance.choice(sorted(self.tables))
            self.here.run(f"DROP TABLE {name}")
            del self.tables[name]

    def die(self) -> None:
        self.here.server.kill_cluster()

    def check(self) -> None:
        for name, life in self.tables.items():
            if life.there:
                wanted = Counter(life.written)
                eventually(
                    lambda name=name, wanted=wanted: Counter(self.several.texts(name)) == wanted,  # type: ignore[misc]
                    within_s=60,
                )
            else:
                # Before that it may stand still, and its status names the topic as well.
                eventually(lambda name=name: self.here.status(name)[0] == "failed", within_s=60)  # type: ignore[misc]
                said = self.here.refused(f"SELECT * FROM {name}")
                assert f'topic "{life.name}" w' in said, said
        for life in self.lives.values():
            self.several.wait(life.name)


def test_tables_have_what_their_topics_have(mortal_server: HeadwaterServer, kafka: KafkaServer) -> None:
    seed = int(os.environ.get("HEADWATER_SEED", "0")) or random.randrange(1, 1_000_000)
    print(f"HEADWATER_SEED={seed}")
    here = Mirror(mortal_server, kafka)
    days = Days(here, random.Random(seed))
    days.several.matched()
    for _ in range(STEPS):
        days.step()
    days.check()
    eventually(lambda: here.status("s") == ("running", None))
    here.leave()
