"""pg_catalog.pg_prepared_statements: prepared statements of this session."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import moment


def _rows(facts: SystemFacts) -> Columns:
    prepared = facts.prepared_statements()
    return {
        "name": [p.name for p in prepared],
        "statement": [p.statement for p in prepared],
        "prepare_time": [moment(p.prepared_at_ms) for p in prepared],
        "parameter_types": [list(p.parameter_type_oids) for p in prepared],
        "from_sql": [p.from_sql for p in prepared],
        "generic_plans": 0,
        "custom_plans": 0,
    }


RELATION = BuiltinTable(
    number=429,
    schema="pg_catalog",
    name="pg_prepared_statements",
    description="Prepared statements of this session.",
    columns=shape(
        """
        name text?
        statement text?
        prepare_time timestamptz?
        parameter_types regtype[]?
        from_sql bool?
        generic_plans int8?
        custom_plans int8?
        """
    ),
    rows=_rows,
    scope="moment",
)
