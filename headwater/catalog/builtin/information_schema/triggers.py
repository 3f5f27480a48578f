"""information_schema.triggers: triggers."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=620,
    schema="information_schema",
    name="triggers",
    description="Triggers.",
    columns=shape(
        """
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
        """
    ),
)
