"""What an upstream answers when it is asked for its tables."""

from __future__ import annotations

from headwater.sources.contract import Reference
from headwater.sources.postgres.connection import connect
from headwater.sources.postgres.inspect import Facts, inspect, references
from tests.support.database import Database


def no_secrets(id_: str) -> bytes:
    raise AssertionError(f"secret {id_} was not to be asked for")


def look(database: Database, publication: str = "p") -> Facts:
    with connect(database.options(), no_secrets) as connection:
        return inspect(connection, publication)


def listed(database: Database, user: str = "postgres", publication: str = "p") -> dict[str, Reference]:
    options = {"connection": database.options(user), "publication": publication}
    return {reference.name: reference for reference in references(options, no_secrets)}
