"""State + tail = rows: the one definition, as DuckDB SQL.

Both the reads in the environment and the folds on the cluster use this text, so
a fold cannot mean something else than a read.  (`cluster/read.py` spells the same
for Spark; the tests hold the two against each other.)

    appended   all rows of all files
    keyed      the last change per key, by (_tick, _sequence), over state rows
               whose key the tail does not mention; columns that the last change leaves as
               they were come from the newest change that says them, or from the state; those
               that came along from another key, from where they were there (carried.py)
    counted    the net count of each row in the tail, added to or taken from the state

Flaws (core/flaws.py) are those of the change that a column's value comes from; of rows without a key they
tell which is which, but not by when and where they came.

Keys are the same as keys.py says: 0 and -0 are one.  Rows are the same only if they are spelled alike
(`spelled_apart`): an upstream that takes away -0 keeps 0, and a row is shown as it was given.

Not here: which files (persist/ledger.py), what a query does with the rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from headwater.core.change import DELETE, FLAWS, INSERT, OP, PARTIAL, SEQUENCE, TICK, FileEntry, ReadPlan
from headwater.core.quoting import literal, quoted
from headwater.core.relation import Relation
from headwater.core.types import SqlType, holds_floats
from headwater.formats.engine_types import duckdb_stored
from headwater.persist.carried import DUCKDB, SAYS, carried_tables, carried_versions, origin_tables, said
from headwater.persist.keys import same_key
from headwater.persist.store import DataStore


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


def scan_files(store: DataStore, files: Sequence[FileEntry]) -> str:
    """A table expression over these files; all have the same schema."""
    paths = ", ".join(literal(store.url(file.path)) for file in files)
    return f"read_parquet([{paths}], union_by_name = false)"


BELOW_ZERO = "a row is taken out more often than it is there"
"""What a checked query of a counted collection fails with."""


def relation_sql(
    plan: ReadPlan, store: DataStore, checked: bool = False, share: tuple[int, int] | None = None
) -> str:
    """A parenthesised query whose rows are the collection at the plan's timestamp.

    With `share`, (n, of) of so many, only those whose key or, without one, whose values fall to it.

    Rows that would count less than zero have no copies.  That must not be, and after a fold nobody could
    tell any more that it was: a `checked` query fails with BELOW_ZERO instead.
    """
    names = [quoted(column.name) for column in plan.relation.columns]
    state, tail = plan.state, tuple(file for file in plan.tail if file.rows)
    if not state and not tail:
        typed = (
            f"CAST(NULL AS {duckdb_stored(column.type)}) AS {quoted(column.name)}"
            for column in plan.relation.columns
        )
        return f"(SELECT {', '.join(typed)} WHERE false)"
    if plan.plain:
        listed, mine = ", ".join(names), _falls_to(share, plan.relation, names)
        parts = [f"SELECT {listed} FROM {scan_files(store, part)}{mine}" for part in (state, tail) if part]
        return f"({' UNION ALL '.join(parts)})"
    # Below, columns are called c0, c1, ...: what we add to them cannot have the name of one.
    columns = [f"c{i}" for i in range(len(names))]
    aliases, mine = ", ".join(columns), _falls_to(share, plan.relation, columns)
    state_scan = f"{scan_files(store, state)} AS s({aliases})" if state else None
    tail_scan = f"{scan_files(store, tail)} AS f({aliases})"
    partly, late = _Partly.of(tail), ""
    if partly is _Partly.CARRIED:
        late = mine  # values that came along from another key may be of another share's rows
    elif mine:
        state_scan = state_scan and f"(SELECT * FROM {state_scan}{mine}) AS s"
        tail_scan = f"(SELECT *, file_index, file_row_number FROM {tail_scan}{mine}) AS f"
    named = ", ".join(f"{column} AS {name}" for column, name in zip(columns, names, strict=True))
    rows = _Rows(plan.relation, columns, plan.flawed)
    if plan.discipline == "keyed":
        return f"(SELECT {named} FROM {_keyed(rows, state_scan, tail_scan, partly)}{late})"
    return f"(SELECT {named} FROM {_counted(rows, state_scan, tail_scan, checked)})"


@dataclass(frozen=True, slots=True)
class _Rows:
    """What there is to combine."""

    relation: Relation
    columns: list[str]  # what they are called here
    flawed: bool  # whether any of them has flaws

    @property
    def types(self) -> list[SqlType]:
        return [column.type for column in self.relation.columns]

    @property
    def keys(self) -> list[str]:
        return [self.columns[i] for i in self.relation.keys[0]]

    @property
    def flaws(self) -> int | None:
        """The place of the column that tells of flaws, if there are any."""
        name = self.relation.flaws
        return self.relation.column_names().index(name) if self.flawed and name is not None else None


def flaw_values(column: str) -> str:
    """Of a column of flaws what is part of the row."""
    return f"split_part({column}, chr(10), 1)"


def _falls_to(share: tuple[int, int] | None, relation: Relation, columns: Sequence[str]) -> str:
    """The condition for rows of a share, none for all of them; `columns`: what they are called there."""
    if share is None:
        return ""
    places = relation.keys[0] if relation.keys else range(len(columns))
    flaws = relation.column_names().index(relation.flaws) if relation.flaws is not None else None
    # A row that goes falls to the share of the one that came, whenever that was.
    values = (flaw_values(columns[i]) if i == flaws else columns[i] for i in places)
    return f" WHERE hash({', '.join(values)}) % {share[1]} = {share[0]}"


class _Partly(Enum):
    """What changes of a tail leave unsaid."""

    NO = 0
    LEFT = 1  # columns that are as they were
    CARRIED = 2  # and some that came along from another key

    @staticmethod
    def of(tail: Sequence[FileEntry]) -> _Partly:
        if any(file.carriers for file in tail):
            return _Partly.CARRIED
        return _Partly.LEFT if any(file.partials for file in tail) else _Partly.NO


def _keyed(rows: _Rows, state: str | None, tail: str, partly: _Partly) -> str:
    """The place of each key's last change is found by an aggregate over narrow columns.

    A window over whole rows says the same in twice the time.  A place is (file, row in the file),
    so of two changes that claim the same rank exactly one is taken.
    """
    keys, listed = rows.keys, ", ".join(rows.columns)
    rank = f"{TICK}::HUGEINT * {2**63}::HUGEINT + {SEQUENCE}"
    place = f"file_index::BIGINT * {2**40} + file_row_number"
    last = (
        f"SELECT {listed}, {OP}, _rank FROM tail SEMI JOIN"
        f" (SELECT arg_max(_place, _rank) AS _place FROM tail GROUP BY {', '.join(keys)}) USING (_place)"
    )
    same = same_key("s", "last", keys)
    kept = f"SELECT {listed} FROM {state} ANTI JOIN last ON {same} UNION ALL " if state else ""
    filled = ""
    if partly is not _Partly.NO:
        filled = f" UNION ALL SELECT {listed} FROM ({_filled(rows, state, partly)})"
    recursive, carried = "", ""
    if partly is _Partly.CARRIED:
        recursive, carried = "RECURSIVE ", f", {carried_tables(keys, DUCKDB)}, {origin_tables()}"
    return (
        f"(WITH {recursive}tail AS MATERIALIZED"
        f" (SELECT {listed}, {OP}, {rank} AS _rank, {place} AS _place FROM {tail}),"
        f" last AS MATERIALIZED ({last}){carried}"
        f" {kept}SELECT {listed} FROM last WHERE {OP} = '{INSERT}'{filled})"
    )


def _filled(rows: _Rows, state: str | None, partly: _Partly) -> str:
    """The rows of keys whose last change leaves columns as they were."""
    columns, keys = rows.columns, rows.keys
    asked = f"(SELECT {', '.join(keys)} FROM last WHERE {OP} LIKE '{PARTIAL}%') AS p"
    partial = f"{asked} ON {same_key('s', 'p', keys)}"
    listed = ", ".join(columns)
    versions = f"SELECT {listed}, {OP}, _rank FROM tail AS s SEMI JOIN {partial} WHERE {OP} <> '{DELETE}'"
    if state:
        versions += f" UNION ALL SELECT {listed}, '{INSERT}', -1 FROM {state} SEMI JOIN {partial}"
    if partly is _Partly.CARRIED:
        versions += f" UNION ALL {carried_versions(columns, keys, state)}"
    values = [
        _newest_flaws(rows, place)
        if place == rows.flaws
        else _newest(column, type_, None if column in keys else place)
        for place, (column, type_) in enumerate(zip(columns, rows.types, strict=True))
    ]
    return f"SELECT {', '.join(values)} FROM ({versions}) GROUP BY {', '.join(keys)}"


def _newest(column: str, type_: SqlType, place: int | None) -> str:
    """The newest value of a column that was said; `place` is its number in changes, None for a key."""
    says = "TRUE" if place is None else said(place, DUCKDB)
    if holds_floats(type_):  # arg_max makes 0 of the -0 in a struct or list
        return f"(list({column} ORDER BY _rank DESC) FILTER (WHERE {says}))[1] AS {column}"
    if place is None:
        return column
    # A struct, because a NULL that was said must win over an older value.
    return f"arg_max(struct_pack(v := {column}), _rank) FILTER (WHERE {says}).v AS {column}"


def _newest_flaws(rows: _Rows, place: int) -> str:
    """Of each column what the change says that its value is from; and of any when and where it came."""
    flaws = rows.columns[place]
    names = [(name, i) for i, name in enumerate(rows.relation.column_names()) if i != place]
    itself = f"{OP} NOT LIKE '{SAYS}%'"  # what came along from another key does not say what this key is
    told = []
    for name, other in sorted(names, key=lambda one: (len(one[0].encode()), one[0].encode())):
        says = itself if rows.columns[other] in rows.keys else said(other, DUCKDB)
        pointer = literal("/" + name.replace("~", "~0").replace("/", "~1"))
        value = f"json_extract_string({flaw_values(flaws)}, {pointer})"
        newest = f"arg_max(struct_pack(v := {value}), _rank) FILTER (WHERE {says}).v"
        told.append(f"{literal(json.dumps(name, ensure_ascii=False) + ': ')} || to_json({newest})::VARCHAR")
    latest = f"_rank * 2 + ({itself})::INT"
    rest = f"arg_max(substr({flaws}, strpos({flaws}, chr(10))), {latest}) FILTER (WHERE {flaws} IS NOT NULL)"
    if rows.relation.flaws != FLAWS:
        rest = "''"  # a column that people read has the values alone
    values = f"nullif(concat_ws(', ', {', '.join(told)}), '')"
    return f"'{{' || {values} || '}}' || {rest} AS {flaws}"


def _counted(rows: _Rows, state: str | None, tail: str, checked: bool) -> str:
    """Only state rows that lose copies are counted; the rest pass through untouched."""
    columns, listed = rows.columns, ", ".join(rows.columns)

    def keys(side: str) -> list[str]:
        names = [f"{side}{column}" for column in columns]
        apart = spelled_apart(zip(names, rows.types, strict=True))
        if rows.flaws is not None:
            names[rows.flaws] = flaw_values(names[rows.flaws])
        return [*names, *apart]

    def shown(side: str) -> str:
        """What stands for those that are the same: of flaws the oldest."""
        names = [f"{side}{column}" for column in columns]
        if rows.flaws is not None:
            names[rows.flaws] = f"min({names[rows.flaws]}) AS {columns[rows.flaws]}"
        return ", ".join(names)

    net = (
        f"SELECT {shown('')}, sum(CASE WHEN {OP} = '{DELETE}' THEN -1 ELSE 1 END)::BIGINT AS _net"
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
    there = f"(SELECT {qualified}, true AS _there FROM {state}) AS s"
    return (
        f"(WITH net AS MATERIALIZED ({net}), lost AS (SELECT * FROM net WHERE _net < 0),"
        f" touched AS (SELECT {shown('l.')}, count(s._there) + any_value(l._net) AS _n"
        f" FROM lost l LEFT JOIN {there} ON {same} GROUP BY {', '.join(keys('l.'))})"
        f" SELECT {qualified} FROM {state} ANTI JOIN lost l ON {same}"
        f" UNION ALL SELECT {listed} FROM (SELECT {listed}, {copies} FROM"
        f" (SELECT * FROM touched UNION ALL SELECT {listed}, _net FROM net WHERE _net > 0)))"
    )
