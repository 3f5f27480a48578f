"""Queries on Spark: relations as temporary views over explicit file lists, rows back as Arrow (results.py).

`combine_sql` says for Spark what persist/combine.py says for DuckDB.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as spark_types
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

from headwater.cluster.jobs import driver_gone
from headwater.cluster.kernels_spark import register_used
from headwater.cluster.origins import ORIGIN, follow
from headwater.cluster.results import PIECE, Keep
from headwater.core.change import DELETE, INSERT, OP, PARTIAL, SEQUENCE, TICK, ReadPlan
from headwater.core.errors import UserError
from headwater.core.protocol import CancelPeek, Peek, PeekDone, PeekFailed, PeekFile, PeekRows
from headwater.core.quoting import quoted
from headwater.core.relation import Relation
from headwater.core.types import holds_floats
from headwater.formats.arrow import arrow_type
from headwater.persist.carried import SPARK, carried_tables, carried_versions, said
from headwater.persist.keys import same_key
from headwater.persist.layout import result_folder
from headwater.persist.results import remove_result
from headwater.persist.store import DataStore
from headwater.sql.select.generate.spark.errors import translate_error


def spark_schema(relation: Relation, hidden: bool) -> Any:
    """The schema of state files, or with the hidden columns of change files."""
    fields = [spark_types.StructField(c.name, from_arrow_type(arrow_type(c.type))) for c in relation.columns]
    if hidden:
        fields += [
            spark_types.StructField(OP, spark_types.StringType()),
            spark_types.StructField(SEQUENCE, spark_types.LongType()),
            spark_types.StructField(TICK, spark_types.LongType()),
        ]
    return spark_types.StructType(fields)


def combine_sql(plan: ReadPlan, state: str, tail: str) -> str:
    """State view + tail view = rows."""
    columns = [quoted(column.name) for column in plan.relation.columns]
    listed = ", ".join(columns)
    deleting = any(file.deletes for file in plan.tail)
    if plan.discipline == "appended" or (plan.discipline == "counted" and not deleting):
        return f"SELECT {listed} FROM {state} UNION ALL SELECT {listed} FROM {tail}"
    if plan.discipline == "keyed":
        keys = [quoted(name) for name in plan.relation.key_names()]
        nth = _free_name(plan.relation, "nth")
        last = (
            f"SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY {', '.join(keys)}"
            f" ORDER BY {TICK} DESC, {SEQUENCE} DESC) AS {nth} FROM {tail}) WHERE {nth} = 1"
        )
        same = same_key("s", "l", keys)
        text = (
            f"WITH last AS ({last}) SELECT {listed} FROM {state} s LEFT ANTI JOIN last l ON {same}"
            f" UNION ALL SELECT {listed} FROM last WHERE {OP} = '{INSERT}'"
        )
        if any(file.partials for file in plan.tail):
            text += f" UNION ALL SELECT {listed} FROM ({_filled_sql(columns, keys, state, tail)})"
        return text
    return _counted_sql(plan.relation, state, tail)


def _free_name(relation: Relation, word: str) -> str:
    """A name that no column has."""
    name = f"_{word}"
    while name in relation.column_names():
        name = f"_{name}"
    return name


def _counted_sql(relation: Relation, state: str, tail: str) -> str:
    """Rows are the same if they are equal and spelled alike, as in persist/combine.py."""
    names = [quoted(column.name) for column in relation.columns]
    odd = [quoted(column.name) for column in relation.columns if holds_floats(column.type)]
    listed = ", ".join(names)
    net, count, copy = (_free_name(relation, word) for word in ("net", "count", "copy"))

    def keys(side: str) -> list[str]:
        return [f"{side}{name}" for name in names] + [f"CAST({side}{name} AS STRING)" for name in odd]

    def shown(side: str) -> str:
        """What a group's values are: Spark makes 0 of the -0 that it has grouped by."""
        values = (f"first({side}{name}) AS {name}" if name in odd else f"{side}{name}" for name in names)
        return ", ".join(values)

    same = " AND ".join(f"{ours} <=> {lost}" for ours, lost in zip(keys("s."), keys("l."), strict=True))
    return (
        f"WITH net AS (SELECT {shown('')}, sum(CASE WHEN {OP} = '{DELETE}' THEN -1 ELSE 1 END) AS {net}"
        f" FROM {tail} GROUP BY {', '.join(keys(''))} HAVING {net} <> 0),"
        f" lost AS (SELECT * FROM net WHERE {net} < 0),"
        f" touched AS (SELECT {shown('s.')}, count(*) + any_value(l.{net}) AS {count}"
        f" FROM {state} s JOIN lost l ON {same} GROUP BY {', '.join(keys('s.'))}),"
        f" copies AS (SELECT {listed}, {count} FROM touched WHERE {count} > 0"
        f" UNION ALL SELECT {listed}, {net} FROM net WHERE {net} > 0)"
        f" SELECT {listed} FROM {state} s LEFT ANTI JOIN lost l ON {same}"
        f" UNION ALL SELECT {listed} FROM (SELECT *, explode(sequence(1, {count})) AS {copy} FROM copies)"
    )


def _filled_sql(columns: list[str], keys: list[str], state: str, tail: str) -> str:
    """The rows of keys whose last change leaves columns as they were."""
    same = same_key("s", "p", keys)
    partial = f"(SELECT * FROM last WHERE {OP} LIKE '{PARTIAL}%') p ON {same}"
    said = [f"s.{column}" for column in columns]
    versions = (
        f"SELECT {', '.join(said)}, s.{OP}, s.{TICK}, s.{SEQUENCE} FROM {tail} s LEFT SEMI JOIN {partial}"
        f" WHERE s.{OP} <> '{DELETE}' UNION ALL SELECT {', '.join(said)}, '{INSERT}', -1, -1"
        f" FROM {state} s LEFT SEMI JOIN {partial}"
    )
    last = f"named_struct('t', {TICK}, 's', {SEQUENCE})"
    values = [
        f"max_by({column}, {last}) AS {column}"
        if column in keys
        else f"max_by(named_struct('v', {column}), {last})"
        f" FILTER (WHERE NOT array_contains(split(substr({OP}, 2), ','), '{place}')).v AS {column}"
        for place, column in enumerate(columns)
    ]
    return f"SELECT {', '.join(values)} FROM ({versions}) v GROUP BY {', '.join(keys)}"


class Carried:
    """A keyed table in whose tail rows have changed keys and brought columns along (persist/carried.py).

    Columns are called c0, c1, ... inside: what we add to them cannot have the name of one.
    """

    def __init__(self, relation: Relation, state: str, tail: str) -> None:
        names = [quoted(column.name) for column in relation.columns]
        self._columns = [f"c{place}" for place in range(len(names))]
        self._keys = [self._columns[place] for place in relation.keys[0]]
        aliased = ", ".join(f"{name} AS c{place}" for place, name in enumerate(names))
        self._named = ", ".join(f"c{place} AS {name}" for place, name in enumerate(names))
        self._state = f"(SELECT {aliased} FROM {state}) AS s"
        rank = f"CAST({TICK} AS DECIMAL(20, 0)) * {2**63} + {SEQUENCE}"
        self._with = (
            f"WITH tail AS (SELECT {aliased}, {OP}, {rank} AS _rank FROM {tail}),"
            f" last AS (SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY {', '.join(self._keys)}"
            f" ORDER BY _rank DESC) AS _nth FROM tail) WHERE _nth = 1), {carried_tables(self._keys, SPARK)}"
        )

    def found_sql(self) -> str:
        """Which change leads to which, for the kernel that follows them (origins.py)."""
        return f"{self._with} SELECT CAST(_rank AS STRING), _kind, _column, CAST(_from AS STRING) FROM found"

    def rows_sql(self, origins: str) -> str:
        """The rows, where a view says where the changes lead to."""
        columns, keys, rows = self._columns, self._keys, self._state
        listed = ", ".join(columns)
        same, asked = (same_key("s", side, keys) for side in ("last", "p"))
        partial = f"LEFT SEMI JOIN (SELECT * FROM last WHERE {OP} LIKE '{PARTIAL}%') AS p ON {asked}"
        versions = (
            f"SELECT {listed}, {OP}, _rank FROM tail AS s {partial} WHERE {OP} <> '{DELETE}'"
            f" UNION ALL SELECT {listed}, '{INSERT}', -1 FROM {rows} {partial}"
            f" UNION ALL {carried_versions(columns, keys, rows, origins)}"
        )
        values = [
            f"max_by({column}, _rank) AS {column}"
            if column in keys
            else f"max_by(named_struct('v', {column}), _rank)"
            f" FILTER (WHERE {said(place, SPARK)}).v AS {column}"
            for place, column in enumerate(columns)
        ]
        return (
            f"{self._with} SELECT {self._named} FROM ("
            f"SELECT {listed} FROM {rows} LEFT ANTI JOIN last ON {same}"
            f" UNION ALL SELECT {listed} FROM last WHERE {OP} = '{INSERT}'"
            f" UNION ALL SELECT {', '.join(values)} FROM ({versions}) GROUP BY {', '.join(keys)})"
        )


SEE_LOG = "A defect; nothing is lost by it. The cluster's log says more."


def no_thread() -> UserError:
    """For a statement whose thread could not be started."""
    return UserError(
        "the cluster could not start a thread for this statement",
        "53000",
        hint="Run it again, or raise the limit of processes and threads (ulimit -u).",
    )


Report = Callable[[Sequence[tuple[Any, bytes]]], None]
"""Sends messages with their payloads, all of them or none."""


class Run:
    """A peek under way.  What it has to say is dropped once it is cancelled: nobody waits for it."""

    def __init__(self, peek: Peek, report: Report) -> None:
        self.peek = peek
        self.job_group = f"{peek.peek_id}-{peek.attempt}"
        self.cancelled = threading.Event()
        self._report = report

    def report(self, *messages: tuple[Any, bytes]) -> None:
        if not self.cancelled.is_set():
            self._report(messages)


class Reader:
    """Runs peeks; each in a thread of its own, cancellable by its id."""

    def __init__(
        self,
        spark: SparkSession,
        store: DataStore,
        report: Report,
        lost: Callable[[Exception], None],
    ) -> None:
        self._spark = spark
        self._store = store
        self._report = report
        self._lost = lost  # called when the JVM has gone; the peek is then sent again
        self._running: dict[str, Run] = {}
        self._kernels: set[str] = set()  # registered already
        self._lock = threading.Lock()

    def start(self, peek: Peek) -> None:
        """Run it beside everything else."""
        run = Run(peek, self._report)
        with self._lock:
            self._running[peek.peek_id] = run
        thread = threading.Thread(target=self._run, args=(run,), name=f"peek-{peek.peek_id}", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            self._fail(run, no_thread())
            with self._lock:
                del self._running[peek.peek_id]

    def cancel(self, command: CancelPeek) -> None:
        """Stop its jobs, also those that it has not begun; the peek then ends without an answer."""
        with self._lock:
            run = self._running.get(command.peek_id)
        if run is not None:
            self._cancel(run)
        else:  # its answer crossed the command
            remove_result(self._store, command.peek_id)

    def cancel_all(self) -> None:
        """An environment comes: it states what it still wants to know."""
        with self._lock:
            running = list(self._running.values())
        for run in running:
            self._cancel(run)

    def _cancel(self, run: Run) -> None:
        run.cancelled.set()
        try:
            self._spark.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(run.job_group)
        except (Py4JError, OSError) as error:
            self._lost(error)  # there is nothing to cancel any more, nor to do anything else with

    def _run(self, run: Run) -> None:
        views: list[str] = []
        answered = False
        try:
            self._answer(run, views)
            answered = True
        except (PySparkException, Py4JError, UserError, pa.ArrowException, OSError, EOFError) as error:
            if driver_gone(self._spark.sparkContext):
                self._lost(error)  # does not return: the peek is sent again to the next process
            self._fail(run, error)
        except Exception:
            self._fail(run, UserError("internal error on the cluster", "XX000", hint=SEE_LOG))
            raise
        finally:
            self._end(run, views)
            if not answered or run.cancelled.is_set():
                remove_result(self._store, run.peek.peek_id, run.peek.attempt)

    def _end(self, run: Run, views: list[str]) -> None:
        with self._lock:
            if self._running.get(run.peek.peek_id) is run:  # a later attempt uses the same names
                del self._running[run.peek.peek_id]
                for view in views:
                    self._spark.catalog.dropTempView(view)

    def _answer(self, run: Run, views: list[str]) -> None:
        peek, context = run.peek, self._spark.sparkContext
        context.setJobGroup(run.job_group, "peek", interruptOnCancel=True)
        context.setLocalProperty("spark.scheduler.pool", peek.pool)
        for name, value in peek.plans.items():
            self._create_view(name, ReadPlan.from_json(value), views)
        with self._lock:
            register_used(self._spark, peek.sql, self._kernels)
        frame = self._spark.sql(peek.sql)
        if peek.explain:
            text = frame._jdf.queryExecution().explainString(
                self._spark._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")
            )
            run.report((PeekDone(peek.peek_id, text), b""))
            return
        folder = result_folder(peek.peek_id, peek.attempt)
        rows: list[tuple[Any, bytes]] = [
            (PeekRows(peek.peek_id), piece["stream"])
            if piece["path"] is None
            else (PeekFile(peek.peek_id, piece["path"], piece["rows"]), b"")
            for piece in pieces(frame, Keep(self._store, folder, peek.columns))
        ]
        run.report(*rows, (PeekDone(peek.peek_id), b""))

    def _create_view(self, name: str, plan: ReadPlan, views: list[str]) -> None:
        state = [file.path for file in plan.state]
        tail = [file.path for file in plan.tail if file.rows]
        views.append(name)
        if not tail:
            self._files_view(name, plan.relation, False, state)
            return
        state_name, tail_name = f"{name}_state", f"{name}_tail"
        views += [state_name, tail_name]
        self._files_view(state_name, plan.relation, False, state)
        self._files_view(tail_name, plan.relation, True, tail)
        if not any(file.carriers for file in plan.tail):
            self._spark.sql(combine_sql(plan, state_name, tail_name)).createOrReplaceTempView(name)
            return
        carried, origins = Carried(plan.relation, state_name, tail_name), f"{name}_origins"
        views.append(origins)
        found = self._spark.sql(carried.found_sql()).coalesce(1)
        ranks = [f"CAST({name} AS DECIMAL(38, 0)) AS {name}" for name in ("_id", "_via", "_from")]
        followed = map_in_arrow(found, follow, ORIGIN).selectExpr("_column", *ranks)
        followed.createOrReplaceTempView(origins)
        self._spark.sql(carried.rows_sql(origins)).createOrReplaceTempView(name)

    def _files_view(self, name: str, relation: Relation, hidden: bool, paths: list[str]) -> None:
        schema = spark_schema(relation, hidden)
        if paths:
            frame = self._spark.read.schema(schema).parquet(*(self._store.url(path) for path in paths))
        else:
            frame = self._spark.createDataFrame(self._spark.sparkContext.emptyRDD(), schema)
        frame.createOrReplaceTempView(name)

    def _fail(self, run: Run, error: Exception) -> None:
        user = error if isinstance(error, UserError) else translate_error(str(error))
        failed = PeekFailed(run.peek.peek_id, user.sqlstate, user.message, user.detail, user.hint)
        run.report((failed, b""))


def map_in_arrow(frame: DataFrame, function: Callable[..., Any], schema: Any) -> DataFrame:
    """What DataFrame.mapInArrow does, which asks for pandas first and then makes no use of it."""
    mapped = UserDefinedFunction(function, schema, evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
    column = mapped(*(frame[name] for name in frame.columns))._jc
    return DataFrame(frame._jdf.mapInArrow(column, False, None), frame.sparkSession)


def pieces(frame: DataFrame, keep: Keep) -> list[dict[str, Any]]:
    """Run a query; what has become of its rows, in their order."""
    found = map_in_arrow(frame, keep, PIECE).toArrow().sort_by("partition").to_pylist()
    for piece in found:
        if piece["failure"] is not None:
            raise UserError(piece["failure"], "53100", hint=piece["hint"])
    return list(found)
