"""pg_catalog and information_schema: what PostgreSQL's clients find.

Method: the populated catalog is looked at as two databases' sessions; keys of
relations are followed from one relation to the next as clients join them.
"""

from __future__ import annotations

from dataclasses import replace

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.oids import default_oid, key_oid, rewrite_oid
from headwater.core.types import FACTS
from tests.unit.catalog.builtin.facts import full_facts, rows
from tests.unit.catalog.populated import SESSION_PID, populated_state

OTHER = replace(full_facts(), database="other", backend_pid=1)


def user_oids(facts: SystemFacts | None = None) -> set[int]:
    return {row["oid"] for row in rows("pg_catalog.pg_class", facts) if row["oid"] >= 20_000}


def test_a_session_sees_its_database_and_its_temporary_objects() -> None:
    assert user_oids() == {20_010, 20_011, 20_012, 20_013, 20_015}
    assert user_oids(OTHER) == {20_014}
    assert user_oids(replace(full_facts(), backend_pid=1)) == {20_010, 20_011, 20_012, 20_013}
    assert user_oids(replace(full_facts(), database="nowhere", backend_pid=1)) == set()


def test_kinds_are_those_psql_knows() -> None:
    kinds = {row["oid"]: (row["relkind"], row["relpersistence"]) for row in rows("pg_catalog.pg_class")}
    assert kinds[20_010] == ("r", "p")
    assert kinds[20_011] == ("r", "p")
    assert kinds[20_013] == ("v", "p")
    assert kinds[20_015] == ("v", "t")
    assert kinds[1259] == ("r", "p")


def test_every_relation_has_its_schema_its_owner_and_as_many_attributes_as_it_says() -> None:
    schemas = {row["oid"] for row in rows("pg_catalog.pg_namespace")}
    roles = {row["oid"] for row in rows("pg_catalog.pg_roles")}
    types = {row["oid"] for row in rows("pg_catalog.pg_type")}
    attributes = rows("pg_catalog.pg_attribute")
    for relation in rows("pg_catalog.pg_class"):
        assert relation["relnamespace"] in schemas
        assert relation["relowner"] in roles
        own = [a for a in attributes if a["attrelid"] == relation["oid"]]
        assert len(own) == relation["relnatts"]
        assert [a["attnum"] for a in own] == list(range(1, len(own) + 1))
    assert {a["atttypid"] for a in attributes} <= types


def test_attributes_say_what_the_columns_are() -> None:
    attributes = [a for a in rows("pg_catalog.pg_attribute") if a["attrelid"] == 20_011]
    by_name = {a["attname"]: a for a in attributes}
    assert by_name["id"]["attnotnull"] is True
    assert by_name["item"]["atttypmod"] == 24
    assert by_name["item"]["attcollation"] == 100
    assert by_name["amount"]["atthasdef"] is True
    assert by_name["tags"]["attndims"] == 1
    assert by_name["tags"]["atttypid"] == FACTS["text"].array_oid


def test_defaults_are_found_through_their_column() -> None:
    defaults = {(row["adrelid"], row["adnum"]): row["adbin"] for row in rows("pg_catalog.pg_attrdef")}
    assert defaults == {(20_011, 3): "0", (20_012, 3): "0"}


def test_a_key_is_found_as_constraint_and_index_but_is_no_relation() -> None:
    constraints = {row["conrelid"]: row for row in rows("pg_catalog.pg_constraint")}
    indexes = {row["indexrelid"]: row for row in rows("pg_catalog.pg_index")}
    key = constraints[20_011]
    assert (key["contype"], key["conname"], key["conkey"]) == ("p", "bids_pkey", [1])
    index = indexes[key["conindid"]]
    assert (index["indrelid"], index["indisprimary"], index["indkey"]) == (20_011, True, [1])
    assert key["conindid"] not in {row["oid"] for row in rows("pg_catalog.pg_class")}
    assert [
        (row["table_name"], row["constraint_name"], row["column_name"], row["ordinal_position"])
        for row in rows("information_schema.key_column_usage")
    ] == [("bids", "bids_pkey", "id", 1), ("plain", "plain_pkey", "id", 1)]
    assert {row["constraint_type"] for row in rows("information_schema.table_constraints")} == {"PRIMARY KEY"}


def test_what_a_view_reads_is_found_through_its_rule() -> None:
    rules = {row["oid"]: row["ev_class"] for row in rows("pg_catalog.pg_rewrite")}
    found = rows("pg_catalog.pg_depend")
    links = {(rules[row["objid"]], row["refobjid"]) for row in found if row["deptype"] == "n"}
    assert links == {(20_013, 20_011), (20_013, 20_012), (20_015, 20_013)}


def test_what_postgresql_does_not_have_belongs_to_an_extension() -> None:
    schemas = {row["oid"]: row["nspname"] for row in rows("pg_catalog.pg_namespace")}
    relations = {row["oid"]: schemas[row["relnamespace"]] for row in rows("pg_catalog.pg_class")}
    members = {row["objid"] for row in rows("pg_catalog.pg_depend") if row["deptype"] == "e"}
    assert {schemas[oid] for oid in members & schemas.keys()} == {"mz_catalog", "mz_internal", "mz_temp"}
    assert {relations[oid] for oid in members & relations.keys()} == {"mz_catalog", "mz_internal"}
    left = {schema for oid, schema in relations.items() if oid not in members}
    assert not left & {"mz_catalog", "mz_internal"}
    assert [row["extname"] for row in rows("pg_catalog.pg_extension")] == ["headwater"]


def test_computed_oids_do_not_meet() -> None:
    items = range(20_000, 21_000)
    oids = [
        *items,
        *(key_oid(oid) for oid in items),
        *(rewrite_oid(oid) for oid in items),
        *(default_oid(oid, number) for oid in items for number in (1, 2, 1_600)),
    ]
    assert len(set(oids)) == len(oids)
    assert max(oids) < 2**32


def test_types_and_their_arrays_name_each_other() -> None:
    types = {row["oid"]: row for row in rows("pg_catalog.pg_type")}
    assert types[23]["typname"] == "int4"
    assert types[types[23]["typarray"]]["typelem"] == 23
    assert types[types[23]["typarray"]]["typname"] == "_int4"
    for row in types.values():
        if row["typarray"]:
            assert types[row["typarray"]]["typelem"] == row["oid"]


def test_comments_are_found_by_the_catalog_they_belong_to() -> None:
    comments = {
        (row["classoid"], row["objoid"], row["objsubid"]): row["description"]
        for row in rows("pg_catalog.pg_description")
        if row["objoid"] >= 20_000
    }
    assert comments == {
        (1259, 20_011, 0): "what people offer",
        (1259, 20_011, 3): "in cents",
        (2615, 20_002, 0): "for everybody",
    }
    assert [(row["classoid"], row["description"]) for row in rows("pg_catalog.pg_shdescription")] == [
        (1262, "the first"),
        (1260, "the usual one"),
    ]
    assert not [r for r in rows("pg_catalog.pg_description", OTHER) if r["objoid"] >= 20_000]


def test_views_show_their_queries() -> None:
    views = {row["viewname"]: row["definition"] for row in rows("pg_catalog.pg_views")}
    assert views["Big Bids"] == "SELECT 'x' AS a;"
    assert {row["table_name"] for row in rows("information_schema.views")} == {"Big Bids", "scratch"}


def test_settings_show_where_their_value_comes_from() -> None:
    settings = {row["name"]: row for row in rows("pg_catalog.pg_settings")}
    assert settings["statement_timeout"]["source"] == "session"
    assert settings["statement_timeout"]["boot_val"] == "60s"
    assert settings["server_version"]["source"] == "default"
    assert settings["server_version"]["context"] == "internal"


def test_sessions_show_what_they_do() -> None:
    (session,) = rows("pg_catalog.pg_stat_activity")
    assert (session["pid"], session["state"], session["datname"], session["usename"]) == (
        SESSION_PID,
        "idle",
        "materialize",
        "materialize",
    )


def test_functions_and_operators_name_their_types() -> None:
    (function,) = rows("pg_catalog.pg_proc")
    assert (function["proname"], function["pronamespace"], function["proargtypes"]) == ("lower", 11, [25])
    operators = {row["oprkind"]: (row["oprleft"], row["oprright"]) for row in rows("pg_catalog.pg_operator")}
    assert operators == {"b": (23, 23), "l": (0, 23)}


def test_the_standard_catalog_names_the_sessions_database() -> None:
    assert {row["table_catalog"] for row in rows("information_schema.tables")} == {"materialize"}
    assert {row["table_catalog"] for row in rows("information_schema.tables", OTHER)} == {"other"}
    assert rows("information_schema.information_schema_catalog_name", OTHER) == [{"catalog_name": "other"}]


def test_the_standard_catalog_knows_what_can_be_written() -> None:
    tables = {
        row["table_name"]: (row["table_type"], row["is_insertable_into"])
        for row in rows("information_schema.tables")
        if row["table_schema"] in ("public", "Odd Schema", "mz_temp")
    }
    assert tables == {
        "auction": ("SOURCE", "NO"),
        "bids": ("BASE TABLE", "NO"),
        "plain": ("BASE TABLE", "YES"),
        "Big Bids": ("VIEW", "NO"),
        "scratch": ("LOCAL TEMPORARY", "NO"),
    }


def test_the_standard_catalog_measures_types() -> None:
    columns = {
        row["column_name"]: row
        for row in rows("information_schema.columns")
        if (row["table_schema"], row["table_name"]) == ("public", "bids")
    }
    assert (columns["id"]["data_type"], columns["id"]["numeric_precision"]) == ("bigint", 64)
    assert columns["id"]["is_nullable"] == "NO"
    assert columns["item"]["character_maximum_length"] == 20
    assert (columns["amount"]["numeric_precision"], columns["amount"]["numeric_scale"]) == (39, 2)
    assert columns["amount"]["column_default"] == "0"
    assert (columns["tags"]["data_type"], columns["tags"]["udt_name"]) == ("ARRAY", "_text")
    assert columns["facts"]["data_type"] == "map[text=>integer]"
    assert [columns[name]["ordinal_position"] for name in columns] == [1, 2, 3, 4, 5, 6]


def test_only_columns_of_plain_tables_can_be_updated() -> None:
    updatable = {
        row["table_name"] for row in rows("information_schema.columns") if row["is_updatable"] == "YES"
    }
    assert updatable == {"plain"}


def test_time_zones_have_their_offset_of_the_moment() -> None:
    summer = SystemFacts(populated_state(), now_ms=1_720_000_000_000)
    zones = {row["name"]: row for row in rows("pg_catalog.pg_timezone_names", summer)}
    assert zones["Europe/Berlin"]["abbrev"] == "CEST"
    assert zones["Europe/Berlin"]["is_dst"] is True
    assert zones["Europe/Berlin"]["utc_offset"]["microseconds"] == 2 * 3_600_000_000
