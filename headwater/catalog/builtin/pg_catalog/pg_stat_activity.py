"""pg_catalog.pg_stat_activity: sessions and what they run."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SessionRow, SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import moment


def _state(session: SessionRow) -> str:
    if session.active:
        return "active"
    return {"T": "idle in transaction", "E": "idle in transaction (aborted)"}.get(session.transaction, "idle")


def _rows(facts: SystemFacts) -> Columns:
    sessions = facts.sessions()
    state = facts.state
    databases = {d.name: d.oid for d in state.databases.values()}
    roles = {r.name: r.oid for r in state.roles.values()}
    return {
        "datid": [databases.get(s.database) for s in sessions],
        "datname": [s.database for s in sessions],
        "pid": [s.backend_pid for s in sessions],
        "usesysid": [roles.get(s.user) for s in sessions],
        "usename": [s.user for s in sessions],
        "application_name": [s.application_name for s in sessions],
        "client_addr": [s.client_address for s in sessions],
        "backend_start": [moment(s.connected_at_ms) for s in sessions],
        "client_port": [s.client_port for s in sessions],
        "xact_start": [moment(s.transaction_began_at_ms) for s in sessions],
        "state_change": [moment(s.state_changed_at_ms) for s in sessions],
        "wait_event_type": ["Lock" if s.waits_for_lock else None for s in sessions],
        "wait_event": ["advisory" if s.waits_for_lock else None for s in sessions],
        "query_start": [moment(s.query_started_at_ms) for s in sessions],
        "state": [_state(s) for s in sessions],
        "query": [s.query for s in sessions],
        "backend_type": "client backend",
    }


RELATION = BuiltinTable(
    number=428,
    schema="pg_catalog",
    name="pg_stat_activity",
    description="Sessions and what they run.",
    columns=shape(
        """
        datid oid?
        datname name?
        pid int4?
        leader_pid int4?
        usesysid oid?
        usename name?
        application_name text?
        client_addr text?
        client_hostname text?
        client_port int4?
        backend_start timestamptz?
        xact_start timestamptz?
        query_start timestamptz?
        state_change timestamptz?
        wait_event_type text?
        wait_event text?
        state text?
        backend_xid uint4?
        backend_xmin uint4?
        query_id int8?
        query text?
        backend_type text?
        """
    ),
    rows=_rows,
    scope="moment",
)
