"""CREATE ROLE, ALTER ROLE, GRANT and REVOKE of membership."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from headwater.catalog import updates
from headwater.catalog.apply import apply
from headwater.catalog.rights import SYSTEM, grants_on, memberships_of
from headwater.catalog.state import SYSTEM_ROLE_ID, CatalogState, Grant, Role
from headwater.coordinator.api import Notice
from headwater.coordinator.ddl import DdlScope, Outcome, already_exists
from headwater.coordinator.naming_roles import check_ours, role_named
from headwater.coordinator.variables import checked, find, of_roles
from headwater.core.clock import secret_number
from headwater.core.errors import UserError
from headwater.core.scram import SALT_BYTES, make_verifier
from headwater.sql.role_options import SYSTEM_PRIVILEGES, RoleOptions
from headwater.sql.statements.alter_role import AlterRole
from headwater.sql.statements.create_role import CreateRole
from headwater.sql.statements.grant_role import GrantRole
from headwater.sql.statements.revoke_role import RevokeRole

if TYPE_CHECKING:
    from headwater.coordinator.session import SqlSession

_RESERVED = ("public", "none")


async def verifier(session: SqlSession, statement: CreateRole | AlterRole) -> str | None:
    """What is kept of the password that a statement has; empty if it takes the password away."""
    password = statement.options.password
    if not password:
        return password
    salt = secret_number(8 * SALT_BYTES).to_bytes(SALT_BYTES, "big")
    return await session.coordinator.beside.in_thread(lambda: make_verifier(password, salt))


def plan_create(scope: DdlScope, statement: CreateRole) -> Outcome:
    """A role with its memberships and what it may do with the system."""
    tag, name, options = "CREATE ROLE", statement.name, statement.options
    if statement.if_not_exists and scope.state.role_named(name) is not None:
        return Outcome(tag, notices=(already_exists("role", name),))
    if name in _RESERVED or name.startswith(("mz_", "pg_", "external_")):
        raise UserError(f'role name "{name}" is reserved', "42939")
    role = Role(scope.new_id("role"), scope.new_oid(), name, login=statement.user)
    changes: list[updates.Update] = [updates.CreateRole(_with_options(role, scope.answer, options))]
    for each in options.in_roles:
        group = role_named(scope, each)
        check_ours(group)
        changes.append(updates.SetMembership(group.id, role.id, scope.who.role_id))
    changes += _on_system(scope.state, role, options)
    return Outcome(tag, tuple(changes), (updates.RoleNameFree(name),))


def _with_options(role: Role, kept: str | None, options: RoleOptions) -> Role:
    limit = role.connection_limit if options.connection_limit is None else options.connection_limit
    if limit < -1:
        raise UserError(f"invalid connection limit: {limit}", "22023", hint="-1 is no limit.")
    login, superuser = options.flag("LOGIN"), options.flag("SUPERUSER")
    return replace(
        role,
        login=role.login if login is None else login,
        superuser=role.superuser if superuser is None else superuser,
        verifier=role.verifier if kept is None else kept or None,
        connection_limit=limit,
    )


def _on_system(state: CatalogState, role: Role, options: RoleOptions) -> list[updates.Update]:
    """The flags that are privileges on the system."""
    given = {name: value for name, value in options.flags if name in SYSTEM_PRIVILEGES}
    if not given:
        return []
    grants = {grant.grantee_id: grant for grant in grants_on(state, SYSTEM)}
    had = grants[role.id].privileges if role.id in grants else frozenset()
    has = (had | {name for name in given if given[name]}) - {name for name in given if not given[name]}
    if has == had:
        return []
    grants[role.id] = Grant(role.id, SYSTEM_ROLE_ID, has)
    return [updates.SetGrants(SYSTEM, tuple(grant for grant in grants.values() if grant.privileges) or None)]


def plan_alter(scope: DdlScope, statement: AlterRole) -> Outcome:
    """Options, or what the role's sessions begin with."""
    role = role_named(scope, statement.name)
    check_ours(role)
    changes: list[updates.Update] = []
    match statement.action:
        case "options":
            role = _with_options(role, scope.answer, statement.options)
            changes = _on_system(scope.state, role, statement.options)
        case "set" if statement.variable is not None:
            variable = of_roles(statement.variable)
            if not variable.changeable:
                raise UserError(f'parameter "{variable.name}" cannot be changed', "55P02")
            settings = {k: v for k, v in role.settings.items() if k != variable.name}
            if statement.values is not None:
                settings[variable.name] = checked(variable, ", ".join(statement.values))
            role = replace(role, settings=settings)
        case _:
            name = None if statement.variable is None else find(statement.variable).name
            kept = {k: v for k, v in role.settings.items() if name not in (None, k)}
            role = replace(role, settings=kept)
    return Outcome("ALTER ROLE", (updates.UpdateRole(role), *changes))


def plan_grant(scope: DdlScope, statement: GrantRole) -> Outcome:
    """Members, without circles."""
    state, notices = scope.state, []
    changes: list[updates.Update] = []
    for role, member in _pairs(scope, statement):
        if role.id in memberships_of(state, member.id) and (role.id, member.id) in state.memberships:
            by = state.roles.get(state.memberships[(role.id, member.id)])
            text = f'role "{member.name}" is already a member of role "{role.name}"'
            notices.append(Notice("NOTICE", text + ("" if by is None else f', granted by "{by.name}"')))
            continue
        if member.id in memberships_of(state, role.id):
            raise UserError(f'role "{role.name}" is a member of role "{member.name}"', "0LP01")
        changes.append(updates.SetMembership(role.id, member.id, scope.who.role_id))
        state = replace(apply(state, changes[-1]), derived={})
    return Outcome("GRANT ROLE", tuple(changes), notices=tuple(notices))


def plan_revoke(scope: DdlScope, statement: RevokeRole) -> Outcome:
    """Members that leave."""
    changes, notices = [], []
    for role, member in _pairs(scope, statement):
        if (role.id, member.id) in scope.state.memberships:
            changes.append(updates.SetMembership(role.id, member.id, None))
        else:
            text = f'role "{member.name}" is not a member of role "{role.name}"'
            notices.append(Notice("WARNING", text, "01000"))
    return Outcome("REVOKE ROLE", tuple(dict.fromkeys(changes)), notices=tuple(notices))


def _pairs(scope: DdlScope, statement: GrantRole | RevokeRole) -> Iterable[tuple[Role, Role]]:
    for name in statement.roles:
        role = role_named(scope, name)
        check_ours(role)
        for member_name in statement.members:
            member = role_named(scope, member_name)
            check_ours(member)
            yield role, member
