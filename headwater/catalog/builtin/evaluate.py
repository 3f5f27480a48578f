"""A system relation's rows, now.

    evaluate("s412", facts) -> the fixed rows of s412, then those computed from facts

Fixed rows are made once per process.  Rows that follow from the catalog alone are kept
with the state they came from, so a second look at the same state is free and nothing
outlives it.
"""

from __future__ import annotations

import pyarrow as pa

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.registry import BUILTINS
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.core.errors import InvariantViolation
from headwater.core.relation import Column
from headwater.formats.arrays import ELEMENTS, ordinary
from headwater.formats.arrow import state_schema

_fixed: dict[str, pa.Table] = {}


def evaluate(relation_id: str, facts: SystemFacts) -> pa.Table:
    """All rows, in the schema of `formats.arrow.state_schema`."""
    builtin = BUILTINS[relation_id]
    if builtin.scope == "moment":
        return _evaluate(builtin, facts)
    derived = facts.state.derived
    key = (relation_id, *_scope_key(builtin, facts))
    if key not in derived:
        derived[key] = _evaluate(builtin, facts)
    return derived[key]


def _scope_key(builtin: BuiltinTable, facts: SystemFacts) -> tuple[object, ...]:
    if builtin.scope == "catalog":
        return ()
    # Sessions without temporary objects see the same, and share it.
    temporary = any(item.temporary_pid == facts.backend_pid for item in facts.state.items.values())
    return (facts.database, facts.backend_pid if temporary else None)


def _evaluate(builtin: BuiltinTable, facts: SystemFacts) -> pa.Table:
    table = to_table(builtin, builtin.rows(facts))
    if builtin.fixed is not None:
        if builtin.id not in _fixed:
            _fixed[builtin.id] = to_table(builtin, builtin.fixed(tuple(BUILTINS.values())))
        table = pa.concat_tables([_fixed[builtin.id], table])
    for name in builtin.database_columns:
        database = pa.repeat(pa.scalar(facts.database), table.num_rows)
        table = table.set_column(table.schema.get_field_index(name), name, database)
    return table


def to_table(builtin: BuiltinTable, columns: Columns) -> pa.Table:
    """An Arrow table of the declared schema; a column that is not given is NULL."""
    schema = state_schema(builtin.relation)
    unknown = set(columns) - set(schema.names)
    if unknown:
        raise InvariantViolation(f"{builtin.name} has no columns {sorted(unknown)}")
    counts = {len(values) for values in columns.values() if isinstance(values, list)}
    if len(counts) > 1 or (columns and not counts):
        raise InvariantViolation(f"{builtin.name} has columns of lengths {sorted(counts)}")
    count = counts.pop() if counts else 0
    arrays = [
        _array(builtin, field, columns.get(field.name), count, column)
        for field, column in zip(schema, builtin.columns, strict=True)
    ]
    return pa.table(arrays, schema=schema)


def _array(builtin: BuiltinTable, field: pa.Field, values: object, count: int, column: Column) -> pa.Array:
    if isinstance(values, list):
        array = _stored(values, field.type, column)
    elif values is None:
        array = pa.nulls(count, field.type)
    else:
        array = pa.repeat(_stored([values], field.type, column)[0], count)
    if not column.nullable and array.null_count:
        raise InvariantViolation(f"{builtin.name}.{field.name} is NULL in a row")
    return array


def _stored(values: list[object], type_: pa.DataType, column: Column) -> pa.Array:
    """Values in stored form; an array is given as the list of its elements."""
    if column.type.kind == "array":
        return ordinary(pa.array(values, type_.field(ELEMENTS).type))
    return pa.array(values, type_)
