"""SQL types as Arrow types, and the schemas of what is kept and sent."""

from __future__ import annotations

import importlib.util
import sys

import pyarrow as pa

from headwater.core.change import FLAWS, OP, SEQUENCE, TICK
from headwater.core.relation import Column, Relation
from headwater.core.types import SqlType
from headwater.formats.arrays import array_form
from headwater.formats.engine_types import arrow_form


class _NoPandas:
    """Says at once that there is no pandas.

    Arrow looks for it whenever it is given a value of Python's, and a search of all folders that
    finds nothing takes longer than what Arrow was asked to do.
    """

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name=name)


if importlib.util.find_spec("pandas") is None:
    sys.meta_path.insert(0, _NoPandas)

CHANGE_FIELDS: tuple[pa.Field, ...] = (
    pa.field(OP, pa.string(), nullable=False),
    pa.field(SEQUENCE, pa.int64(), nullable=False),
    pa.field(TICK, pa.int64(), nullable=False),
)
READ_FIELDS: tuple[pa.Field, ...] = CHANGE_FIELDS[:2]


def arrow_type(type_: SqlType) -> pa.DataType:
    """The Arrow type of a stored value."""
    if type_.element is not None:
        inner = arrow_type(type_.element)
        match type_.kind:
            case "array":
                return array_form(inner)
            case "map":
                return pa.map_(pa.string(), inner)
        return pa.list_(inner)
    if type_.kind == "record":
        return pa.struct([(name, arrow_type(field)) for name, field in type_.fields])
    return arrow_form(type_)


_TELLS_FLAWS = {b"headwater": b"flaws"}


def arrow_field(column: Column) -> pa.Field:
    """A column; always nullable in Arrow, because an upstream's promise is not a file's."""
    return pa.field(column.name, arrow_type(column.type))


def state_schema(relation: Relation) -> pa.Schema:
    """The schema of a state file and of a result batch."""
    fields = [arrow_field(column) for column in relation.columns]
    marked = (f.with_metadata(_TELLS_FLAWS) if f.name == relation.flaws else f for f in fields)
    return pa.schema(list(marked))


def flaws_column(schema: pa.Schema) -> str | None:
    """The column that says which values of a row could not be stored."""
    found = (field.name for field in schema if field.metadata == _TELLS_FLAWS)
    return next(found, None)


def change_schema(relation: Relation) -> pa.Schema:
    """The schema of a change file."""
    return pa.schema([*state_schema(relation), *CHANGE_FIELDS])


def read_schema(relation: Relation, flawed: bool = False) -> pa.Schema:
    """The schema of changes as a source reads them, before they have a timestamp; some with FLAWS."""
    flaws = [pa.field(FLAWS, pa.string())] if flawed else []
    return pa.schema([*state_schema(relation), *flaws, *READ_FIELDS])
