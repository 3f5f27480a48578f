"""What an ingestion needs to run in the test's own process: tasks run here instead of on Spark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headwater.cluster.shared import Shared
from headwater.cluster.tasks import Failed, run_task
from headwater.core import protocol
from headwater.core.clock import SYSTEM_CLOCK
from headwater.persist.ledger import Ledger
from headwater.persist.local import LocalStore
from headwater.persist.secrets import SecretStore


class TasksHere:
    """Runs tasks in this process, in place of `cluster.jobs.Jobs`."""

    def run(self, tasks: Sequence[Any], pool: str) -> list[Any]:
        results = [run_task(task) for task in tasks]
        for result in results:
            if isinstance(result, Failed):
                raise result.error
        return results


def shared_of(data_dir: Path, ledger: Ledger, heard: list[Any]) -> Shared:
    jobs: Any = TasksHere()
    secrets = SecretStore(LocalStore(data_dir)).get
    return Shared(
        LocalStore(data_dir), data_dir / "scratch", ledger, jobs, SYSTEM_CLOCK, 1, heard.append, secrets
    )


def status_of(heard: list[Any], id_: str) -> str | None:
    statuses = [m.status for m in heard if isinstance(m, protocol.Status) and m.id == id_]
    return statuses[-1] if statuses else None
