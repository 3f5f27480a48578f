"""What roles may do with relations, as the SQL standard lists it: a row for each grant and privilege."""

from __future__ import annotations

from typing import Final

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.objects import relations_of, role_name, session_objects
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import Columns
from headwater.catalog.rights import grants_on
from headwater.catalog.state import PUBLIC_ID

GRANT_COLUMNS: Final = shape(
    """
    grantor text?
    grantee text?
    table_catalog text?
    table_schema text?
    table_name text?
    privilege_type text?
    is_grantable text?
    with_hierarchy text?
    """
)


def grant_rows(facts: SystemFacts, public: bool) -> Columns:
    """With or without what everybody may do."""
    state = facts.state
    granted = [
        (listed, grant, privilege)
        for listed in relations_of(session_objects(facts))
        for grant in grants_on(state, ("item", listed.id))
        if public or grant.grantee_id != PUBLIC_ID
        for privilege in sorted(grant.privileges)
    ]
    return {
        "grantor": [role_name(state, grant.grantor_id) for _, grant, _ in granted],
        "grantee": [role_name(state, grant.grantee_id) for _, grant, _ in granted],
        "table_schema": [o.schema.name for o, _, _ in granted],
        "table_name": [o.name for o, _, _ in granted],
        "privilege_type": [privilege for _, _, privilege in granted],
        "is_grantable": ["YES" if grant.grantee_id == o.owner_id else "NO" for o, grant, _ in granted],
        "with_hierarchy": ["YES" if privilege == "SELECT" else "NO" for _, _, privilege in granted],
    }
