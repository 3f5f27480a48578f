"""Names inside stored SQL: rewrite every full name by a mapping.

Stored statements name everything in full, so a rename or a swap is a function from
full names to full names, applied to the statements that mention them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from headwater.catalog import updates
from headwater.catalog.state import Item
from headwater.core.errors import InvariantViolation
from headwater.sql.connection_options import ConnectionOption, SecretName
from headwater.sql.cursor import Name, SqlText
from headwater.sql.parse import parse_statement
from headwater.sql.select import rename
from headwater.sql.statement import Statement
from headwater.sql.statements.create_connection import CreateConnection
from headwater.sql.statements.create_secret import CreateSecret
from headwater.sql.statements.create_source import CreateSource
from headwater.sql.statements.create_subsource import CreateSubsource
from headwater.sql.statements.create_table import CreateTable
from headwater.sql.statements.create_table_from_source import CreateTableFromSource
from headwater.sql.statements.create_table_from_webhook import CreateTableFromWebhook
from headwater.sql.statements.create_view import CreateView

Parts = tuple[str, ...]
Mapping = Callable[[Parts], Parts | None]
"""A full name's new parts; None leaves it."""


def rewritten(items: Iterable[Item], mapping: Mapping) -> list[updates.Update]:
    """Updates for the items whose stored SQL changes under the mapping."""
    changes: list[updates.Update] = []
    for item in items:
        statement = parse_statement(item.create_sql)
        definition = None
        new: Statement
        match statement:
            case CreateView():
                definition = rename(statement.query.text, mapping)
                new = replace(statement, name=_name(statement.name, mapping), query=SqlText(definition))
            case CreateTableFromSource():
                source = _name(statement.source, mapping)
                encoding = statement.encoding.rename(lambda name: _name(name, mapping))
                new = replace(
                    statement, name=_name(statement.name, mapping), source=source, encoding=encoding
                )
            case CreateTableFromWebhook():
                binds = () if statement.check is None else statement.check.binds
                secrets = {bind.secret: _name(bind.secret, mapping) for bind in binds if bind.secret}
                new = statement.in_full(_name(statement.name, mapping), secrets)
            case CreateSubsource():
                parent = None if statement.source is None else _name(statement.source, mapping)
                new = replace(statement, name=_name(statement.name, mapping), source=parent)
            case CreateSource():
                new = _source(statement, mapping)
            case CreateConnection():
                options = tuple(_option(option, mapping) for option in statement.options)
                new = replace(statement, name=_name(statement.name, mapping), options=options)
            case CreateTable() | CreateSecret():
                new = replace(statement, name=_name(statement.name, mapping))
            case _:
                raise InvariantViolation(
                    f"{item.id} has a statement that is not known: {item.create_sql[:80]}"
                )
        text = new.render()
        if text != item.create_sql:
            changes.append(updates.UpdateItem(item.id, create_sql=text, definition=definition))
    return changes


def on_clusters(items: Iterable[Item], names: dict[str, str]) -> list[updates.Update]:
    """Updates for the items that name a cluster which gets another name."""
    changes: list[updates.Update] = []
    for item in items:
        statement = parse_statement(item.create_sql)
        if isinstance(statement, CreateSource) and statement.cluster in names:
            text = replace(statement, cluster=names[statement.cluster]).render()
            changes.append(updates.UpdateItem(item.id, create_sql=text))
    return changes


def _source(statement: CreateSource, mapping: Mapping) -> CreateSource:
    upstream = statement.upstream
    if upstream.connection is not None:
        upstream = replace(upstream, connection=_name(upstream.connection, mapping))
    return replace(
        statement,
        name=_name(statement.name, mapping),
        upstream=upstream,
        encoding=statement.encoding.rename(lambda name: _name(name, mapping)),
        progress=None if statement.progress is None else _name(statement.progress, mapping),
    )


def _name(name: Name, mapping: Mapping) -> Name:
    parts = mapping(name.parts)
    return name if parts is None else Name(parts)


def _option(option: ConnectionOption, mapping: Mapping) -> ConnectionOption:
    if not isinstance(option.value, SecretName):
        return option
    return replace(option, value=SecretName(_name(option.value.name, mapping)))


def swapped(first: Parts, second: Parts) -> Mapping:
    """Two full names change places."""
    return lambda parts: second if parts == first else first if parts == second else None


def moved(prefix: Parts, new_prefix: Parts) -> Mapping:
    """Everything below a database or schema (or one full name) gets another prefix."""

    def mapping(parts: Parts) -> Parts | None:
        return (*new_prefix, *parts[len(prefix) :]) if parts[: len(prefix)] == prefix else None

    return mapping


def exchanged(first: Parts, second: Parts) -> Mapping:
    """Everything below two schemas changes places."""

    def mapping(parts: Parts) -> Parts | None:
        return moved(first, second)(parts) or moved(second, first)(parts)

    return mapping
