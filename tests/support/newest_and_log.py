"""Two tables of one topic, for tests of what becomes of both: `t` by key, `log` with every message.

A view `v` counts the rows of `t`, and is to go on whatever happens to them.
"""

from __future__ import annotations

from tests.support.mirror import Mirror
from tests.support.server import eventually

UPSERT = "KEY FORMAT TEXT VALUE FORMAT TEXT ENVELOPE UPSERT"


def tables(here: Mirror) -> None:
    here.run(
        f"CREATE TABLE t FROM SOURCE s {UPSERT}",
        "CREATE TABLE log FROM SOURCE s FORMAT TEXT",
        "CREATE VIEW v AS SELECT count(*) FROM t",
    )


def ids(here: Mirror) -> list[tuple[str, str]]:
    return here.rows(
        "SELECT o.name, o.id FROM mz_objects o JOIN mz_schemas m ON m.id = o.schema_id"
        f" WHERE m.name = '{here.schema}' ORDER BY o.name"
    )


def have(here: Mirror, keyed: list[tuple[str, str]], log: list[str]) -> None:
    """The tables come to this; reads wait while they are brought up to date."""
    eventually(lambda: here.status("s")[0] == "running")
    assert sorted(here.rows("SELECT * FROM t")) == keyed
    assert sorted(here.rows("SELECT * FROM log")) == [(line,) for line in sorted(log)]
    assert here.rows("SELECT * FROM v") == [(len(keyed),)]
