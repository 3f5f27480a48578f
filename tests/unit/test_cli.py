"""The command line: words become option values, wrong words are refused, help is complete and quick.

Method: click's runner with the bodies of `server` and `cluster` replaced by
something that keeps what it was given; a child for the time of --help.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner

from headwater.cli import main
from headwater.core.errors import TransientError, UserError
from headwater.options import (
    Address,
    ClusterOptions,
    ServerOptions,
    UnixAddress,
    parse_address,
    parse_listen_address,
)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Options that a process was started with."""
    options: list[Any] = []
    for module, function in (("headwater.server", "run_server"), ("headwater.cluster.server", "run_cluster")):
        stand_in = ModuleType(module)
        setattr(stand_in, function, options.append)
        monkeypatch.setitem(sys.modules, module, stand_in)
    return options


def run(*words: str, **environment: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, words, env=environment, prog_name="headwater")
    return result.exit_code, result.output


def test_a_server_needs_only_a_data_directory(started: list[Any], tmp_path: Path) -> None:
    assert run("server", "--data-dir", str(tmp_path)) == (0, "")
    assert started == [ServerOptions(tmp_path)]


def test_every_word_reaches_the_server(started: list[Any], tmp_path: Path) -> None:
    words = (
        f"server --data-dir {tmp_path} --sql-address 0.0.0.0:1 --internal-sql-address [::1]:2"
        " --http-address h:0 --spark-master spark://m:7077 --spark-conf a=b --spark-conf c=d=e"
        " --log-level debug --log-format json"
    )
    assert run(*words.split()) == (0, "")
    (options,) = started
    assert options.sql_address == Address("0.0.0.0", 1)
    assert options.internal_sql_address == Address("::1", 2)
    assert options.http_address == Address("h", 0)
    assert options.spark.master == "spark://m:7077"
    assert options.spark.conf == (("a", "b"), ("c", "d=e"))
    assert (options.log.level, options.log.format) == ("debug", "json")


def test_the_environment_stands_in_for_words(started: list[Any], tmp_path: Path) -> None:
    code, _ = run(
        "server",
        HEADWATER_SERVER_DATA_DIR=str(tmp_path),
        HEADWATER_SERVER_SPARK_CONF="a=b c=d",
        HEADWATER_SERVER_HTTP_ADDRESS="127.0.0.1:9",
    )
    assert code == 0
    assert started[0].spark.conf == (("a", "b"), ("c", "d"))
    assert started[0].http_address == Address("127.0.0.1", 9)


def test_a_cluster_listens_on_either_kind_of_socket(started: list[Any], tmp_path: Path) -> None:
    run("cluster", "--data-dir", str(tmp_path), "--listen", "unix:/run/c.sock", "--name", "big")
    run("cluster", "--data-dir", str(tmp_path), "--listen", "127.0.0.1:7000")
    assert started == [
        ClusterOptions(tmp_path, UnixAddress(Path("/run/c.sock")), "big"),
        ClusterOptions(tmp_path, Address("127.0.0.1", 7000)),
    ]


@pytest.mark.parametrize(
    "words",
    [
        "server",
        "server --data-dir d --sql-address nowhere",
        "server --data-dir d --sql-address h:66000",
        "server --data-dir d --spark-conf novalue",
        "server --data-dir d --log-level loud",
        "cluster --data-dir d",
        "cluster --data-dir d --listen unix:",
        "nonsense",
    ],
)
def test_wrong_words_are_refused_with_status_2(started: list[Any], words: str) -> None:
    code, output = run(*words.split())
    assert code == 2
    assert "Error: " in output
    assert started == []


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a,b", ","),
        ("a:b", ":"),
        ("st*ar", "*"),
        ("who?", "?"),
        ("[x]", "["),
        ("{x}", "{"),
        ("back\\slash", "\\"),
        ("per%20cent", "%20"),
        ("new\nline", r"\n"),
        ("tab\tx", r"\t"),
        (os.fsdecode(b"latin\xe4"), r"\udce4"),
    ],
)
@pytest.mark.parametrize("command", ["server", "demo", "doctor", "cluster --listen unix:x"])
def test_a_data_directory_that_spark_or_delta_would_misread_is_refused(
    started: list[Any], tmp_path: Path, command: str, name: str, shown: str
) -> None:
    code, output = run(*command.split(), "--data-dir", str(tmp_path / name / "data"))
    assert code == 2
    refusal = output.splitlines()[-1]
    assert f'data directory "{tmp_path}/' in refusal
    assert f'"{shown}" in a path has another meaning' in refusal
    assert "choose another one" in refusal
    assert not (tmp_path / name).exists()
    assert started == []


def test_a_link_to_a_directory_that_would_be_misread_is_refused_too(
    started: list[Any], tmp_path: Path
) -> None:
    (tmp_path / "a,b").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "a,b")
    assert run("server", "--data-dir", str(tmp_path / "link"))[0] == 2


@pytest.mark.parametrize(
    "name", ["sp ace", "it's", 'dou"ble', "ha#sh", "100%", "a=b", "$x&;", "ünï", "-x", "]}"]
)
def test_other_names_of_data_directories_are_taken_as_they_are(
    started: list[Any], tmp_path: Path, name: str
) -> None:
    assert run("server", "--data-dir", str(tmp_path / name)) == (0, "")
    assert started == [ServerOptions(tmp_path / name)]


@pytest.mark.parametrize(
    ("error", "lines"),
    [
        (UserError("no", detail="Because.", hint="Try."), "ERROR:  no\nDETAIL: Because.\nHINT:   Try.\n"),
        (TransientError("gone", hint="Wait."), "ERROR:  gone\nHINT:   Wait.\n"),
    ],
)
def test_our_errors_end_with_status_1_and_words(
    started: list[Any], monkeypatch: pytest.MonkeyPatch, error: Exception, lines: str
) -> None:
    def fail(options: ServerOptions) -> None:
        raise error

    monkeypatch.setattr(sys.modules["headwater.server"], "run_server", fail)
    assert run("server", "--data-dir", "d") == (1, lines)


@pytest.mark.parametrize("command", ["server", "cluster", "demo", "sql", "doctor"])
def test_help_names_an_environment_variable_for_every_option(command: str) -> None:
    code, output = run(command, "--help")
    assert code == 0
    options = sum(line.startswith("  --") for line in output.splitlines())
    assert options >= 2
    assert output.count(f"HEADWATER_{command.upper()}_") == options


def test_help_imports_none_of_the_heavy_packages() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from headwater.cli import main\n"
        "assert CliRunner().invoke(main, ['server', '--help']).exit_code == 0\n"
        "heavy = {'pyarrow', 'duckdb', 'pyspark', 'structlog', 'starlette', 'rich', 'asyncio'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert (child.returncode, child.stderr) == (0, "")


@pytest.mark.parametrize("text", ["127.0.0.1:6875", "[::1]:1", "db.local:0"])
def test_an_address_prints_as_it_was_written(text: str) -> None:
    assert str(parse_address(text)) == text
    assert str(parse_listen_address(text)) == text


@pytest.mark.parametrize("text", ["", "6875", ":1", "::1:1", "h:", "h:-1", "h:1x", "h:¹"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UserError):
        parse_address(text)
