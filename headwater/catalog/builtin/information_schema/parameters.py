"""information_schema.parameters: parameters of functions that users made."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=618,
    schema="information_schema",
    name="parameters",
    description="Parameters of functions that users made.",
    columns=shape(
        """
        specific_catalog text?
        specific_schema text?
        specific_name text?
        ordinal_position int4?
        parameter_mode text?
        is_result text?
        as_locator text?
        parameter_name text?
        data_type text?
        character_maximum_length int4?
        character_octet_length int4?
        character_set_catalog text?
        character_set_schema text?
        character_set_name text?
        collation_catalog text?
        collation_schema text?
        collation_name text?
        numeric_precision int4?
        numeric_precision_radix int4?
        numeric_scale int4?
        datetime_precision int4?
        interval_type text?
        interval_precision int4?
        udt_catalog text?
        udt_schema text?
        udt_name text?
        scope_catalog text?
        scope_schema text?
        scope_name text?
        maximum_cardinality int4?
        dtd_identifier text?
        parameter_default text?
        """
    ),
)
