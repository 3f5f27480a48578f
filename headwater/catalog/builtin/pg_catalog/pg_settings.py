"""pg_catalog.pg_settings: configuration parameters, as this session has them."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    settings = facts.settings()
    defaults = [s.value if s.default is None else s.default for s in settings]
    return {
        "name": [s.name for s in settings],
        "setting": [s.value for s in settings],
        "unit": [s.unit for s in settings],
        "category": "Headwater",
        "short_desc": [s.description for s in settings],
        "context": ["user" if s.changeable else "internal" for s in settings],
        "vartype": [s.kind for s in settings],
        "source": ["default" if s.value == d else "session" for s, d in zip(settings, defaults, strict=True)],
        "boot_val": defaults,
        "reset_val": list(defaults),
        "pending_restart": False,
    }


RELATION = BuiltinTable(
    number=414,
    schema="pg_catalog",
    name="pg_settings",
    description="Configuration parameters, as this session has them.",
    columns=shape(
        """
        name text?
        setting text?
        unit text?
        category text?
        short_desc text?
        extra_desc text?
        context text?
        vartype text?
        source text?
        min_val text?
        max_val text?
        enumvals text[]?
        boot_val text?
        reset_val text?
        sourcefile text?
        sourceline int4?
        pending_restart bool?
        """
    ),
    rows=_rows,
    scope="moment",
)
