"""Roles as PostgreSQL's catalog lists them."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.table import Columns


def role_rows(facts: SystemFacts) -> Columns:
    """One row for each role."""
    roles = facts.state.roles.values()
    return {
        "oid": [r.oid for r in roles],
        "rolname": [r.name for r in roles],
        "rolsuper": [r.superuser for r in roles],
        "rolinherit": [r.inherit for r in roles],
        "rolcreaterole": [r.superuser for r in roles],
        "rolcreatedb": True,
        "rolcanlogin": [r.login for r in roles],
        "rolreplication": False,
        "rolbypassrls": [r.superuser for r in roles],
        "rolconnlimit": -1,
    }
