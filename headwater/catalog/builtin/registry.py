"""All system relations, found by listing the folders of this package.

A relation is a module in the folder of its schema with the attribute `RELATION`; those of a schema that
never have rows stand together in its `empty.py`.  Those about one kind of upstream are told by the kind,
when it is registered (sources/).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from headwater.catalog.builtin import information_schema, mz_catalog, mz_internal, pg_catalog
from headwater.catalog.builtin.table import BuiltinTable
from headwater.core.errors import InvariantViolation

_by_id: Final[dict[str, BuiltinTable]] = {}
_by_name: Final[dict[tuple[str, str], BuiltinTable]] = {}
_by_oid: Final[dict[int, BuiltinTable]] = {}

BUILTINS: Final[Mapping[str, BuiltinTable]] = _by_id
"""By id, in the order of their numbers."""

BUILTINS_BY_NAME: Final[Mapping[tuple[str, str], BuiltinTable]] = _by_name
"""By (schema, name)."""

BUILTINS_BY_OID: Final[Mapping[int, BuiltinTable]] = _by_oid


def register(relations: Iterable[BuiltinTable]) -> None:
    """Add relations; before anybody asks for one."""
    for relation in relations:
        name = (relation.schema, relation.name)
        for known in (_by_id.get(relation.id), _by_name.get(name), _by_oid.get(relation.oid)):
            if known is not None and known is not relation:
                raise InvariantViolation(f"{relation.name} is {relation.id}, and so is {known.name}")
        _by_id[relation.id] = _by_name[name] = _by_oid[relation.oid] = relation
    in_order = sorted(_by_id.values(), key=lambda relation: relation.number)
    _by_id.clear()
    _by_id.update((relation.id, relation) for relation in in_order)


def _discovered() -> Iterator[BuiltinTable]:
    for package in (mz_catalog, mz_internal, pg_catalog, information_schema):
        for module in pkgutil.iter_modules(package.__path__):
            if module.name != "empty":
                yield importlib.import_module(f"{package.__name__}.{module.name}").RELATION
        yield from importlib.import_module(f"{package.__name__}.empty").RELATIONS


register(_discovered())
