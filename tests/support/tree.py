"""All files of the tree, read and parsed once, for tests that look at the code itself."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent

# Not ours, or not kept.
SKIPPED_FOLDERS = {".git", ".venv", ".cache", "__pycache__", "data", "dist", "node_modules"}
SKIPPED_SUFFIXES = ("_cache", ".egg-info")
SKIPPED_FILES = {"uv.lock"}


@dataclass(frozen=True)
class Module:
    """A Python file, read and parsed."""

    path: str
    text: str
    tree: ast.Module

    def at(self, node: ast.AST) -> str:
        return f"{self.path}:{getattr(node, 'lineno', 1)}"


@cache
def files() -> tuple[Path, ...]:
    """All files that could be committed."""

    def walk(folder: Path) -> Iterator[Path]:
        for entry in sorted(folder.iterdir()):
            if entry.is_dir():
                skipped = entry.name in SKIPPED_FOLDERS or entry.name.endswith(SKIPPED_SUFFIXES)
                if not skipped and entry.name != ".hypothesis":
                    yield from walk(entry)
            elif entry.name not in SKIPPED_FILES:
                yield entry

    return tuple(walk(ROOT))


@cache
def texts() -> dict[str, str]:
    """Path -> content of all files that are text."""
    found = {}
    for file in files():
        data = file.read_bytes()
        if b"\0" not in data:
            found[file.relative_to(ROOT).as_posix()] = data.decode(errors="replace")
    return found


@cache
def modules(below: str) -> tuple[Module, ...]:
    return tuple(
        Module(path, text, ast.parse(text))
        for path, text in texts().items()
        if path.startswith(below) and path.endswith(".py")
    )


def product() -> tuple[Module, ...]:
    return modules("headwater/")


def everything() -> tuple[Module, ...]:
    return product() + modules("tests/")


def imports(module: Module) -> Iterator[tuple[ast.AST, str]]:
    """The dotted names a module imports; `from a import b` counts as a.b."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node, f"{node.module}.{alias.name}") for alias in node.names)


def allowed(path: str, homes: tuple[str, ...]) -> bool:
    return any(path.startswith(home) if home.endswith("/") else path == home for home in homes)


def expect_none(offending: Iterable[str]) -> None:
    """Fail with the whole list, one line each."""
    lines = sorted(offending)
    if lines:
        pytest.fail("\n".join(lines), pytrace=False)
