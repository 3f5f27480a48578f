"""Roles as statements name them: by name, as whoever is connected, as everybody."""

from __future__ import annotations

from headwater.catalog.state import PUBLIC_ID, Role
from headwater.coordinator.ddl import DdlScope
from headwater.core.errors import UserError
from headwater.sql.grants import MYSELF


def role_named(scope: DdlScope, name: str) -> Role:
    """A role by its name, or whoever is connected."""
    role = scope.state.roles.get(scope.who.role_id) if name in MYSELF else scope.state.role_named(name)
    if role is None:
        raise UserError(f'role "{name}" does not exist', "42704")
    return role


def grantee_id(scope: DdlScope, name: str | None) -> str:
    """The id of a role, or of everybody."""
    return PUBLIC_ID if name is None else role_named(scope, name).id


def check_ours(role: Role) -> None:
    """Roles of the product itself stay as they are."""
    if role.id.startswith("s"):
        raise UserError(f'role name "{role.name}" is reserved', "42939")
