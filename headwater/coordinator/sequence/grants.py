"""GRANT and REVOKE of privileges, default privileges, owners; DROP OWNED and REASSIGN OWNED.

Whoever grants, the owner of the object is the grantor, as only the owner's rights can be given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from headwater.catalog import updates
from headwater.catalog.rights import (
    PRIVILEGES,
    SYSTEM,
    grants_on,
    kind_of,
    object_of,
    owner_id_of,
)
from headwater.catalog.state import CatalogState, DefaultGrant, Grant, Item, ObjectKey
from headwater.coordinator.ddl import CASCADE_HINT, DdlScope, Outcome, cascades_to, does_not_exist
from headwater.coordinator.naming_roles import check_ours, grantee_id, role_named
from headwater.coordinator.operator import check_stays
from headwater.coordinator.rights import Asked, targets
from headwater.core.errors import UserError
from headwater.sql.grants import ALL, Target
from headwater.sql.statements.alter_default_privileges import AlterDefaultPrivileges
from headwater.sql.statements.alter_owner import AlterOwner
from headwater.sql.statements.drop_owned import DropOwned
from headwater.sql.statements.grant_privileges import GrantPrivileges
from headwater.sql.statements.reassign_owned import ReassignOwned
from headwater.sql.statements.revoke_privileges import RevokePrivileges

_Change = Callable[[tuple[Grant, ...], str, str, frozenset[str]], tuple[Grant, ...]]


def plan_grant(scope: DdlScope, statement: GrantPrivileges) -> Outcome:
    """Privileges that the grantees have from now on."""
    return Outcome("GRANT", _changed(scope, statement, _given))


def plan_revoke(scope: DdlScope, statement: RevokePrivileges) -> Outcome:
    """Privileges that they have no more."""
    return Outcome("REVOKE", _changed(scope, statement, _taken))


def _changed(
    scope: DdlScope, statement: GrantPrivileges | RevokePrivileges, change: _Change
) -> tuple[updates.Update, ...]:
    who = [grantee_id(scope, name) for name in statement.grantees]
    changes = []
    for key in targets(scope.state, scope.names, statement.target):
        names = _privileges(kind_of(scope.state, key), statement.privileges)
        before = grants_on(scope.state, key)
        after = before
        for id_ in who:
            after = change(after, id_, owner_id_of(scope.state, key), names)
        if after != before:
            changes.append(updates.SetGrants(key, after))
    return tuple(changes)


def _given(grants: tuple[Grant, ...], who: str, grantor_id: str, names: frozenset[str]) -> tuple[Grant, ...]:
    kept = [g for g in grants if (g.grantee_id, g.grantor_id) != (who, grantor_id)]
    had = [g.privileges for g in grants if (g.grantee_id, g.grantor_id) == (who, grantor_id)]
    if had and names <= had[0]:
        return grants
    return (*kept, Grant(who, grantor_id, names.union(*had)))


def _taken(grants: tuple[Grant, ...], who: str, _: str, names: frozenset[str]) -> tuple[Grant, ...]:
    rest = [replace(g, privileges=g.privileges - names) if g.grantee_id == who else g for g in grants]
    return tuple(grant for grant in rest if grant.privileges)


def _privileges(kind: str, written: tuple[str, ...]) -> frozenset[str]:
    possible = PRIVILEGES[kind]
    if written == ALL:
        return possible
    for name in written:
        if name not in possible:
            raise UserError(
                f"invalid privilege type {name} for {kind}",
                "0LP01",
                hint=f"It has {', '.join(sorted(possible))}.",
            )
    return frozenset(written)


def plan_default(scope: DdlScope, statement: AlterDefaultPrivileges) -> Outcome:
    """What is said of each owner, place and grantee is one record."""
    names = _privileges(statement.kind, statement.privileges)
    owners = statement.owners or (None,)
    owner_ids = [grantee_id(scope, name) for name in owners] if statement.owners else [scope.who.role_id]
    grants = dict(scope.state.default_grants)
    changed: dict[tuple[str, ...], DefaultGrant] = {}
    for owner_id in owner_ids:
        for database_id, schema_id in _places(scope, statement):
            for name in statement.grantees:
                grant = DefaultGrant(
                    owner_id, database_id, schema_id, statement.kind, grantee_id(scope, name), frozenset()
                )
                known = grants.get(grant.key, grant).privileges
                new = known | names if statement.grant else known - names
                if new != known:
                    changed[grant.key] = grants[grant.key] = replace(grant, privileges=new)
    return Outcome("ALTER DEFAULT PRIVILEGES", tuple(map(updates.SetDefaultGrant, changed.values())))


def _places(scope: DdlScope, statement: AlterDefaultPrivileges) -> list[tuple[str | None, str | None]]:
    """Databases and schemas; None is all of them."""
    if statement.within_kind is None:
        return [(None, None)]
    outside = ("database", "cluster", *(("schema",) if statement.within_kind == "schema" else ()))
    if statement.kind in outside:
        raise UserError(
            f"cannot use IN {statement.within_kind.upper()} when default privileges are on"
            f" {statement.kind.upper()}S",
            "0LP01",
        )
    if statement.within_kind == "database":
        return [(scope.names.resolve_database(name.item).id, None) for name in statement.within]
    schemas = [scope.names.resolve_schema(name.parts) for name in statement.within]
    for schema in schemas:
        if schema.database_id is None:
            raise UserError(f"system schema '{schema.name}' cannot be modified", "42501")
    return [(schema.database_id, schema.id) for schema in schemas]


# Owners


def plan_owner(scope: DdlScope, statement: AlterOwner) -> Outcome:
    """What the former owner had, the new one has."""
    tag, kind, name = f"ALTER {statement.kind.upper()}", statement.kind, statement.name
    owner = role_named(scope, statement.owner)
    names, state = scope.names, scope.state
    asked = Asked(state, names, scope.who, scope.facts.cluster)
    if statement.if_exists and asked.object(kind, name) is None:
        return Outcome(tag, notices=(does_not_exist(kind, str(name)),))
    if kind in ("database", "schema", "cluster"):
        (key,) = targets(state, names, Target(kind, (name,)))
    else:
        key = ("item", names.resolve_item(name.parts, kind).id)
    return Outcome(tag, tuple(_owned_by(state, [key], owner.id)))


def _owned_by(state: CatalogState, keys: Iterable[ObjectKey], owner_id: str) -> Iterable[updates.Update]:
    """Another owner for these, and for the progress relations that are parts of them."""
    for key in keys:
        found = object_of(state, key)
        if isinstance(found, Item) and found.progress_id is not None:
            yield from _owned_by(state, [("item", found.progress_id)], owner_id)
        old_id = owner_id_of(state, key)
        if old_id == owner_id:
            continue
        yield updates.SetOwner(key, owner_id)
        if key in state.grants:
            grants: tuple[Grant, ...] = ()
            for grant in state.grants[key]:
                who, by = (owner_id if id_ == old_id else id_ for id_ in (grant.grantee_id, grant.grantor_id))
                grants = _given(grants, who, by, grant.privileges)
            yield updates.SetGrants(key, grants)


def plan_reassign(scope: DdlScope, statement: ReassignOwned) -> Outcome:
    """Everything in every database."""
    owner = role_named(scope, statement.owner)
    keys = _owned_keys(scope, statement.roles)
    return Outcome("REASSIGN OWNED", tuple(dict.fromkeys(_owned_by(scope.state, keys, owner.id))))


def _owned_keys(scope: DdlScope, names: Sequence[str]) -> list[ObjectKey]:
    roles = [role_named(scope, name) for name in names]
    for role in roles:
        check_ours(role)
    ids, state = {role.id for role in roles}, scope.state
    objects = (("database", state.databases), ("schema", state.schemas), ("cluster", state.clusters))
    return [
        *((kind, id_) for kind, there in objects for id_, one in there.items() if one.owner_id in ids),
        *(("item", item.id) for item in state.items.values() if item.owner_id in ids),
    ]


def plan_drop_owned(scope: DdlScope, statement: DropOwned) -> Outcome:
    """What roles own goes with all that is in it; what they were granted is taken from them."""
    state, keys = scope.state, _owned_keys(scope, statement.roles)
    ids = {role_named(scope, name).id for name in statement.roles}
    of: dict[str, list[str]] = {kind: [] for kind in ("database", "schema", "cluster", "item")}
    for kind, id_ in keys:
        of[kind].append(id_)
    for kind, id_ in keys:
        _check_not_initial(scope, kind, id_)
    schemas = dict.fromkeys([*of["schema"], *(s.id for d in of["database"] for s in state.schemas_of(d))])
    inside = [item.id for id_ in schemas for item in state.items_of(id_)]
    inside += [item.id for id_ in of["cluster"] for item in state.items_of_cluster(id_)]
    order = state.drop_order(dict.fromkeys([*of["item"], *inside]))
    if not statement.cascade:
        _check_alone(state, order, ids)
    gone: list[updates.Update] = [updates.DropItem(id_) for id_ in order]
    gone += [updates.DropSchema(id_) for id_ in schemas]
    gone += [updates.DropDatabase(id_) for id_ in of["database"]]
    gone += [updates.DropCluster(id_) for id_ in of["cluster"]]
    dropped = {("item", id_) for id_ in order} | {("schema", id_) for id_ in schemas} | set(keys)
    besides = cascades_to(scope, gone[: len(order)], of["item"]) if statement.cascade else ()
    return Outcome("DROP OWNED", (*gone, *_without_grants(state, ids, dropped)), notices=besides)


def _check_alone(state: CatalogState, order: Iterable[str], ids: set[str]) -> None:
    for id_ in order:
        item = state.items[id_]
        if item.owner_id not in ids and item.parent_id is None:
            raise UserError(
                f'cannot drop what the role owns: {item.kind} "{item.name}" of another role depends on it',
                "2BP01",
                hint=CASCADE_HINT.replace("DROP ...", "DROP OWNED ..."),
            )


def _check_not_initial(scope: DdlScope, kind: str, id_: str) -> None:
    state = scope.state
    match kind:
        case "database":
            check_stays(scope.operator, kind, (state.databases[id_].name,), "dropped")
        case "cluster":
            check_stays(scope.operator, kind, (state.clusters[id_].name,), "dropped")
        case "schema":
            schema = state.schemas[id_]
            database = state.databases[schema.database_id or ""]
            check_stays(scope.operator, kind, (database.name, schema.name), "dropped")


def _without_grants(state: CatalogState, ids: set[str], dropped: set[ObjectKey]) -> list[updates.Update]:
    changes: list[updates.Update] = []
    for key, grants in state.grants.items():
        kept = tuple(grant for grant in grants if grant.grantee_id not in ids)
        if kept != grants and key not in dropped:
            changes.append(updates.SetGrants(key, kept if kept or key != SYSTEM else None))
    for default in state.default_grants.values():
        if default.role_id in ids or default.grantee_id in ids:
            changes.append(updates.SetDefaultGrant(replace(default, privileges=frozenset())))
    return changes
