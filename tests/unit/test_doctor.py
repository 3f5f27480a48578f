"""The doctor: whatever is wrong is found, and comes with something to type.

Method: hand the judges made-up facts, one thing wrong at a time; and look at this
machine for real with a java of our own making and a port we hold.
"""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from headwater import doctor
from headwater.cli import main
from headwater.core.limits import DISK_FREE_BYTES_MIN, MEMORY_AVAILABLE_BYTES_MIN
from headwater.doctor import Facts, JavaFacts
from headwater.options import Address
from headwater.persist.lock import DataDirectoryLock
from headwater.running import RunningServer, find_server

PORT = Address("127.0.0.1", 6875)
HTTP = Address("127.0.0.1", 1)
HEALTHY = Facts(
    python=(3, 11, 2),
    packages={**dict.fromkeys(doctor.PACKAGES, "1.0"), "pyspark": doctor.PYSPARK_VERSION},
    java=JavaFacts("/usr/bin/java", "17.0.13"),
    ports={PORT: None},
    memory_available_bytes=MEMORY_AVAILABLE_BYTES_MIN,
    disk_free_bytes=DISK_FREE_BYTES_MIN,
    data_dir=Path("/srv/headwater"),
    data_dir_trouble=None,
    open_files_max=1024,
)


def test_a_healthy_machine_has_only_lines_that_begin_with_ok() -> None:
    lines = list(doctor.report(doctor.judge(HEALTHY)))
    assert len(lines) == 8
    assert all(line.startswith("ok ") for line in lines)


@pytest.mark.parametrize(
    ("name", "change", "typed"),
    [
        ("python", {"python": (3, 10, 9)}, "PYTHON="),
        ("python", {"python": (3, 14, 0)}, "PYTHON="),
        ("packages", {"packages": {**HEALTHY.packages, "duckdb": None}}, "make setup"),
        ("packages", {"packages": {**HEALTHY.packages, "pyspark": "4.0.0"}}, "make setup"),
        ("java", {"java": None}, "openjdk-17"),
        ("java", {"java": JavaFacts("/j", None)}, "openjdk-17"),
        ("java", {"java": JavaFacts("/j", "11.0.2")}, "JAVA_HOME"),
        ("java", {"java": JavaFacts("/j", "1.8.0_402")}, "JAVA_HOME"),
        ("java", {"java": JavaFacts("/j", "26-ea")}, "JAVA_HOME"),
        ("memory", {"memory_available_bytes": MEMORY_AVAILABLE_BYTES_MIN - 1}, "spark.driver.memory"),
        ("disk", {"disk_free_bytes": DISK_FREE_BYTES_MIN - 1}, "--data-dir"),
        ("data-dir", {"data_dir_trouble": "may not be written"}, "chown"),
        ("open-files", {"open_files_max": 256}, "ulimit -n"),
        ("port", {"ports": {PORT: "Address already in use"}}, "6875"),
    ],
)
def test_what_is_wrong_is_found_and_can_be_mended(name: str, change: dict[str, Any], typed: str) -> None:
    findings = doctor.judge(replace(HEALTHY, **change))
    (wrong,) = [finding for finding in findings if not finding.well]
    assert wrong.name == name
    assert typed in (wrong.fix or "")
    assert any("fix:" in line and typed in line for line in doctor.report(findings))


def test_memory_that_cannot_be_known_is_not_held_against_the_machine() -> None:
    assert doctor.judge_memory(None).well


@pytest.mark.parametrize(
    ("version", "major"), [("17.0.13", 17), ("1.8.0_402", 8), ("25-ea", 25), ("21", 21), ("x", None)]
)
def test_java_versions_of_every_age_are_understood(version: str, major: int | None) -> None:
    assert doctor.java_major(version) == major


def test_java_home_goes_before_the_path(tmp_path: Path) -> None:
    def make_java(folder: Path, answer: str) -> None:
        folder.mkdir(parents=True)
        (folder / "java").write_text(f"#!/bin/sh\necho '{answer}' >&2\n")
        (folder / "java").chmod(0o755)

    make_java(tmp_path / "home" / "bin", 'openjdk version "21.0.1" 2023-10-17')
    make_java(tmp_path / "path", 'openjdk version "11.0.1"')
    path = {"PATH": f"{tmp_path / 'path'}:/usr/bin:/bin"}
    both = doctor.find_java({"JAVA_HOME": str(tmp_path / "home"), **path})
    assert both == JavaFacts(str(tmp_path / "home" / "bin" / "java"), "21.0.1")
    assert doctor.find_java(path) == JavaFacts(str(tmp_path / "path" / "java"), "11.0.1")
    assert doctor.find_java({"JAVA_HOME": str(tmp_path / "nowhere"), **path}) is None


def test_a_port_that_is_held_makes_the_command_end_with_1(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        address = f"127.0.0.1:{held.getsockname()[1]}"
        words = ["doctor", "--data-dir", str(tmp_path / "new"), "--sql-address", address]
        result = CliRunner().invoke(main, words)
    assert result.exit_code == 1
    assert f"wrong port       {address}: Address already in use" in result.output
    assert f"data-dir   {tmp_path / 'new'}\n" in result.output


def test_a_file_in_the_place_of_the_data_directory_is_found(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    facts = doctor.examine(tmp_path / "file" / "data", ())
    assert facts.data_dir_trouble == f"{tmp_path / 'file'} is not a directory"


SERVER = RunningServer(4711, frozenset({PORT.port}))


def test_a_servers_own_ports_and_memory_are_not_held_against_it() -> None:
    busy = replace(HEALTHY, ports={PORT: "Address already in use"}, memory_available_bytes=1, server=SERVER)
    assert all(finding.well for finding in doctor.judge(busy))
    assert any("is the server's own (process 4711)" in line for line in doctor.report(doctor.judge(busy)))
    others = replace(busy, server=replace(SERVER, ports=frozenset({1})))
    assert [finding.name for finding in doctor.judge(others) if not finding.well] == ["port"]


def test_a_server_that_is_not_ready_is_wrong() -> None:
    server = replace(SERVER, trouble="the cluster is starting")
    (wrong,) = [one for one in doctor.judge(replace(HEALTHY, server=server)) if not one.well]
    assert (wrong.name, wrong.found) == ("server", "process 4711 is not ready: the cluster is starting")
    assert "kill 4711" in (wrong.fix or "")


def test_a_process_that_holds_the_lock_is_found_with_its_ports(tmp_path: Path) -> None:
    assert find_server(tmp_path, HTTP) is None
    with DataDirectoryLock(tmp_path), socket.create_server(("127.0.0.1", 0)) as held:
        found = find_server(tmp_path, HTTP)
        assert found is not None
        assert found.pid == os.getpid()
        assert held.getsockname()[1] in found.ports
    assert find_server(tmp_path, HTTP) is None
