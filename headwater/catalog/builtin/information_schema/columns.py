"""information_schema.columns: columns of relations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from headwater.catalog.builtin.objects import Listed, relations_of, session_objects, system_objects, writable
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.types import TYPES_BY_OID, type_facts
from headwater.core.types import FACTS, NUMERIC_DIGITS_MAX, SqlType


def _rows(objects: Sequence[Listed]) -> Columns:
    columns = [
        (o, position, column)
        for o in relations_of(objects)
        for position, column in enumerate(o.relation.columns, start=1)
    ]
    measures = [_measures(column.type) for _, _, column in columns]
    named = [TYPES_BY_OID.get(type_facts(column.type).oid) for _, _, column in columns]
    return {
        "table_schema": [o.schema.name for o, _, _ in columns],
        "table_name": [o.name for o, _, _ in columns],
        "column_name": [column.name for _, _, column in columns],
        "ordinal_position": [position for _, position, _ in columns],
        "column_default": [column.default for _, _, column in columns],
        "is_nullable": ["YES" if column.nullable else "NO" for _, _, column in columns],
        "data_type": [_data_type(column.type) for _, _, column in columns],
        "character_maximum_length": [m.length for m in measures],
        "character_octet_length": [m.octets for m in measures],
        "numeric_precision": [m.precision for m in measures],
        "numeric_precision_radix": [m.radix for m in measures],
        "numeric_scale": [m.scale for m in measures],
        "datetime_precision": [m.datetime_precision for m in measures],
        "udt_schema": ["pg_catalog" if t is None else t.schema_name for t in named],
        "udt_name": [
            column.type.kind if t is None else t.name
            for t, (_, _, column) in zip(named, columns, strict=True)
        ],
        "dtd_identifier": [str(position) for _, position, _ in columns],
        "is_self_referencing": "NO",
        "is_identity": "NO",
        "identity_cycle": "NO",
        "is_generated": "NEVER",
        "is_updatable": ["YES" if writable(o) else "NO" for o, _, _ in columns],
    }


@dataclass(frozen=True, slots=True)
class _Measures:
    """The standard's numbers about a type."""

    length: int | None = None
    octets: int | None = None
    precision: int | None = None
    radix: int | None = None
    scale: int | None = None
    datetime_precision: int | None = None


_TEXT_OCTETS: Final = 1 << 30
_DEFAULT_COLLATION_OID: Final = 100


@lru_cache(maxsize=1_024)
def _measures(type_: SqlType) -> _Measures:
    facts = FACTS[type_.kind]
    if facts.modifier == "scale":
        if type_.scale is None:
            return _Measures(radix=10)
        return _Measures(precision=NUMERIC_DIGITS_MAX + 1, radix=10, scale=type_.scale)
    if facts.family == "signed":
        return _Measures(precision=8 * facts.size, radix=2, scale=0)
    if facts.bits is not None:
        return _Measures(precision=facts.bits, radix=2)
    if facts.fraction_digits is not None:
        return _Measures(datetime_precision=facts.fraction_digits if type_.scale is None else type_.scale)
    if facts.collation_oid == _DEFAULT_COLLATION_OID:
        length = type_.length
        return _Measures(length=length, octets=_TEXT_OCTETS if length is None else length * 4)
    return _Measures()


def _data_type(type_: SqlType) -> str:
    return "ARRAY" if type_.kind == "array" else type_facts(type_).name


RELATION = BuiltinTable(
    number=603,
    schema="information_schema",
    name="columns",
    description="Columns of relations.",
    columns=shape(
        """
        table_catalog text?
        table_schema text?
        table_name text?
        column_name text?
        ordinal_position int4?
        column_default text?
        is_nullable text?
        data_type text?
        character_maximum_length int4?
        character_octet_length int4?
        numeric_precision int4?
        numeric_precision_radix int4?
        numeric_scale int4?
        datetime_precision int4?
        interval_type text?
        interval_precision int4?
        character_set_catalog text?
        character_set_schema text?
        character_set_name text?
        collation_catalog text?
        collation_schema text?
        collation_name text?
        domain_catalog text?
        domain_schema text?
        domain_name text?
        udt_catalog text?
        udt_schema text?
        udt_name text?
        scope_catalog text?
        scope_schema text?
        scope_name text?
        maximum_cardinality int4?
        dtd_identifier text?
        is_self_referencing text?
        is_identity text?
        identity_generation text?
        identity_start text?
        identity_increment text?
        identity_maximum text?
        identity_minimum text?
        identity_cycle text?
        is_generated text?
        generation_expression text?
        is_updatable text?
        """
    ),
    rows=lambda facts: _rows(session_objects(facts)),
    fixed=lambda builtins: _rows(system_objects(builtins)),
    scope="database",
    database_columns=(
        "table_catalog",
        "udt_catalog",
    ),
)
