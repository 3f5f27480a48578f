"""Variables: each has its default, can be set, shown and reset, and refuses what it does not take.

Method: a session's settings without a session.  The names and defaults that clients and their test
suites rely on are listed here by hand, because a table that is compared with itself proves nothing.
"""

from __future__ import annotations

import pytest

from headwater.coordinator.variables import VARIABLES, Settings, duration_s, find
from headwater.core.errors import UserError

# name -> (default, a value that is taken, how SHOW prints that, a value that is refused)
TAKEN = {
    "application_name": ("", "psql", "psql", None),
    "auto_route_catalog_queries": ("on", "off", "off", "perhaps"),
    "client_encoding": ("UTF8", "utf-8", "UTF8", "latin1"),
    "client_min_messages": ("notice", "WARNING", "warning", "whisper"),
    "cluster": ("quickstart", "ingest", "ingest", None),
    "cluster_replica": ("", "r1", "r1", None),
    "current_object_missing_warnings": ("on", "false", "off", "2"),
    "database": ("materialize", "other", "other", None),
    "datestyle": ("ISO, MDY", "ISO", "ISO, MDY", "German"),
    "emit_introspection_query_notice": ("off", "on", "on", "maybe"),
    "emit_plan_insights_notice": ("off", "t", "on", "maybe"),
    "emit_timestamp_notice": ("off", "true", "on", "maybe"),
    "emit_trace_id_notice": ("off", "1", "on", "maybe"),
    "extra_float_digits": ("3", "+0", "0", "--1"),
    "idle_in_transaction_session_timeout": ("120 s", "5min", "300 s", "-1"),
    "intervalstyle": ("postgres", "POSTGRES", "postgres", "iso_8601"),
    "max_query_result_size": ("1GB", "64 mb", "64MB", "lots"),
    "real_time_recency": ("off", "yes", "on", "soon"),
    "real_time_recency_timeout": ("10 s", "250", "250 ms", "never"),
    "schema": ("public", "staging", "staging", None),
    "search_path": ("public", "staging, public", "staging, public", None),
    "statement_timeout": ("0 s", "1 min", "60 s", "-1s"),
    "timezone": ("UTC", "europe/berlin", "Europe/Berlin", None),
    "transaction_isolation": ("strict serializable", "SERIALIZABLE", "serializable", "chaos"),
    "welcome_message": ("on", "no", "off", "hello"),
}


@pytest.mark.parametrize("name", TAKEN)
def test_a_variable_can_be_set_shown_and_reset(name: str) -> None:
    default, value, shown, _ = TAKEN[name]
    settings = Settings({})
    assert settings.get(name) == default
    settings.set(name.upper(), value)
    assert settings.get(name) == shown
    assert {v.name: text for v, text in settings.all()}[find(name).name] == shown
    settings.set(name, None)
    assert settings.get(name) == default
    settings.set(name, value)
    settings.reset_all()
    assert settings.get(name) == default


@pytest.mark.parametrize("name", [name for name, facts in TAKEN.items() if facts[3] is not None])
def test_a_value_that_a_variable_does_not_take_is_refused_and_the_hint_says_what_it_takes(name: str) -> None:
    settings = Settings({})
    wrong = str(TAKEN[name][3])
    with pytest.raises(UserError) as refused:
        settings.set(name, wrong)
    assert refused.value.sqlstate == "22023"
    assert refused.value.message == f'parameter "{name}" cannot have value "{wrong}"'
    assert refused.value.hint is not None
    assert refused.value.hint.startswith("It takes ")
    assert "invalid literal" not in refused.value.hint
    assert settings.get(name) == TAKEN[name][0]


def test_a_zone_that_there_is_not_is_refused_with_the_words_of_postgresql() -> None:
    settings = Settings({})
    with pytest.raises(UserError) as refused:
        settings.set("timezone", "Mars/Olympus")
    assert refused.value.sqlstate == "22023"
    assert refused.value.message == 'invalid value for parameter "TimeZone": "Mars/Olympus"'
    assert settings.get("timezone") == "UTC"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("datestyle", "SQL,DMY"),
        ("DateStyle", "ISO, DMY"),
        ("datestyle", "german"),
        ("intervalstyle", "iso_8601"),
        ("client_encoding", "LATIN1"),
        ("client_encoding", "'win-1252'"),
    ],
)
def test_a_client_that_begins_with_what_only_postgresql_has_may_come_in(name: str, value: str) -> None:
    settings = Settings({})
    waived = settings.start(name, value)
    assert waived is not None
    assert waived.hint is not None
    assert settings.get(name) == find(name).default
    with pytest.raises(UserError):
        settings.set(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("datestyle", "SQL,Tuesday"),
        ("datestyle", "SQL, German"),
        ("datestyle", "dmy, mdy"),
        ("intervalstyle", "long"),
        ("client_encoding", "EBCDIC"),
        ("standard_conforming_strings", "off"),
    ],
)
def test_a_client_that_begins_with_what_nobody_has_may_not(name: str, value: str) -> None:
    with pytest.raises(UserError):
        Settings({}).start(name, value)


@pytest.mark.parametrize("style", ["ISO", "iso, mdy", "ISO,MDY", "MDY", "'ISO', 'MDY'", "iso, us"])
def test_a_style_of_dates_that_is_ours_is_taken_however_it_is_written(style: str) -> None:
    settings = Settings({})
    assert settings.start("DateStyle", style) is None
    settings.set("DateStyle", style)
    assert settings.get("datestyle") == "ISO, MDY"


def test_every_variable_that_can_be_set_takes_its_own_default() -> None:
    settings = Settings({})
    for variable in VARIABLES.values():
        if variable.changeable and not variable.system:
            settings.set(variable.name, variable.default)
            assert settings.get(variable.name) == variable.default


def test_clients_are_told_of_what_they_expect() -> None:
    assert set(Settings({}).reported()) >= {
        "application_name", "client_encoding", "DateStyle", "integer_datetimes", "server_version",
        "standard_conforming_strings", "TimeZone", "IntervalStyle", "cluster", "cluster_replica", "database",
        "search_path", "default_cluster_replication_factor", "mz_version",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "seconds"), [("0", 0.0), ("1500", 1.5), ("2s", 2.0), ("5 minutes", 300.0), ("1 day", 86_400.0)]
)
def test_a_duration_is_milliseconds_or_has_a_unit(text: str, seconds: float) -> None:
    settings = Settings({})
    settings.set("statement_timeout", text)
    assert duration_s(settings.get("statement_timeout")) == seconds


@pytest.mark.parametrize("text", ["-1", "2147483648", "100 years", "", "ten", "1e3"])
def test_what_is_no_duration_or_too_long_a_one_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="cannot have value"):
        Settings({}).set("statement_timeout", text)


def test_an_unknown_variable_is_named_as_it_would_be_looked_up() -> None:
    with pytest.raises(UserError, match='unrecognized configuration parameter "no_such_thing"'):
        Settings({}).get("No_Such_Thing")


def test_reset_goes_back_to_what_came_with_the_connection() -> None:
    settings = Settings({"cluster": "of_the_server"})
    settings.start("application_name", "psql")
    settings.start("database", "shop")
    settings.set("application_name", "other")
    settings.set("application_name", None)
    assert settings.get("application_name") == "psql"
    settings.set("database", "other")
    settings.reset_all()
    assert (settings.get("database"), settings.get("cluster")) == ("shop", "of_the_server")


def test_of_set_and_set_local_the_later_one_counts() -> None:
    settings = Settings({})
    settings.begin()
    settings.set("application_name", "session")
    settings.set("application_name", "local", local=True)
    assert settings.get("application_name") == "local"
    settings.set("application_name", "session again")
    assert settings.get("application_name") == "session again"
    settings.set("application_name", "local", local=True)
    settings.set("application_name", None, local=True)
    assert settings.get("application_name") == ""
    settings.end(committed=True)
    assert settings.get("application_name") == "session again"


def test_a_rollback_undoes_what_the_block_has_set() -> None:
    settings = Settings({})
    settings.set("application_name", "before")
    settings.begin()
    settings.set("application_name", "inside")
    kept = settings.keep()
    settings.set("application_name", "later")
    settings.set("search_path", "local", local=True)
    settings.go_back(kept)
    assert (settings.get("application_name"), settings.get("search_path")) == ("inside", "public")
    settings.reset_all()
    settings.go_back(kept)
    assert settings.get("application_name") == "inside", (
        "what is kept is a copy, and may be gone back to again"
    )
    settings.end(committed=False)
    assert settings.get("application_name") == "before"


def test_a_transaction_begins_with_the_modes_that_are_the_default_and_keeps_them() -> None:
    settings = Settings({"transaction_isolation": "serializable"})
    assert settings.get("transaction_isolation") == "serializable", "of a server that was told before"
    settings.set("transaction_read_only", "on")
    assert settings.get("transaction_read_only") == "off", "there is no transaction whose mode it could be"
    settings.set("default_transaction_read_only", "on")
    settings.begin()
    settings.set("default_transaction_read_only", "off")
    settings.set("default_transaction_isolation", "strict serializable")
    settings.reset_all()
    assert settings.get("transaction_read_only") == "on"
    assert settings.get("transaction_isolation") == "serializable"
    settings.set("transaction_isolation", "strict serializable")
    settings.end(committed=True)
    assert settings.get("transaction_read_only") == "off"
    assert settings.get("transaction_isolation") == "strict serializable"


def test_a_mode_that_came_with_the_connection_is_the_default() -> None:
    settings = Settings({})
    settings.start("default_transaction_read_only", "on")
    settings.start("transaction_isolation", "serializable")
    assert settings.get("transaction_read_only") == "on"
    assert settings.get("default_transaction_isolation") == "serializable"
    settings.set("transaction_isolation", "strict serializable")
    settings.set("transaction_isolation", None)
    assert settings.get("transaction_isolation") == "serializable"
