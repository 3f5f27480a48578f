"""information_schema.routines: functions that users made."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=617,
    schema="information_schema",
    name="routines",
    description="Functions that users made.",
    columns=shape(
        """
        specific_catalog text?
        specific_schema text?
        specific_name text?
        routine_catalog text?
        routine_schema text?
        routine_name text?
        routine_type text?
        module_catalog text?
        module_schema text?
        module_name text?
        udt_catalog text?
        udt_schema text?
        udt_name text?
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
        type_udt_catalog text?
        type_udt_schema text?
        type_udt_name text?
        scope_catalog text?
        scope_schema text?
        scope_name text?
        maximum_cardinality int4?
        dtd_identifier text?
        routine_body text?
        routine_definition text?
        external_name text?
        external_language text?
        parameter_style text?
        is_deterministic text?
        sql_data_access text?
        is_null_call text?
        sql_path text?
        schema_level_routine text?
        max_dynamic_result_sets int4?
        is_user_defined_cast text?
        is_implicitly_invocable text?
        security_type text?
        to_sql_specific_catalog text?
        to_sql_specific_schema text?
        to_sql_specific_name text?
        as_locator text?
        created timestamptz?
        last_altered timestamptz?
        new_savepoint_level text?
        is_udt_dependent text?
        result_cast_from_data_type text?
        result_cast_as_locator text?
        result_cast_char_max_length int4?
        result_cast_char_octet_length int4?
        result_cast_char_set_catalog text?
        result_cast_char_set_schema text?
        result_cast_char_set_name text?
        result_cast_collation_catalog text?
        result_cast_collation_schema text?
        result_cast_collation_name text?
        result_cast_numeric_precision int4?
        result_cast_numeric_precision_radix int4?
        result_cast_numeric_scale int4?
        result_cast_datetime_precision int4?
        result_cast_interval_type text?
        result_cast_interval_precision int4?
        result_cast_type_udt_catalog text?
        result_cast_type_udt_schema text?
        result_cast_type_udt_name text?
        result_cast_scope_catalog text?
        result_cast_scope_schema text?
        result_cast_scope_name text?
        result_cast_maximum_cardinality int4?
        result_cast_dtd_identifier text?
        """
    ),
)
