"""mz_internal.mz_sessions: the connected sessions."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import moment


def _rows(facts: SystemFacts) -> Columns:
    sessions = facts.sessions()
    role_ids = {role.name: role.id for role in facts.state.roles.values()}
    return {
        "id": [s.id for s in sessions],
        "connection_id": [s.backend_pid for s in sessions],
        "role_id": [role_ids.get(s.user, s.user) for s in sessions],
        "client_ip": [s.client_address for s in sessions],
        "connected_at": [moment(s.connected_at_ms) for s in sessions],
    }


RELATION = BuiltinTable(
    number=236,
    schema="mz_internal",
    name="mz_sessions",
    description="The connected sessions.",
    columns=shape(
        """
        id uuid
        connection_id uint4
        role_id text
        client_ip text?
        connected_at timestamptz
        """
    ),
    rows=_rows,
    scope="moment",
)
