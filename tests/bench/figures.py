"""Figures: measured values beside what they should reach, as a table on the terminal and in docs."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs" / "benchmarks.md"


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table."""

    what: str
    measured: str
    reach: str
    met: bool


@dataclass(slots=True)
class Figures:
    """All lines of one run."""

    title: str
    lines: list[Figure] = field(default_factory=list)

    def add(self, what: str, measured: str, reach: str, met: bool) -> None:
        self.lines.append(Figure(what, measured, reach, met))
        mark = "ok  " if met else "MISS"
        os.write(1, f"{mark} {what}: {measured} (reach {reach})\n".encode())

    def write(self) -> None:
        """Put the table of this run into docs/benchmarks.md, replacing the one of the same title."""
        heading = f"## {self.title}"
        rows = "".join(
            f"| {f.what} | {f.measured} | {f.reach} | {'yes' if f.met else 'no'} |\n" for f in self.lines
        )
        head = "| what | measured | reach | met |\n| --- | --- | --- | --- |\n"
        table = f"{heading}\n\n{machine()}\n\n{head}{rows}"
        text = DOCS.read_text() if DOCS.exists() else "# Benchmarks\n"
        before, _, rest = text.partition(heading)
        after = rest[rest.index("\n## ") + 1 :] if "\n## " in rest else ""
        DOCS.write_text(f"{before.rstrip()}\n\n{table}\n{after}".rstrip() + "\n")


def machine() -> str:
    """The machine in one line."""
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{os.cpu_count()} cores, {memory_gib:.0f} GiB, {platform.system()} {platform.machine()},"
        f" Python {platform.python_version()}, {time.strftime('%Y-%m-%d')}"
    )


def timed(work: Callable[[], object], times: int, warm: int = 3) -> list[float]:
    """Seconds of each run, after some that do not count."""
    for _ in range(warm):
        work()
    seconds = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    return seconds


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def p95(values: Sequence[float]) -> float:
    return sorted(values)[max(0, int(len(values) * 0.95) - 1)]


def process_tree(pid: int) -> set[int]:
    """A process and all its descendants."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found, waiting = set(), [pid]
    while waiting:
        current = waiting.pop()
        found.add(current)
        waiting += children.get(current, [])
    return found


def memory_bytes(pid: int) -> int:
    """Memory of a process tree: what is shared between processes is counted once (PSS)."""
    total = 0
    for member in process_tree(pid):
        try:
            lines = Path(f"/proc/{member}/smaps_rollup").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            continue
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total


def cpu_seconds(pid: int) -> float:
    """Processor time a process tree has used."""
    ticks = 0
    for member in process_tree(pid):
        try:
            parts = Path(f"/proc/{member}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        ticks += int(parts[11]) + int(parts[12])
    return ticks / os.sysconf("SC_CLK_TCK")
