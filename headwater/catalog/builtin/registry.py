"""All system relations, found by listing the folders of this package.

A relation is a module in the folder of its schema with the attribute `RELATION`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from typing import Final

from headwater.catalog.builtin import information_schema, mz_catalog, mz_internal, pg_catalog
from headwater.catalog.builtin.table import BuiltinTable
from headwater.core.errors import InvariantViolation


def _discover() -> dict[str, BuiltinTable]:
    found: dict[str, BuiltinTable] = {}
    for package in (mz_catalog, mz_internal, pg_catalog, information_schema):
        for module in pkgutil.iter_modules(package.__path__):
            relation = importlib.import_module(f"{package.__name__}.{module.name}").RELATION
            if relation.id in found:
                raise InvariantViolation(
                    f"{relation.name} and {found[relation.id].name} are both {relation.id}"
                )
            found[relation.id] = relation
    return dict(sorted(found.items(), key=lambda pair: pair[1].number))


BUILTINS: Final[Mapping[str, BuiltinTable]] = _discover()
"""By id."""

BUILTINS_BY_NAME: Final[Mapping[tuple[str, str], BuiltinTable]] = {
    (builtin.schema, builtin.name): builtin for builtin in BUILTINS.values()
}
"""By (schema, name)."""

BUILTINS_BY_OID: Final[Mapping[int, BuiltinTable]] = {builtin.oid: builtin for builtin in BUILTINS.values()}
