"""Sources over several topics, for a test that has a schema and topics for itself.

several = Several(here)
several.named(a, b)                     CREATE SOURCE s over these topics
several.table("t", a)                   CREATE TABLE t over one of them
several.produce(a, [(b"k", b"v")])      also waits until the source has read it
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.support.mirror import INTERVAL, READ_S_MAX, Mirror
from tests.support.server import eventually
from tests.support.topics import Row

OFTEN = ", TOPIC METADATA REFRESH INTERVAL '1s'"


class Several:
    """A source `s` over several topics."""

    def __init__(self, here: Mirror) -> None:
        self.here = here

    def create(self, what: str, options: str = OFTEN, name: str = "s") -> None:
        self.here.run(f"CREATE SOURCE {name} FROM KAFKA CONNECTION k ({what}{options}) WITH ({INTERVAL})")

    def named(self, *topics: str, options: str = OFTEN) -> None:
        listed = ", ".join(f"'{topic}'" for topic in topics)
        self.create(f"TOPICS ({listed})", options)

    def matched(self, ending: str = "", options: str = OFTEN) -> None:
        """All topics of the test, with this at their ends."""
        self.create(f"TOPIC PATTERN '^{self.here.schema}-.*{ending}$'", options)

    def table(self, name: str, topic: str, clauses: str = "FORMAT TEXT", source: str = "s") -> None:
        self.here.run(f'CREATE TABLE {name} FROM SOURCE {source} (REFERENCE "{topic}") {clauses}')

    def offsets(self, topic: str, source: str = "s") -> dict[int, int]:
        found = self.here.rows(f"SELECT partition::text, \"offset\" FROM {source} WHERE topic = '{topic}'")
        closed = [(text, offset) for text, offset in found if text.startswith("[")]
        return {int(text[1:].partition(",")[0]): int(offset) for text, offset in closed}

    def produce(self, topic: str, rows: Iterable[Row]) -> None:
        self.here.kafka.produce(topic, rows)
        self.wait(topic)

    def wait(self, topic: str) -> None:
        ends = self.here.kafka.end_offsets(topic)
        eventually(lambda: self.offsets(topic) == ends, within_s=READ_S_MAX)

    def of_schema(self, relation: str, item: str, column: str) -> list[Any]:
        """A column of a system relation, of what is in the test's schema."""
        found = self.here.rows(
            f"SELECT r.{column} FROM {relation} r JOIN mz_objects o ON o.id = r.{item}"
            f" JOIN mz_schemas m ON m.id = o.schema_id WHERE m.name = '{self.here.schema}'"
        )
        return [value for (value,) in found]

    def texts(self, table: str) -> list[str]:
        return sorted(text for (text,) in self.here.rows(f"SELECT text FROM {table}"))
