"""A server that cannot start says what is in the way and what to type, and nothing else happens.

Method: the real command as a child; every refusal comes before Spark is started, so each takes
about a second.  What another program holds is held by the test.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.catalog.opening import open_catalog
from headwater.persist.lock import DataDirectoryLock
from tests.support.metadata import make_newer

ADDRESSES = ("--sql-address", "--internal-sql-address", "--http-address")
START_S_MAX = 60


def refused(data_dir: Path, *words: str, environment: dict[str, str] | None = None) -> str:
    """What a server says that does not start; it must end with status 1 and without a traceback."""
    free = [word for option in ADDRESSES if option not in words for word in (option, "127.0.0.1:0")]
    done = subprocess.run(
        [sys.executable, "-m", "headwater", "server", "--data-dir", str(data_dir), *free, *words],
        capture_output=True,
        text=True,
        timeout=START_S_MAX,
        check=False,
        env={**os.environ, **(environment or {})},
    )
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert "headwater ready" not in done.stdout
    assert done.stderr.splitlines()[-1].startswith(("ERROR:", "HINT:")), "nothing comes after what is wrong"
    return done.stderr


@pytest.mark.parametrize("option", ADDRESSES)
def test_a_port_in_use_is_named_with_the_option_to_change_it(tmp_path: Path, option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        address = f"127.0.0.1:{holder.getsockname()[1]}"
        said = refused(tmp_path / "data", option, address)
    assert f'on "{address}": Address already in use' in said
    assert option in said.partition("HINT:")[2]


def test_the_demo_shows_why_its_server_has_not_started(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        address = f"127.0.0.1:{holder.getsockname()[1]}"
        words = ["--data-dir", str(tmp_path), "--internal-sql-address", address]
        done = subprocess.run(
            [sys.executable, "-m", "headwater", "demo", *words], capture_output=True, text=True, check=False
        )
    assert done.returncode == 1
    said = done.stderr.splitlines()
    assert "the server ended with status 1" in said[0]
    assert f'could not listen for the operator\'s SQL on "{address}"' in done.stderr
    assert len(said) < 8, done.stderr


def test_an_address_that_is_not_of_this_machine_is_named(tmp_path: Path) -> None:
    said = refused(tmp_path / "data", "--sql-address", "192.0.2.1:6875", "--trust-network")
    assert 'could not listen for SQL on "192.0.2.1:6875"' in said


def test_a_machine_without_java_is_told_what_to_install(tmp_path: Path) -> None:
    said = refused(tmp_path / "data", environment={"JAVA_HOME": "", "PATH": str(tmp_path)})
    assert "java was not found in JAVA_HOME or PATH" in said
    assert "apt-get install" in said
    assert not (tmp_path / "data").exists()


def test_a_java_home_without_java_is_not_made_up_for(tmp_path: Path) -> None:
    assert "java was not found" in refused(tmp_path / "data", environment={"JAVA_HOME": str(tmp_path)})


def test_a_second_server_on_a_data_directory_is_told_who_has_it(tmp_path: Path) -> None:
    with DataDirectoryLock(tmp_path):
        said = refused(tmp_path)
    assert f'data directory "{tmp_path}" is in use by process {os.getpid()}' in said
    assert "--data-dir" in said


@pytest.mark.parametrize("part", ["catalog", "ledger"])
def test_a_data_directory_of_a_newer_release_is_refused(tmp_path: Path, part: str) -> None:
    open_catalog(tmp_path).close()
    make_newer(tmp_path, part)
    said = refused(tmp_path)
    assert f'"{tmp_path}/metadata.sqlite" was written by a newer release: it has {part} version 9999' in said
    assert "HINT:   Start the newer release again" in said


def test_a_kind_of_sources_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    distribution = tmp_path / "site" / "broken-1.0.dist-info"
    distribution.mkdir(parents=True)
    (distribution / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (distribution / "entry_points.txt").write_text("[headwater.sources]\nbroken = not_there\n")
    said = refused(tmp_path / "data", environment={"PYTHONPATH": str(tmp_path / "site")})
    assert "the kind of sources in the package not_there cannot be loaded" in said
    assert "HINT:   Install another version of the package, or uninstall it." in said


def test_a_place_that_cannot_be_a_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said = refused(tmp_path / "file" / "data")
    assert f'data directory "{tmp_path}/file/data" cannot be written: Not a directory' in said


def test_statements_that_are_not_utf8_are_refused_with_the_place(tmp_path: Path) -> None:
    file = tmp_path / "latin1.sql"
    file.write_bytes(b"SELECT '\xe4'")
    done = subprocess.run(
        [sys.executable, "-m", "headwater", "sql", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f'"{file}" is not UTF-8 at byte 8' in done.stderr
    assert "iconv" in done.stderr


@pytest.mark.parametrize("option", ADDRESSES)
def test_nobody_at_another_machine_is_trusted_by_chance(tmp_path: Path, option: str) -> None:
    said = refused(tmp_path / "data", option, "0.0.0.0:0")
    assert f'whoever reaches {option} "0.0.0.0:0" could do everything' in said
    assert "--trust-network" in said.partition("HINT:")[2]
    assert ("--auth password" in said) == (option != "--internal-sql-address")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--auth certificate", "clients cannot show certificates"),
        ("--tls-certificate {0}/nowhere --tls-key {0}/nowhere", 'nowhere" cannot be used: no such file'),
        ("--auth password --admin-password-file {0}/nowhere", "could not read --admin-password-file"),
        ("--auth password --admin-password-file {0}/empty", "has no password in its first line"),
    ],
)
def test_ways_in_that_lead_nowhere(tmp_path: Path, words: str, why: str) -> None:
    (tmp_path / "empty").write_text("\n")
    assert why in refused(tmp_path / "data", *words.format(tmp_path).split())
