"""State + tail = rows: the one definition, as DuckDB SQL.

Both the reads in the environment and the folds on the cluster use this text, so
a fold cannot mean something else than a read.  (`cluster/read.py` spells the same
for Spark; the tests hold the two against each other.)

    appended   all rows of all files
    keyed      the last change per key, by (_position, _sequence), over state rows
               whose key the tail does not mention; columns that the last change leaves as
               they were come from the newest change that says them, or from the state
    counted    the net count of each row in the tail, added to or taken from the state

Keys are equal as SQL says: 0 and -0 are one.  Rows are the same only if they are spelled alike
(`spelled_apart`): an upstream that takes away -0 keeps 0, and a row is shown as it was given.

Not here: which files (persist/ledger.py), what a query does with the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from headwater.core.change import DELETE, INSERT, OP, PARTIAL, POSITION, SEQUENCE, FileEntry, ReadPlan
from headwater.core.types import SqlType, holds_floats, stored


def quote(name: str) -> str:
    """An identifier, quoted for DuckDB and Spark's ANSI mode alike."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def duckdb_type(type_: SqlType) -> str:
    """DuckDB's name for a stored form."""
    if type_.kind == "int2vector":
        return "SMALLINT[]"
    if type_.element is not None:
        inner = duckdb_type(type_.element)
        return f"MAP(VARCHAR, {inner})" if type_.kind == "map" else f"{inner}[]"
    if type_.kind == "record":
        return "STRUCT(" + ", ".join(f"{quote(n)} {duckdb_type(t)}" for n, t in type_.fields) + ")"
    name = stored(type_)
    return _DUCKDB.get(name) or name.upper()


_DUCKDB = {
    "bool": "BOOLEAN",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "binary": "BLOB",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMPTZ",
    "interval": "STRUCT(months INTEGER, days INTEGER, microseconds BIGINT)",
}


def spelled_apart(columns: Iterable[tuple[str, SqlType]]) -> list[str]:
    """What to group or match by besides the columns: it tells -0 from 0, which DuckDB takes for equal."""
    return [
        f"({text} = 0 AND signbit({text}))"
        if type_.element is None and not type_.fields
        # Beside the column itself: two texts that only look alike do not matter.
        else f"CAST({text} AS VARCHAR)"
        for text, type_ in columns
        if holds_floats(type_)
    ]


def scan_files(data_dir: Path, files: Sequence[FileEntry]) -> str:
    """A table expression over these files; all have the same schema."""
    paths = ", ".join("'" + str(data_dir / file.path).replace("'", "''") + "'" for file in files)
    return f"read_parquet([{paths}], union_by_name = false)"


BELOW_ZERO = "a row is taken out more often than it is there"
"""What a checked query of a counted collection fails with."""


def relation_sql(plan: ReadPlan, data_dir: Path, checked: bool = False) -> str:
    """A parenthesised query whose rows are the collection at the plan's timestamp.

    Rows that would count less than zero have no copies.  That must not be, and after a fold nobody could
    tell any more that it was: a `checked` query fails with BELOW_ZERO instead.
    """
    names = [quote(column.name) for column in plan.relation.columns]
    state, tail = plan.state, tuple(file for file in plan.tail if file.rows)
    if not state and not tail:
        typed = (
            f"CAST(NULL AS {duckdb_type(column.type)}) AS {quote(column.name)}"
            for column in plan.relation.columns
        )
        return f"(SELECT {', '.join(typed)} WHERE false)"
    deleting = any(file.deletes for file in tail)
    if not tail or plan.discipline == "appended" or (plan.discipline == "counted" and not deleting):
        listed = ", ".join(names)
        parts = [f"SELECT {listed} FROM {scan_files(data_dir, part)}" for part in (state, tail) if part]
        return f"({' UNION ALL '.join(parts)})"
    # Below, columns are called c0, c1, ...: what we add to them cannot have the name of one.
    columns = [f"c{i}" for i in range(len(names))]
    aliases = ", ".join(columns)
    state_scan = f"{scan_files(data_dir, state)} AS s({aliases})" if state else None
    tail_scan = f"{scan_files(data_dir, tail)} AS f({aliases})"
    named = ", ".join(f"{column} AS {name}" for column, name in zip(columns, names, strict=True))
    types = [column.type for column in plan.relation.columns]
    if plan.discipline == "keyed":
        keys = [columns[i] for i in plan.relation.keys[0]]
        partial = any(file.partials for file in tail)
        return f"(SELECT {named} FROM {_keyed(columns, types, keys, state_scan, tail_scan, partial)})"
    return f"(SELECT {named} FROM {_counted(columns, types, state_scan, tail_scan, checked)})"


def _keyed(
    columns: list[str], types: list[SqlType], keys: list[str], state: str | None, tail: str, partial: bool
) -> str:
    """The place of each key's last change is found by an aggregate over narrow columns.

    A window over whole rows says the same in twice the time.  A place is (file, row in the file),
    so of two changes that claim the same rank exactly one is taken.
    """
    listed = ", ".join(columns)
    rank = f"{POSITION}::HUGEINT * {2**63}::HUGEINT + {SEQUENCE}"
    place = f"file_index::BIGINT * {2**40} + file_row_number"
    last = (
        f"SELECT {listed}, {OP} FROM tail SEMI JOIN"
        f" (SELECT arg_max(_place, _rank) AS _place FROM tail GROUP BY {', '.join(keys)}) USING (_place)"
    )
    same = " AND ".join(f"s.{key} IS NOT DISTINCT FROM last.{key}" for key in keys)
    kept = f"SELECT {listed} FROM {state} ANTI JOIN last ON {same} UNION ALL " if state else ""
    filled = f" UNION ALL SELECT {listed} FROM ({_filled(columns, types, keys, state)})" if partial else ""
    return (
        f"(WITH tail AS MATERIALIZED (SELECT {listed}, {OP}, {rank} AS _rank, {place} AS _place FROM {tail}),"
        f" last AS MATERIALIZED ({last}) {kept}SELECT {listed} FROM last WHERE {OP} = '{INSERT}'{filled})"
    )


def _filled(columns: list[str], types: list[SqlType], keys: list[str], state: str | None) -> str:
    """The rows of keys whose last change leaves columns as they were."""
    same = " AND ".join(f"s.{key} IS NOT DISTINCT FROM p.{key}" for key in keys)
    partial = f"(SELECT {', '.join(keys)} FROM last WHERE {OP} LIKE '{PARTIAL}%') AS p ON {same}"
    listed = ", ".join(columns)
    versions = f"SELECT {listed}, {OP}, _rank FROM tail AS s SEMI JOIN {partial} WHERE {OP} <> '{DELETE}'"
    if state:
        versions += f" UNION ALL SELECT {listed}, '{INSERT}', -1 FROM {state} SEMI JOIN {partial}"
    values = [
        _newest(column, type_, None if column in keys else place)
        for place, (column, type_) in enumerate(zip(columns, types, strict=True))
    ]
    return f"SELECT {', '.join(values)} FROM ({versions}) GROUP BY {', '.join(keys)}"


def _newest(column: str, type_: SqlType, place: int | None) -> str:
    """The newest value of a column that was said; `place` is its number in changes, None for a key."""
    said = (
        f"NOT list_contains(string_split(substr({OP}, 2), ','), '{place}')" if place is not None else "TRUE"
    )
    if holds_floats(type_):  # arg_max makes 0 of the -0 in a struct or list
        return f"(list({column} ORDER BY _rank DESC) FILTER (WHERE {said}))[1] AS {column}"
    if place is None:
        return column
    # A struct, because a NULL that was said must win over an older value.
    return f"arg_max(struct_pack(v := {column}), _rank) FILTER (WHERE {said}).v AS {column}"


def _counted(columns: list[str], types: list[SqlType], state: str | None, tail: str, checked: bool) -> str:
    """Only state rows that lose copies are counted; the rest pass through untouched."""
    listed = ", ".join(columns)

    def keys(side: str) -> list[str]:
        names = [f"{side}{column}" for column in columns]
        return [*names, *spelled_apart(zip(names, types, strict=True))]

    net = (
        f"SELECT {listed}, sum(CASE WHEN {OP} = '{DELETE}' THEN -1 ELSE 1 END)::BIGINT AS _net"
        f" FROM {tail} GROUP BY {', '.join(keys(''))} HAVING _net <> 0"
    )
    copies = "unnest(range(_n))"
    if checked:
        copies = f"unnest(range(CASE WHEN _n < 0 THEN error('{BELOW_ZERO}')::BIGINT ELSE _n END))"
    if not state:
        return (
            f"(WITH net AS MATERIALIZED ({net}) SELECT {listed} FROM (SELECT {listed}, {copies}"
            f" FROM (SELECT {listed}, _net AS _n FROM net)))"
        )
    pairs = zip(keys("s."), keys("l."), strict=True)
    same = " AND ".join(f"{ours} IS NOT DISTINCT FROM {lost}" for ours, lost in pairs)
    qualified = ", ".join(f"s.{column}" for column in columns)
    theirs = ", ".join(f"l.{column}" for column in columns)
    there = f"(SELECT {qualified}, true AS _there FROM {state}) AS s"
    return (
        f"(WITH net AS MATERIALIZED ({net}), lost AS (SELECT * FROM net WHERE _net < 0),"
        f" touched AS (SELECT {theirs}, count(s._there) + any_value(l._net) AS _n"
        f" FROM lost l LEFT JOIN {there} ON {same} GROUP BY {', '.join(keys('l.'))})"
        f" SELECT {qualified} FROM {state} ANTI JOIN lost l ON {same}"
        f" UNION ALL SELECT {listed} FROM (SELECT {listed}, {copies} FROM"
        f" (SELECT * FROM touched UNION ALL SELECT {listed}, _net FROM net WHERE _net > 0)))"
    )
