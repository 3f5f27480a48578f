"""What SHOW GRANTS says is what a user may do; lines as servers print them."""

from __future__ import annotations

from headwater.sources.mysql.grants import Grants

MYSQL = (
    "GRANT REPLICATION SLAVE ON *.* TO `u`@`%`",
    "GRANT SELECT ON `db1`.* TO `u`@`%`",
    "GRANT ALL PRIVILEGES ON `x``y`.* TO `u`@`%`",
    "GRANT LOCK TABLES ON `db\\_1`.* TO `u`@`%`",
    "GRANT SELECT (`a`, `b`), INSERT (`a`) ON `db2`.`t` TO `u`@`%`",
    "GRANT SELECT, INSERT ON `db2`.`whole` TO `u`@`%`",
    "GRANT `r1`@`%` TO `u`@`%`",
)
MARIADB = (
    "GRANT `r1` TO `u`@`%`",
    "GRANT REPLICATION SLAVE ON *.* TO `u`@`%` IDENTIFIED BY PASSWORD '*B69027D44F'",
    "GRANT PROXY ON ``@`%` TO `root`@`127.0.0.1` WITH GRANT OPTION",
    "SET DEFAULT ROLE `r1` FOR `u`@`%`",
)


def test_privileges_on_everything_are_told_from_those_on_a_database() -> None:
    grants = Grants.parse(MYSQL)
    assert grants.has("REPLICATION SLAVE")
    assert not grants.has("SELECT")
    assert grants.has("SELECT", "db1", "t")
    assert not grants.has("SELECT", "db", "t")


def test_all_privileges_are_each_of_them() -> None:
    assert Grants.parse(MYSQL).has("LOCK TABLES", "x`y", "t")
    assert Grants.parse(["GRANT ALL PRIVILEGES ON *.* TO `root`@`%` WITH GRANT OPTION"]).has(
        "REPLICATION SLAVE"
    )


def test_names_of_databases_have_wildcards() -> None:
    grants = Grants.parse(["GRANT SELECT ON `a_\\_%`.* TO `u`@`%`", MYSQL[3]])
    assert grants.has("SELECT", "ab_c", "t")
    assert not grants.has("SELECT", "abxc", "t")
    assert grants.has("LOCK TABLES", "db_1", "t")
    assert not grants.has("LOCK TABLES", "dbx1", "t")


def test_a_privilege_on_columns_is_none_on_the_table() -> None:
    grants = Grants.parse(MYSQL)
    assert not grants.has("SELECT", "db2", "t")
    assert grants.has("SELECT", "db2", "whole")
    assert not grants.has("SELECT", "db2", "wholly")


def test_what_is_taken_away_again_is_not_had() -> None:
    grants = Grants.parse(
        ["GRANT SELECT, LOCK TABLES ON *.* TO `u`@`%`", "REVOKE SELECT ON `secret`.* FROM `u`@`%`"]
    )
    assert grants.has("SELECT", "open", "t")
    assert not grants.has("SELECT", "secret", "t")
    assert grants.has("LOCK TABLES", "secret", "t")


def test_roles_and_proxies_are_no_privileges() -> None:
    grants = Grants.parse(MARIADB)
    assert len(grants.all) == 1
    assert grants.has("REPLICATION SLAVE")
