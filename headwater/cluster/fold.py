"""Fold: bring a table's state up to a later timestamp by its tail.

The policy is a pure function of sizes (`due`); the work is Spark tasks that write
files (tasks.py), a Delta version, and one ledger transaction, in this order.  A
crash between the last two leaves a Delta version ahead of the ledger, which the
next fold of the table corrects.

    appended       small files are packed together, large ones stay where they are
    keyed, counted the whole state is written anew, in buckets if it is large
"""

from __future__ import annotations

from collections.abc import Iterable

from headwater.cluster.jobs import Pool
from headwater.cluster.shared import Shared
from headwater.cluster.tasks import FoldTask, PackTask, bucket_count
from headwater.core.change import FileEntry, ReadPlan
from headwater.core.limits import (
    FOLD_SMALL_FILE_BYTES,
    FOLD_TAIL_BYTES_MAX,
    FOLD_TAIL_FILES_HARD_MAX,
    FOLD_TAIL_FILES_MAX,
    FOLD_TAIL_STATE_RATIO_MIN,
    FOLD_TASK_MEMORY_BYTES,
)
from headwater.core.protocol import Folded
from headwater.observe.failpoints import failpoint
from headwater.persist.ledger import TailSize
from headwater.persist.state import commit_state


def due(tails: Iterable[TailSize]) -> list[TailSize]:
    """Those whose tail is long enough to fold, longest first."""
    return sorted((tail for tail in tails if _is_due(tail)), key=lambda tail: -tail.files)


def _is_due(tail: TailSize) -> bool:
    if tail.files >= FOLD_TAIL_FILES_HARD_MAX:
        return True
    worthwhile = tail.rows >= FOLD_TAIL_STATE_RATIO_MIN * tail.state_rows
    return worthwhile and (tail.files >= FOLD_TAIL_FILES_MAX or tail.bytes >= FOLD_TAIL_BYTES_MAX)


def fold(shared: Shared, tail: TailSize) -> None:
    """Write and commit the state as of the tail's end."""
    started_s = shared.clock.monotonic_s()
    plan = shared.ledger.read_plan(tail.collection_id, tail.last_ts)
    with shared.claims.claim() as claim:
        pack = plan.discipline == "appended"
        files = _pack(shared, plan, claim) if pack else _rewrite(shared, plan, claim)
        failpoint("fold.before_commit")
        version = commit_state(
            shared.store, plan.collection_id, plan.relation, files, plan.as_of, shared.clock.now_ms()
        )
        failpoint("fold.after_commit")
        shared.ledger.put_state(plan.collection_id, plan.as_of, version, files)
    failpoint("fold.after_ledger")
    shared.report(Folded(plan.collection_id, plan.as_of, shared.clock.monotonic_s() - started_s))


def _rewrite(shared: Shared, plan: ReadPlan, claim: str) -> list[FileEntry]:
    buckets = bucket_count(shared.store, plan)
    tasks = [
        FoldTask(shared.store, claim, plan, bucket, buckets, FOLD_TASK_MEMORY_BYTES)
        for bucket in range(buckets)
    ]
    return [file for file in shared.jobs.run(tasks, Pool.FOLDS) if file.rows]


def _pack(shared: Shared, plan: ReadPlan, claim: str) -> list[FileEntry]:
    present = [file for file in (*plan.state, *plan.tail) if file.rows]
    large = [file for file in present if file.bytes >= FOLD_SMALL_FILE_BYTES]
    small = tuple(file for file in present if file.bytes < FOLD_SMALL_FILE_BYTES)
    if len(small) < 2:
        return present
    task = PackTask(shared.store, claim, plan, small, 0, FOLD_TASK_MEMORY_BYTES)
    return [*large, *shared.jobs.run([task], Pool.FOLDS)]
