"""Computed values may be long and many, and the server's memory stays bounded: the statement hears of it.

Method: statements whose rows have megabytes each, in one of DuckDB's vectors, which its memory limit does not
count; the most that the server had in memory meanwhile is asked of the machine.
"""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from headwater.core.limits import ROOM_BYTES_MAX
from tests.support.server import HeadwaterServer

MADE = "SELECT repeat('a', {size} + g::int) AS x FROM generate_series(1, 100) AS g"
REFUSED = {
    "repeat": "SELECT repeat('x', 60000000 + g::int) FROM generate_series(1, 100) AS g",
    "lpad": "SELECT lpad('x', 60000000 + g::int) FROM generate_series(1, 100) AS g",
    "replace": f"SELECT length(replace(x, 'a', 'bcd')) FROM ({MADE.format(size=1_500_000)}) AS q",
    "concat": f"SELECT length(concat(x, x, x)) FROM ({MADE.format(size=1_500_000)}) AS q",
    "format": f"SELECT length(format('%s%s%s', x, x, x)) FROM ({MADE.format(size=1_500_000)}) AS q",
    "jsonb": (
        f"SELECT length(jsonb_build_object('a', x, 'b', x)::text) FROM ({MADE.format(size=2_000_000)}) AS q"
    ),
}
ENDED = {
    "string_agg": f"SELECT length(string_agg(x, ',')) FROM ({MADE.format(size=2_000_000)}) AS q",
    "jsonb_agg": f"SELECT length(jsonb_agg(x)::text) FROM ({MADE.format(size=2_000_000)}) AS q",
    "array_agg": f"SELECT length(array_agg(x)::text) FROM ({MADE.format(size=2_000_000)}) AS q",
    "||": f"SELECT sum(length(x || x)) FROM ({MADE.format(size=2_000_000)}) AS q",
}
"""Whether they are answered or too long for a function does not matter here."""


def peak_bytes(server: HeadwaterServer, sql: str) -> tuple[str, int]:
    """How a statement ended, and the most that the server had in memory meanwhile."""
    assert server.process is not None
    place = Path(f"/proc/{server.process.pid}")
    (place / "clear_refs").write_text("5")
    with server.connect() as session:
        try:
            session.execute(sql.encode()).fetchall()
            ended = "00000"
        except psycopg.Error as error:
            ended = str(error.sqlstate)
    told = (place / "status").read_text().partition("VmHWM:")[2].split()
    return ended, int(told[0]) * 1024


@pytest.mark.parametrize("name", REFUSED)
def test_rows_that_are_too_much_together_are_refused(server: HeadwaterServer, name: str) -> None:
    ended, peak = peak_bytes(server, REFUSED[name])
    assert ended == "53200"
    assert peak < ROOM_BYTES_MAX


@pytest.mark.parametrize("name", ENDED)
def test_what_is_made_of_long_rows_has_a_bound(server: HeadwaterServer, name: str) -> None:
    ended, peak = peak_bytes(server, ENDED[name])
    assert ended in ("00000", "53200", "54000")
    assert peak < ROOM_BYTES_MAX
