"""Statements answer as the dialect says: rows, tags, notices, and errors with their SQLSTATE.

Goal: every text and code that clients match on, for statements as a user types them.

Method: each file of tests/text/*.td is a script (script.py tells the form), run against the shared
server in a schema of its own.  A script goes on after a wrong answer, so that one run
shows all that is wrong.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.server import HeadwaterServer
from tests.text.script import run_script

SCRIPTS = sorted(Path(__file__).parent.glob("*.td"))


@pytest.mark.parametrize("path", SCRIPTS, ids=[path.stem for path in SCRIPTS])
def test_the_script_is_answered_as_written(server: HeadwaterServer, path: Path) -> None:
    complaints = run_script(server, path, f"td_{path.stem}")
    assert not complaints, "\n\n" + "\n\n".join(complaints)
