"""mz_catalog and mz_internal: what they say of a catalog with a little of everything.

Method: the populated catalog and its facts are looked at relation by relation; tools
match on these columns, so they are compared in full.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from headwater.catalog.audit import AuditEvent
from headwater.catalog.builtin.facts import Frontiers, SystemFacts
from headwater.catalog.builtin.lives import histories
from headwater.catalog.builtin.objects import redacted
from headwater.catalog.details import Ingestion
from headwater.catalog.state import SYSTEM_SCHEMA_IDS, CatalogState, Item
from headwater.catalog.updates import AlterCluster, CreateItem
from tests.unit.catalog.builtin.facts import NOW_MS, full_facts, rows, user_rows
from tests.unit.catalog.populated import PROGRESS, populated_state, state_after


def at(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, tz=UTC)


def interval(milliseconds: int) -> dict[str, int]:
    return {"months": 0, "days": 0, "microseconds": milliseconds * 1_000}


def test_objects_of_users_and_of_the_system_are_listed_together() -> None:
    types = {row["id"]: row["type"] for row in rows("mz_catalog.mz_objects")}
    assert {i: t for i, t in types.items() if i.startswith("u")} == {
        "u1": "source",
        "u2": "table",
        "u3": "table",
        "u4": "view",
        "u5": "table",
        "u6": "view",
    }
    names = {(row["schema_id"], row["name"]) for row in rows("mz_catalog.mz_objects")}
    assert (SYSTEM_SCHEMA_IDS["mz_catalog"], "mz_objects") in names
    assert (SYSTEM_SCHEMA_IDS["pg_catalog"], "int4") in names
    assert len(types) == len(rows("mz_catalog.mz_objects")), "ids are unique"


def test_relations_leave_out_what_has_no_rows() -> None:
    assert "type" not in {row["type"] for row in rows("mz_catalog.mz_relations")}
    assert user_rows("mz_catalog.mz_relations").keys() == {"u1", "u2", "u3", "u4", "u5", "u6"}


def test_temporary_objects_are_in_schema_0() -> None:
    assert user_rows("mz_catalog.mz_relations")["u6"]["schema_id"] == "0"
    columns = [row for row in rows("mz_catalog.mz_columns") if row["id"] == "u6"]
    assert [(c["name"], c["type"], c["nullable"]) for c in columns] == [("n", "integer", False)]


def test_columns_have_their_types_modifiers_and_defaults() -> None:
    columns = [row for row in rows("mz_catalog.mz_columns") if row["id"] == "u2"]
    assert [(c["name"], c["position"], c["nullable"], c["type"], c["default"]) for c in columns] == [
        ("id", 1, False, "bigint", None),
        ("item", 2, True, "character varying", None),
        ("amount", 3, True, "numeric", "0"),
        ("tags", 4, True, "text[]", None),
        ("notes", 5, True, "text list", None),
        ("facts", 6, True, "map[text=>integer]", None),
    ]
    assert [(c["type_oid"], c["type_mod"]) for c in columns[:3]] == [
        (20, -1),
        (1043, 24),
        (1700, ((39 << 16) | 2) + 4),
    ]


def test_a_new_source_has_the_columns_of_its_progress() -> None:
    columns = [row["name"] for row in rows("mz_catalog.mz_columns") if row["id"] == "u1"]
    assert columns == ["offset"]


def test_a_table_names_the_source_that_feeds_it() -> None:
    tables = user_rows("mz_catalog.mz_tables")
    assert {i: t["source_id"] for i, t in tables.items()} == {"u2": "u1", "u3": None, "u5": None}
    assert "'<REDACTED>'" in tables["u2"]["redacted_create_sql"]
    assert "'bids'" in tables["u2"]["create_sql"]


def test_sources_have_their_type_and_cluster() -> None:
    (source,) = rows("mz_catalog.mz_sources")
    assert (source["type"], source["cluster_id"], source["envelope_type"], source["connection_id"]) == (
        "load-generator",
        "u1",
        None,
        None,
    )
    assert source["privileges"] == ["u1=r/u1"]


def test_views_have_their_query() -> None:
    views = user_rows("mz_catalog.mz_views")
    assert views["u4"]["definition"] == "SELECT 'x' AS a;"
    assert views["u4"]["redacted_create_sql"].endswith("AS SELECT '<REDACTED>' AS a;")


def test_redaction_keeps_quoted_identifiers() -> None:
    assert redacted("SELECT 'it''s' AS \"a'1\", 15.5, t1 FROM x") == (
        "SELECT '<REDACTED>' AS \"a'1\", '<REDACTED>', t1 FROM x"
    )


def test_databases_schemas_and_roles_are_listed() -> None:
    assert [row["name"] for row in rows("mz_catalog.mz_databases")] == ["materialize", "other"]
    schemas = {row["id"]: (row["database_id"], row["name"]) for row in rows("mz_catalog.mz_schemas")}
    assert schemas["u2"] == ("u2", "public")
    assert schemas[SYSTEM_SCHEMA_IDS["mz_internal"]] == (None, "mz_internal")
    assert {row["name"] for row in rows("mz_catalog.mz_roles")} == {
        "mz_system",
        "materialize",
        "ann",
        "readers",
    }
    assert [row["name"] for row in rows("mz_internal.mz_show_roles")] == ["materialize", "ann", "readers"]


def test_replicas_follow_the_replication_factor() -> None:
    assert [(r["id"], r["name"], r["cluster_id"]) for r in rows("mz_catalog.mz_cluster_replicas")] == [
        ("u1", "r1", "u1")
    ]
    paused = SystemFacts(state_after([AlterCluster("u1", replication_factor=0)], populated_state()))
    assert rows("mz_catalog.mz_cluster_replicas", paused) == []
    shown = rows("mz_internal.mz_show_clusters", paused)[0]
    assert (shown["replicas"], shown["activity"]) == (None, "paused")
    assert rows("mz_internal.mz_show_clusters")[0] == {
        "name": "quickstart",
        "replicas": "r1 (local)",
        "activity": "active",
        "comment": "the usual one",
    }
    (replica,) = rows("mz_internal.mz_show_cluster_replicas")
    assert replica["ready"] is True


def test_a_table_from_a_source_shows_its_own_status() -> None:
    statuses = user_rows("mz_internal.mz_source_statuses")
    assert statuses["u1"]["status"] == "running"
    assert statuses["u1"]["type"] == "load-generator"
    assert statuses["u2"] == {
        "id": "u2",
        "name": "bids",
        "type": "table",
        "last_status_change_at": at(NOW_MS - 4_000),
        "status": "starting",
        "error": None,
        "details": '{"hints": ["wait"]}',
    }
    assert statuses.keys() == {"u1", "u2"}, "plain tables and views have no status"


def test_what_has_no_history_is_created() -> None:
    statuses = user_rows("mz_internal.mz_source_statuses", facts=SystemFacts(populated_state()))
    assert [(s["status"], s["last_status_change_at"]) for s in statuses.values()] == [("created", None)] * 2


@pytest.mark.parametrize("source_type", ["webhook", "progress"])
def test_webhooks_and_progress_always_run(source_type: str) -> None:
    details = Ingestion(source_type, {}, 1_000, 1_000)
    item = Item("u40", 20_400, "u1", "hook", "source", "", PROGRESS, details=details)
    facts = SystemFacts(state_after([CreateItem(item)], populated_state()))
    assert user_rows("mz_internal.mz_source_statuses", facts=facts)["u40"]["status"] == "running"


def test_status_history_keeps_objects_that_are_gone() -> None:
    assert [
        (r["source_id"], r["status"], r["details"]) for r in rows("mz_internal.mz_source_status_history")
    ] == [
        ("u1", "starting", None),
        ("u9", "dropped", '{"a": 2, "b": 1}'),
    ]


def test_a_source_adds_the_statistics_of_its_tables() -> None:
    statistics = user_rows("mz_internal.mz_source_statistics")
    assert statistics.keys() == {"u1", "u2"}, "rows of dropped objects disappear"
    source = statistics["u1"]
    assert source["messages_received"] == Decimal(11)
    assert source["bytes_received"] == Decimal(100)
    assert (source["offset_known"], source["offset_committed"]) == (Decimal(90), Decimal(80))
    assert source["snapshot_committed"] is True
    assert source["rehydration_latency"] == interval(1_500)
    assert statistics["u2"]["messages_received"] == Decimal(10)
    raw = {row["id"]: row["messages_received"] for row in rows("mz_internal.mz_source_statistics_raw")}
    assert raw == {"u1": 1, "u2": 10, "u9": 7}


def test_a_source_that_says_nothing_itself_still_has_a_row() -> None:
    facts = full_facts()
    only_table = replace(facts, statistics=lambda: facts.statistics()[1:2])
    assert user_rows("mz_internal.mz_source_statistics", facts=only_table)["u1"]["messages_received"] == 10


def test_the_frontier_of_what_is_finished_is_null() -> None:
    frontiers = user_rows("mz_internal.mz_frontiers", "object_id")
    assert frontiers["u1"]["write_frontier"] is None
    assert frontiers["u3"]["write_frontier"] == 0
    assert [row["object_id"] for row in rows("mz_internal.mz_global_frontiers")] == ["u2", "u3"]
    assert rows("mz_catalog.mz_cluster_replica_frontiers") == [
        {"object_id": "u1", "replica_id": "u1", "write_frontier": None},
        {"object_id": "u2", "replica_id": "u1", "write_frontier": NOW_MS - 2_000},
    ]


def test_lag_is_measured_against_the_clock() -> None:
    lags = {row["object_id"]: row["lag"] for row in rows("mz_internal.mz_wallclock_global_lag")}
    assert lags == {"u1": interval(0), "u2": interval(2_000), "u3": None}
    ahead = replace(full_facts(), frontiers=lambda: (Frontiers("u2", 0, NOW_MS + 500),))
    assert rows("mz_internal.mz_wallclock_global_lag", ahead)[0]["lag"] == interval(0)


def test_the_history_of_lag_takes_the_fastest_replica() -> None:
    history = rows("mz_internal.mz_wallclock_global_lag_history")
    assert [(row["lag"], row["occurred_at"]) for row in history] == [
        (interval(300), at(NOW_MS - 60_000)),
        (None, at(NOW_MS - 200_000_000)),
    ]
    (recent,) = rows("mz_internal.mz_wallclock_global_lag_recent_history")
    assert at(NOW_MS) - recent["occurred_at"] < timedelta(days=1)
    assert len(rows("mz_internal.mz_wallclock_lag_history")) == 3


def test_a_plain_table_is_hydrated_and_one_from_a_source_when_it_is_said() -> None:
    hydrated = {row["object_id"]: row["hydrated"] for row in rows("mz_internal.mz_hydration_statuses")}
    assert hydrated == {"u2": True, "u1": False, "u3": True, "u5": True}


def test_references_show_the_last_part_of_their_namespace() -> None:
    assert rows("mz_internal.mz_source_references") == [
        {
            "source_id": "u1",
            "namespace": "auction",
            "name": "bids",
            "updated_at": at(1_000),
            "columns": ["id"],
        },
        {"source_id": "u1", "namespace": None, "name": "topic", "updated_at": at(1_000), "columns": None},
    ]


def test_dependencies_are_listed_near_and_far() -> None:
    def links(name: str) -> set[tuple[str, str]]:
        return {(row["object_id"], row["referenced_object_id"]) for row in rows(name)}

    near = {("u2", "u1"), ("u4", "u2"), ("u4", "u3"), ("u6", "u4")}
    assert links("mz_internal.mz_object_dependencies") == near
    far = near | {("u4", "u1"), ("u6", "u2"), ("u6", "u3"), ("u6", "u1")}
    assert links("mz_internal.mz_object_transitive_dependencies") == far
    assert len(rows("mz_internal.mz_object_transitive_dependencies")) == len(far)


def test_full_names_have_all_their_parts() -> None:
    named = user_rows("mz_internal.mz_object_fully_qualified_names")
    assert (named["u4"]["database_name"], named["u4"]["schema_name"], named["u4"]["name"]) == (
        "materialize",
        "Odd Schema",
        "Big Bids",
    )
    assert (named["u6"]["database_name"], named["u6"]["schema_name"]) == (None, "mz_temp")


def test_lives_are_read_from_the_audit_log() -> None:
    lifetimes = rows("mz_internal.mz_object_lifetimes")
    assert [(row["id"], row["object_type"], row["event_type"]) for row in lifetimes] == [
        ("u1", "source", "create"),
        ("u9", "table", "create"),
        ("u9", "table", "drop"),
        ("u1", "cluster-replica", "create"),
    ]
    history = {(row["object_type"], row["id"]): row for row in rows("mz_internal.mz_object_history")}
    assert history["table", "u9"]["dropped_at"] == at(NOW_MS - 6_000)
    assert history["source", "u1"]["dropped_at"] is None
    assert history["source", "u1"]["cluster_id"] == "u1"
    assert rows("mz_catalog.mz_audit_events")[0]["details"] == '{"id": "u1", "cluster_id": "u1"}'


def test_an_object_that_became_another_kind_has_one_life_and_a_replica_that_came_back_has_two() -> None:
    def event(number: int, what: str, kind: str, **details: object) -> AuditEvent:
        return AuditEvent(number, what, kind, details, "ann", number)

    lives = histories(
        [
            event(1, "create", "source", id="u1", item="n_progress", cluster_id="u1"),
            event(2, "create", "source", id="u2", item="n"),
            event(3, "create", "cluster", id="u2", name="c"),
            event(4, "create", "cluster-replica", replica_id="u17", cluster_id="u2"),
            event(5, "alter", "table", id="u2", item="n"),  # the migration
            event(6, "alter", "table", id="u2", old_name={}, new_name={}),
            event(7, "drop", "cluster-replica", replica_id="u17", cluster_id="u2"),
            event(8, "create", "cluster-replica", replica_id="u17", cluster_id="u2"),
            event(9, "drop", "table", id="u2", item="n"),
        ]
    )
    assert [(x.id, x.object_type, x.cluster_id, x.created_at_ms, x.dropped_at_ms) for x in lives] == [
        ("u1", "source", "u1", 1, None),
        ("u2", "table", None, 2, 9),
        ("u2", "cluster", None, 3, None),
        ("u17", "cluster-replica", "u2", 4, 7),
        ("u17", "cluster-replica", "u2", 8, None),
    ]


def test_comments_are_shown_with_their_objects() -> None:
    comments = {
        (row["object_type"], row["object_sub_id"]): row["comment"]
        for row in rows("mz_internal.mz_comments")
        if row["id"] == "u2"
    }
    assert comments == {("table", None): "what people offer", ("table", 3): "in cents"}
    tables = {(row["schema_id"], row["name"]): row for row in rows("mz_internal.mz_show_tables")}
    assert tables["u1", "bids"]["comment"] == "what people offer"
    assert tables["u1", "plain"]["comment"] == ""
    columns = [row for row in rows("mz_internal.mz_show_columns") if row["id"] == "u2"]
    assert [row["comment"] for row in columns] == ["", "", "in cents", "", "", ""]
    schemas = {(row["database_id"], row["name"]): row for row in rows("mz_internal.mz_show_schemas")}
    assert schemas["u1", "public"]["comment"] == "for everybody"
    objects = {(row["schema_id"], row["name"]): row for row in rows("mz_internal.mz_show_all_objects")}
    assert objects["u1", "bids"]["type"] == "table"
    assert objects["u1", "bids"]["comment"] == "what people offer"


def test_show_sources_names_the_cluster() -> None:
    assert rows("mz_internal.mz_show_sources") == [
        {
            "id": "u1",
            "name": "auction",
            "type": "load-generator",
            "cluster": "quickstart",
            "schema_id": "u1",
            "cluster_id": "u1",
            "comment": "",
        }
    ]


def test_history_is_kept_as_long_as_was_asked_or_a_second() -> None:
    kept = user_rows("mz_internal.mz_history_retention_strategies")
    assert {i: (row["strategy"], row["value"]) for i, row in kept.items()} == {
        "u1": ("FOR", "5000"),
        "u2": ("FOR", "1000"),
        "u3": ("FOR", "1000"),
        "u5": ("FOR", "1000"),
    }


def test_an_empty_catalog_still_knows_the_system() -> None:
    empty = SystemFacts(CatalogState())
    assert rows("mz_catalog.mz_objects", empty)
    assert rows("mz_catalog.mz_sources", empty) == []
