"""Values that came along when a row changed its key: where they are, as SQL of either engine.

An upstream that changes a row's key may leave long values out, because they are what they were.  What they
were stands under the old key: in the state, in a change of that key, or under a key that the row had before.

    tail     A '+' x=long      ...  B '~@x' (from A)      ...  C '~@x' (from B)
                  ^------------------------'  ^---------------------'

The text finds for each key whose last change does not say all (`last`) the change that does:

    moves    changes that carry columns, with the key of the row that they took away
    wants    (key, column, up to which change): of each move, and of each key that is asked for
    found    the newest change before that which mentions the column under that key; none: the state
    trace    from each key that is asked for along `found`, while what it leads to is a move again
    origins  where the traces end; on Spark these two are a kernel (cluster/origins.py), which is as quick
             for a thousand steps as for one

and makes of each origin a version of the row that says this one column (`SAYS`).  Only keys that are asked
for are traced, so a row that has moved a thousand times costs a thousand steps and not their square.

It needs relations `tail` (c0, c1, ..., _op, _rank) and `last` (the same, the last change of each key), where
_rank is position * 2^63 + sequence.

Not here: what else rows are made of (combine.py, cluster/read.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.core.change import CARRIED, DELETE, OP, PARTIAL
from headwater.persist.keys import same_key

SAYS = "!"
"""Begins the _op of a version that says one column alone; its place follows."""


@dataclass(frozen=True, slots=True)
class Words:
    """What the engines call differently."""

    list: str  # {text} -> its parts between commas, as rows
    has: str  # whether {place} is among the parts of {text}
    semi: str
    kept: str  # computed once, and not wherever it is named


DUCKDB = Words(
    "unnest(string_split({text}, ','))",
    "list_contains(string_split({text}, ','), {place})",
    "SEMI JOIN",
    "AS MATERIALIZED",
)
SPARK = Words(
    "explode(split({text}, ','))",
    "array_contains(split({text}, ','), {place})",
    "LEFT SEMI JOIN",
    "AS",
)

_LEFT = f"split_part(substr({OP}, 2), '{CARRIED}', 1)"
_CARRIED = f"split_part({OP}, '{CARRIED}', 2)"
_UNSAID = f"replace(substr({OP}, 2), '{CARRIED}', ',')"
MOVE, _MENTION, ASKED = 0, 1, 2
"""What a row of `found` is about; the order counts among those of one change."""


def said(place: int, words: Words) -> str:
    """Whether a version says a column."""
    among = words.has.format(text=_UNSAID, place=f"'{place}'")
    return f"CASE WHEN {OP} LIKE '{SAYS}%' THEN {OP} = '{SAYS}{place}' ELSE NOT {among} END"


def carried_tables(keys: Sequence[str], words: Words) -> str:
    """Definitions of `moves`, `wants` and `found`, for a WITH that has `tail` and `last` already."""
    listed, kept = ", ".join(keys), words.kept
    same = same_key("v", "w", keys)
    columns = f"SELECT DISTINCT _column FROM wants WHERE _kind = {MOVE}"
    left = words.has.format(text=_LEFT, place="_column")
    mentions = (
        f"SELECT {listed}, _rank, {_MENTION} AS _kind, _column FROM"
        f" (SELECT v.* FROM tail v {words.semi} (SELECT {listed} FROM wants) w ON {same}"
        f" WHERE v.{OP} <> '{DELETE}') CROSS JOIN ({columns}) WHERE NOT {left}"
    )
    before = f"PARTITION BY {listed}, _column ORDER BY _rank, _kind"
    before += " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
    return (
        f"moves {kept} (SELECT {', '.join(f'd.{key} AS {key}' for key in keys)}, m._rank, m.{OP}"
        f" FROM tail m JOIN tail d ON d._rank = m._rank - 1"
        f" WHERE m.{OP} LIKE '{PARTIAL}%{CARRIED}%' AND d.{OP} = '{DELETE}'),"
        f" wants {kept} (SELECT {listed}, _rank, {MOVE} AS _kind,"
        f" {words.list.format(text=_CARRIED)} AS _column FROM moves"
        f" UNION ALL SELECT {listed}, _rank, {ASKED} AS _kind,"
        f" {words.list.format(text=_UNSAID)} AS _column FROM last WHERE {OP} LIKE '{PARTIAL}%'),"
        f" found {kept} (SELECT * FROM (SELECT *,"
        f" max(CASE WHEN _kind = {_MENTION} THEN _rank END) OVER ({before}) AS _from"
        f" FROM ({mentions} UNION ALL SELECT * FROM wants)) WHERE _kind <> {_MENTION})"
    )


def origin_tables() -> str:
    """Definitions of `trace` and `origins`, for a WITH RECURSIVE of DuckDB's that has the others already."""
    moves = f"(SELECT _rank, _column, _from FROM found WHERE _kind = {MOVE}) AS f"
    same = "f._rank = t._from AND f._column = t._column"
    return (
        "trace (_id, _column, _via, _from) AS"
        f" (SELECT _rank, _column, NULL::HUGEINT, _from FROM found WHERE _kind = {ASKED}"
        f" UNION ALL SELECT t._id, t._column, f._rank, f._from FROM trace t JOIN {moves} ON {same}),"
        " origins AS MATERIALIZED (SELECT t._id, t._column, t._via, t._from"
        f" FROM trace t ANTI JOIN {moves} ON {same} WHERE t._via IS NOT NULL)"
    )


def carried_versions(
    columns: Sequence[str], keys: Sequence[str], state: str | None, origins: str = "origins"
) -> str:
    """Versions of rows of `last` that say what came along; `state`: a table expression called s."""

    def values(side: str) -> str:
        listed = (f"l.{c} AS {c}" if c in keys else f"{side}.{c} AS {c}" for c in columns)
        return f"{', '.join(listed)}, concat('{SAYS}', o._column) AS {OP}, l._rank"

    asked = f"FROM {origins} o JOIN last l ON l._rank = o._id"
    text = f"SELECT {values('v')} {asked} JOIN tail v ON v._rank = o._from"
    if state:
        same = same_key("s", "m", keys)
        text += (
            f" UNION ALL SELECT {values('s')} {asked} JOIN moves m ON m._rank = o._via"
            f" JOIN {state} ON {same} WHERE o._from IS NULL"
        )
    return text
