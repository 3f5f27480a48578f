"""What came and went at one timestamp: signed rows, as DuckDB SQL.

    appended   the rows of the change files
    counted    the same, with their signs
    keyed      of each key that a change mentions: the row of now, and that of before with a minus
    any        where a file resets: all rows of before go

The rows of a keyed table are those of combine.py, before and now, so that a follower and a reader cannot
come to differ.

Not here: whose turn it is, and what is netted (coordinator/hubs.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.core.change import DELETE, INSERT, OP, SEQUENCE, TICK, FileEntry, ReadPlan
from headwater.core.quoting import quoted
from headwater.persist.combine import relation_sql, scan_files
from headwater.persist.keys import same_key
from headwater.persist.store import DataStore

DIFF = "_diff"


def signed_sql(before: ReadPlan, now: ReadPlan, files: Sequence[FileEntry], store: DataStore) -> str:
    """Rows with DIFF, 1 or -1, of what these change files make of the table."""
    listed = ", ".join(map(quoted, before.relation.column_names()))
    came = [file for file in files if file.rows]
    gone = f"SELECT {listed}, -1 AS {DIFF} FROM {relation_sql(before, store)} AS s"
    resets = any(file.resets for file in files)
    if not came:
        return gone if resets else f"{gone} WHERE false"
    scan = scan_files(store, came)
    if before.discipline != "keyed":
        sign = f"CASE WHEN {OP} = '{DELETE}' THEN -1 ELSE 1 END"
        signed = f"SELECT {listed}, {sign} AS {DIFF} FROM {scan}"
        return f"{signed} UNION ALL {gone}" if resets else signed
    keys = [quoted(name) for name in before.relation.key_names()]
    touched = "" if resets else f" SEMI JOIN tick ON {same_key('s', 'tick', keys)}"
    if any(file.partials for file in files):
        # Not all is in the files of this timestamp.
        tick = f"SELECT DISTINCT {', '.join(keys)} FROM {scan}"
        there = f"SELECT {listed}, 1 AS {DIFF} FROM {relation_sql(now, store)} AS s{touched}"
    else:
        tick = (
            f"SELECT {listed}, {OP} FROM {scan} QUALIFY row_number() OVER"
            f" (PARTITION BY {', '.join(keys)} ORDER BY {TICK} DESC, {SEQUENCE} DESC) = 1"
        )
        there = f"SELECT {listed}, 1 AS {DIFF} FROM tick WHERE {OP} = '{INSERT}'"
    return f"WITH tick AS MATERIALIZED ({tick}) {there} UNION ALL {gone}{touched}"
