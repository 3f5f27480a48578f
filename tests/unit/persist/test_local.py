"""Files in the data directory: in which order they become durable, and whose they are.

Method: note the calls of the operating system; look at modes.  What any store promises is in test_store.py.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from headwater.persist.local import LocalStore

PATH = "tables/u1/log/1.parquet"


def noted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    done: list[str] = []
    fsync = os.fsync

    def synced(descriptor: int) -> None:
        done.append("sync folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "sync file")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", synced)
    for name in ("replace", "link"):
        call: Any = getattr(os, name)

        def named(*paths: str, name: str = name, call: Any = call) -> None:
            done.append(name)
            call(*paths)

        monkeypatch.setattr(os, name, named)
    return done


@pytest.mark.parametrize(("replace", "named"), [(True, "replace"), (False, "link")])
def test_a_file_is_on_disk_before_it_has_its_name_and_the_name_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replace: bool, named: str
) -> None:
    done = noted(monkeypatch)
    with LocalStore(tmp_path).create(PATH, replace=replace) as file:
        file.write(b"data")
    assert done == ["sync file", named, "sync folder"]


def test_what_need_not_be_durable_waits_for_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = noted(monkeypatch)
    with LocalStore(tmp_path).create(PATH, durable=False) as file:
        file.write(b"data")
    assert done == ["replace"]


def test_files_and_folders_are_the_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with LocalStore(tmp_path).create(PATH) as file:
            file.write(b"data")
        with LocalStore(tmp_path).spill():
            pass
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes.pop("1.parquet") == 0o600
    assert set(modes.values()) == {0o700}, modes
