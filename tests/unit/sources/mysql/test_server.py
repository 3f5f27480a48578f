"""Which settings of a server keep changes out of its log, and what is said of them."""

from __future__ import annotations

import pytest

from headwater.sources.mysql.facts import Flavour, ServerFacts
from headwater.sources.mysql.server import (
    configuration,
    logs_cascades,
    names_columns,
    settings_error,
    unlogged,
)

MYSQL = {
    "log_bin": "ON",
    "binlog_format": "ROW",
    "binlog_row_image": "FULL",
    "binlog_row_metadata": "FULL",
    "gtid_mode": "ON",
    "enforce_gtid_consistency": "ON",
    "replica_parallel_workers": "4",
    "replica_preserve_commit_order": "ON",
}
MARIADB = {"log_bin": "ON", "binlog_format": "ROW", "binlog_row_image": "FULL", "gtid_slave_pos": ""}


def server(flavour: Flavour, **other: str) -> ServerFacts:
    known = MYSQL if flavour == "mysql" else MARIADB
    version = (9, 7, 0) if flavour == "mysql" else (10, 11, 6)
    return ServerFacts(flavour, version, 1, {**known, **other})


def test_a_server_that_is_set_up_has_nothing_wrong() -> None:
    for flavour in ("mysql", "mariadb"):
        assert settings_error(server(flavour)) is None
        assert configuration(server(flavour)) is None


def test_what_is_wrong_is_told_with_what_sets_it_right() -> None:
    error = settings_error(server("mysql", binlog_format="MIXED", log_bin="OFF", gtid_mode="ON_PERMISSIVE"))
    assert error is not None
    assert error.message == "Invalid MySQL system replication settings"
    assert error.detail == (
        "Invalid MySQL system replication settings: log_bin: expected 1, got 0;"
        " binlog_format: expected ROW, got MIXED; gtid_mode: expected ON, got ON_PERMISSIVE"
    )
    assert error.hint is not None
    assert "SET PERSIST binlog_format = 'ROW'" in error.hint
    assert "gtid_mode = OFF_PERMISSIVE, then ON_PERMISSIVE, then ON" in error.hint


def test_a_source_that_runs_says_it_in_one_line() -> None:
    assert configuration(server("mariadb", binlog_row_image="MINIMAL")) == (
        "mysql server configuration: binlog_row_image: expected FULL, got MINIMAL"
    )


@pytest.mark.parametrize(
    ("name", "value", "loses"),
    [
        ("log_bin", "OFF", True),
        ("gtid_mode", "OFF", True),
        ("gtid_mode", "OFF_PERMISSIVE", True),
        ("gtid_mode", "ON_PERMISSIVE", False),
        ("log_replica_updates", "OFF", True),
        ("binlog_format", "STATEMENT", False),
        ("binlog_row_image", "MINIMAL", False),
    ],
)
def test_changes_are_lost_for_good_where_the_log_has_them_not_at_all_or_without_a_name(
    name: str, value: str, loses: bool
) -> None:
    found = server("mysql", **{name: value})
    assert configuration(found) is not None
    assert (unlogged(found) is not None) == loses


def test_a_replica_must_commit_in_order_if_it_works_in_parallel() -> None:
    unordered = {"replica_preserve_commit_order": "OFF"}
    error = settings_error(server("mysql", **unordered))
    assert error is not None
    assert "replica_preserve_commit_order: expected 1, got 0" in str(error.detail)
    assert settings_error(server("mysql", **unordered, replica_parallel_workers="1")) is None


def test_a_mysql_must_log_what_it_is_told_as_a_replica() -> None:
    for name in ("log_replica_updates", "log_slave_updates"):
        error = settings_error(server("mysql", **{name: "OFF"}))
        assert error is not None
        assert f"{name}: expected 1, got 0" in str(error.detail)


def test_a_mariadb_that_is_a_replica_must_log_what_it_is_told() -> None:
    assert settings_error(server("mariadb", log_slave_updates="OFF")) is None
    error = settings_error(server("mariadb", log_slave_updates="OFF", gtid_slave_pos="0-1-7"))
    assert error is not None
    assert "log_slave_updates: expected 1, got 0" in str(error.detail)


def test_a_variable_that_a_server_has_not_is_not_asked_of_it() -> None:
    """Binary logs of the future have rows only."""
    without = {name: value for name, value in MYSQL.items() if name != "binlog_format"}
    assert settings_error(ServerFacts("mysql", (10, 0, 0), 1, without)) is None


def test_names_of_columns_are_logged_with_full_metadata_only() -> None:
    assert names_columns(server("mysql"))
    assert not names_columns(server("mysql", binlog_row_metadata="MINIMAL"))
    assert not names_columns(server("mariadb"))


def test_cascades_are_logged_by_newer_mysqls() -> None:
    assert logs_cascades(server("mysql"))
    assert not logs_cascades(server("mysql", innodb_native_foreign_keys="ON"))
    assert not logs_cascades(ServerFacts("mysql", (8, 4, 0), 1, MYSQL))
    assert not logs_cascades(server("mariadb"))
