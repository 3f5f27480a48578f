"""What a user may do upstream, as SHOW GRANTS says it, roles that are active included.

GRANT SELECT, LOCK TABLES ON `db`.* TO ..     wildcards in names of databases: % _ \\\\_
GRANT SELECT (`a`, `b`) ON `db`.`t` TO ..     of single columns: not of the table
GRANT `role` TO ..                            no privilege
REVOKE SELECT ON `db`.* FROM ..               taken away from what is granted for all (MySQL)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_NAME: Final = r"(\*|`(?:[^`]|``)*`)"
_LINE: Final = re.compile(rf"(GRANT|REVOKE) (.+?) ON (?:TABLE )?{_NAME}\.{_NAME} (?:TO|FROM) ", re.DOTALL)
_COLUMNS: Final = re.compile(r"\s*\([^)]*\)")
_ALL: Final = ("ALL", "ALL PRIVILEGES")


@dataclass(frozen=True, slots=True)
class Grant:
    """Privileges on databases whose names match, on all of their tables or on one."""

    privileges: frozenset[str]
    schemas: re.Pattern[str] | None  # None: all
    table: str | None
    taken: bool = False

    def about(self, privilege: str, schema: str | None, table: str | None) -> bool:
        """Whether it is about this privilege there; None: everywhere."""
        if privilege not in self.privileges and self.privileges.isdisjoint(_ALL):
            return False
        if self.schemas is not None and (schema is None or not self.schemas.fullmatch(schema)):
            return False
        return self.table is None or self.table == table


@dataclass(frozen=True, slots=True)
class Grants:
    """All of a user's."""

    all: tuple[Grant, ...]

    @staticmethod
    def parse(lines: Iterable[str]) -> Grants:
        return Grants(tuple(grant for line in lines if (grant := _parsed(line)) is not None))

    def has(self, privilege: str, schema: str | None = None, table: str | None = None) -> bool:
        """On a table, or without one on everything."""
        about = [grant for grant in self.all if grant.about(privilege, schema, table)]
        if any(grant.taken for grant in about):
            return any(grant.schemas is not None and not grant.taken for grant in about)
        return bool(about)


def _parsed(line: str) -> Grant | None:
    match = _LINE.match(line)
    if match is None:
        return None  # a role, or a proxy
    word, privileges, schema, table = match.groups()
    whole = frozenset(
        name.strip()
        for name in _split(privileges)
        if not _COLUMNS.search(name)  # of some columns alone
    )
    return Grant(
        whole,
        None if schema == "*" else _pattern(_unquoted(schema), table == "*"),
        None if table == "*" else _unquoted(table),
        word == "REVOKE",
    )


def _split(privileges: str) -> list[str]:
    return re.split(r",(?![^(]*\))", privileges)


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`")


def _pattern(name: str, wild: bool) -> re.Pattern[str]:
    """Where all tables of a database are meant its name has wildcards."""
    if not wild:
        return re.compile(re.escape(name))
    parts = re.findall(r"\\[%_\\]|.", name, re.DOTALL)
    wildcards = {"%": ".*", "_": "."}
    return re.compile("".join(wildcards.get(part) or re.escape(part[-1]) for part in parts), re.DOTALL)
