"""What is written in the data directory is its owner's alone, also in one that was open before.

Method: folders and files with modes as an earlier version has left them; the mode of what a process
makes is looked at in a child, because the umask is one for a whole process.
"""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

MAKE = """
import sqlite3, sys
from pathlib import Path
from headwater.persist.private import close_to_others
here = Path(sys.argv[1])
print(*close_to_others(here), sep="\\n")
(here / "tables" / "u2").mkdir(parents=True)
(here / "tables" / "u2" / "rows").write_text("rows")
sqlite3.connect(here / "made.sqlite").execute("CREATE TABLE t (a)")
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def start(data_dir: Path) -> list[str]:
    """As a start of the server does; what it says had been open."""
    done = subprocess.run(
        [sys.executable, "-c", MAKE, str(data_dir)], capture_output=True, text=True, check=True, umask=0o022
    )
    return done.stdout.split()


def test_a_new_directory_and_all_that_is_made_in_it_is_private(tmp_path: Path) -> None:
    assert start(tmp_path / "parent" / "data") == []
    data_dir = tmp_path / "parent" / "data"
    assert {path.name: mode(path) for path in (data_dir, *data_dir.rglob("*"))} == {
        **{"data": 0o700, "tables": 0o700, "u2": 0o700},
        **{"rows": 0o600, "made.sqlite": 0o600},
    }


def test_a_directory_that_was_open_is_closed_with_what_lies_in_it(tmp_path: Path) -> None:
    data_dir, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    (data_dir / "scratch").mkdir(parents=True)
    elsewhere.mkdir()
    (data_dir / "metadata.sqlite").write_text("passwords")
    (data_dir / "secrets").mkdir(mode=0o700)
    (data_dir / "beside").symlink_to(elsewhere)
    (data_dir / "dangling").symlink_to(tmp_path / "nothing")
    for path in (data_dir, data_dir / "scratch", elsewhere):
        path.chmod(0o755)
    (data_dir / "metadata.sqlite").chmod(0o644)
    said = start(data_dir)
    assert [Path(path).name for path in said] == ["data", "beside", "metadata.sqlite", "scratch"]
    assert {mode(data_dir), mode(data_dir / "scratch"), mode(elsewhere)} == {0o700}
    assert mode(data_dir / "metadata.sqlite") == 0o600
