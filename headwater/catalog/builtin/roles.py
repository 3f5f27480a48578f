"""Roles as PostgreSQL's catalog lists them."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.table import Columns
from headwater.catalog.rights import SYSTEM, grants_on


def role_rows(facts: SystemFacts) -> Columns:
    """One row for each role; what is kept of passwords is not among it."""
    roles = facts.state.roles.values()
    granted = {grant.grantee_id: grant.privileges for grant in grants_on(facts.state, SYSTEM)}
    return {
        "oid": [r.oid for r in roles],
        "rolname": [r.name for r in roles],
        "rolsuper": [r.superuser for r in roles],
        "rolinherit": [r.inherit for r in roles],
        "rolcreaterole": [r.superuser or "CREATEROLE" in granted.get(r.id, ()) for r in roles],
        "rolcreatedb": [r.superuser or "CREATEDB" in granted.get(r.id, ()) for r in roles],
        "rolcanlogin": [r.login for r in roles],
        "rolreplication": False,
        "rolbypassrls": [r.superuser for r in roles],
        "rolconnlimit": [r.connection_limit for r in roles],
    }


def role_settings(facts: SystemFacts) -> list[list[str] | None]:
    """What each role's sessions begin with."""
    return [
        [f"{name}={value}" for name, value in sorted(role.settings.items())] or None
        for role in facts.state.roles.values()
    ]
