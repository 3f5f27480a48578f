"""information_schema: relations that have only a shape, because nobody can make what they would list."""

from __future__ import annotations

from typing import Final

from headwater.catalog.builtin.table import BuiltinTable, empty

RELATIONS: Final[tuple[BuiltinTable, ...]] = empty(
    "information_schema",
    """
    check_constraints (615): Check constraints.
        constraint_catalog text?
        constraint_schema text?
        constraint_name text?
        check_clause text?

    domains (616): Domains.
        domain_catalog text?
        domain_schema text?
        domain_name text?
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
        domain_default text?
        udt_catalog text?
        udt_schema text?
        udt_name text?
        scope_catalog text?
        scope_schema text?
        scope_name text?
        maximum_cardinality int4?
        dtd_identifier text?

    parameters (618): Parameters of functions that users made.
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

    referential_constraints (614): Foreign keys.
        constraint_catalog text?
        constraint_schema text?
        constraint_name text?
        unique_constraint_catalog text?
        unique_constraint_schema text?
        unique_constraint_name text?
        match_option text?
        update_rule text?
        delete_rule text?

    routines (617): Functions that users made.
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

    sequences (619): Sequences.
        sequence_catalog text?
        sequence_schema text?
        sequence_name text?
        data_type text?
        numeric_precision int4?
        numeric_precision_radix int4?
        numeric_scale int4?
        start_value text?
        minimum_value text?
        maximum_value text?
        increment text?
        cycle_option text?

    triggers (620): Triggers.
        trigger_catalog text?
        trigger_schema text?
        trigger_name text?
        event_manipulation text?
        event_object_catalog text?
        event_object_schema text?
        event_object_table text?
        action_order int4?
        action_condition text?
        action_statement text?
        action_orientation text?
        action_timing text?
        action_reference_old_table text?
        action_reference_new_table text?
        action_reference_old_row text?
        action_reference_new_row text?
        created timestamptz?
    """,
)
