"""COMMENT ON."""

from __future__ import annotations

from headwater.catalog import updates
from headwater.catalog.state import Comment
from headwater.coordinator.ddl import DdlScope, Outcome
from headwater.coordinator.naming_roles import role_named
from headwater.core.errors import UserError
from headwater.sql.statements.comment_on import CommentOn


def plan(scope: DdlScope, statement: CommentOn) -> Outcome:
    """NULL and an empty text take it away."""
    kind, id_, sub_id = _target(scope, statement)
    return Outcome("COMMENT", (updates.SetComment(Comment(kind, id_, sub_id, statement.comment or "")),))


def _target(scope: DdlScope, statement: CommentOn) -> tuple[str, str, int | None]:
    names, parts = scope.names, statement.name.parts
    match statement.kind:
        case "database":
            return "database", names.resolve_database(parts[-1]).id, None
        case "schema":
            return "schema", names.resolve_schema(parts).id, None
        case "cluster":
            return "cluster", names.resolve_cluster(parts[-1]).id, None
        case "role":
            return "role", role_named(scope, parts[-1]).id, None
        case "column":
            item = names.resolve_item(parts)
            columns = item.relation.column_names()
            if statement.column not in columns:
                raise UserError(
                    f'column "{statement.column}" of relation "{item.name}" does not exist',
                    "42703",
                    hint=f"It has {', '.join(columns)}." if columns else "It has none.",
                )
            return item.kind, item.id, columns.index(statement.column) + 1
    item = names.resolve_item(parts, statement.kind)
    return item.kind, item.id, None
