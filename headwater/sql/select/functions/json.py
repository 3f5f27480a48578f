"""Functions and operators over jsonb, all by kernels: jsonb is canonical text in both engines.

A value of any type is handed over with its type as a constant; several of them as one record.
Not here: aggregates, the functions that give rows (tables.py).
"""

from __future__ import annotations

from typing import Final

from headwater.core.errors import UserError
from headwater.core.types import BOOL, INT4, JSON, JSONB, TEXT, SqlType, array_of
from headwater.sql.select.functions.array_forms import flat
from headwater.sql.select.functions.casts import find_cast
from headwater.sql.select.functions.entry import Form, Function
from headwater.sql.select.functions.forms import SPARK, Texts, Types, both, call, kernel_function, type_text

_TEXTS: Final = array_of(TEXT)


def record_of(engine: str, texts: Texts, types: Types) -> tuple[str, SqlType]:
    """Several values as one record, and its type."""
    names = [f"f{index}" for index in range(len(texts))]
    type_ = SqlType("record", fields=tuple(zip(names, types, strict=True)))
    if engine == SPARK:
        inside = ", ".join(f"'{name}', {text}" for name, text in zip(names, texts, strict=True))
        return f"named_struct({inside})", type_
    inside = ", ".join(f"'{name}': {text}" for name, text in zip(names, texts, strict=True))
    return f"{{{inside}}}", type_


def _of_value(kernel: str) -> tuple[Form, Form]:
    def make(engine: str, texts: Texts, types: Types) -> str:
        return call(engine, kernel, texts[0], type_text(types[0], engine))

    return both(make)


def _of_values(kernel: str) -> tuple[Form, Form]:
    def make(engine: str, texts: Texts, types: Types) -> str:
        value, type_ = record_of(engine, texts, types)
        return call(engine, kernel, value, type_text(type_, engine))

    return both(make)


def _build_object(engine: str, texts: Texts, types: Types) -> str:
    """Keys become text first, as a cast would make them."""
    if len(texts) % 2:
        raise UserError(
            "argument list must have even number of elements",
            "22023",
            hint="The arguments of jsonb_build_object() must consist of alternating keys and values.",
        )
    made = [
        object_key(engine, text, type_) if index % 2 == 0 else text
        for index, (text, type_) in enumerate(zip(texts, types, strict=True))
    ]
    value, type_ = record_of(
        engine, tuple(made), tuple(TEXT if i % 2 == 0 else t for i, t in enumerate(types))
    )
    return call(engine, "hw_jsonb_build_object", value, type_text(type_, engine))


def object_key(engine: str, text: str, type_: SqlType) -> str:
    """A value as the key of an object."""
    if type_.element is not None or type_.kind in ("record", "json", "jsonb"):
        raise UserError("key value must be scalar, not array, composite, or json", "22023")
    if type_.kind in ("timestamp", "timestamptz"):  # in ISO form, as in a document
        document = call(engine, "hw_to_jsonb", text, type_text(type_, engine))
        return call(engine, "hw_jsonb_item_text", document, "0")
    entry = find_cast(type_, TEXT)
    form = None if entry is None else (entry.spark if engine == SPARK else entry.duckdb)
    return text if form is None or isinstance(form, str) else form((text,), (type_, TEXT))


def _operators() -> list[Function]:
    def entry(name: str, right: SqlType, returns: SqlType, kernel: str, *places: str) -> Function:
        return kernel_function(name, (JSONB, right), returns, kernel, *places, shape="operator")

    return [
        entry("->", TEXT, JSONB, "hw_jsonb_get"),
        entry("->", INT4, JSONB, "hw_jsonb_item"),
        entry("->>", TEXT, TEXT, "hw_jsonb_get_text"),
        entry("->>", INT4, TEXT, "hw_jsonb_item_text"),
        entry("#>", _TEXTS, JSONB, "hw_jsonb_path"),
        entry("#>>", _TEXTS, TEXT, "hw_jsonb_path_text"),
        entry("@>", JSONB, BOOL, "hw_jsonb_contains"),
        entry("<@", JSONB, BOOL, "hw_jsonb_contains", "{1}", "{0}"),
        entry("?", TEXT, BOOL, "hw_jsonb_exists"),
        entry("?|", _TEXTS, BOOL, "hw_jsonb_exists_any"),
        entry("?&", _TEXTS, BOOL, "hw_jsonb_exists_all"),
        entry("||", JSONB, JSONB, "hw_jsonb_concat"),
        entry("-", TEXT, JSONB, "hw_jsonb_delete"),
        entry("-", INT4, JSONB, "hw_jsonb_delete_item"),
        Function("-", (JSONB, _TEXTS), JSONB, *_by_path("hw_jsonb_delete_keys"), "operator"),
        Function("#-", (JSONB, _TEXTS), JSONB, *_by_path("hw_jsonb_delete_path"), "operator"),
    ]


def _by_path(kernel: str, *more: str) -> tuple[Form, Form]:
    """What changes a document at the keys that an array names, which must have one dimension."""

    def make(engine: str, texts: Texts, types: Types) -> str:
        keys = flat(engine, texts[1], types[1], "wrong number of array subscripts", "2202E")
        return call(engine, kernel, texts[0], keys, *texts[2:], *more)

    return both(make)


def _path(kernel: str, name: str, returns: SqlType) -> Function:
    """jsonb_extract_path(document, step, step, ...)."""

    def make(engine: str, texts: Texts, types: Types) -> str:
        steps = ", ".join(texts[1:])
        return call(engine, kernel, texts[0], f"array({steps})" if engine == SPARK else f"[{steps}]")

    return Function(name, (JSONB, TEXT), returns, *both(make), variadic=True)


FUNCTIONS: Final[tuple[Function, ...]] = (
    *_operators(),
    Function("to_jsonb", ("any",), JSONB, *_of_value("hw_to_jsonb"), zoned=True),
    Function("jsonb_build_object", ("any",), JSONB, *both(_build_object), variadic=True, zoned=True),
    Function(
        "jsonb_build_array", ("any",), JSONB, *_of_values("hw_jsonb_build_array"), variadic=True, zoned=True
    ),
    Function("jsonb_build_object", (), JSONB, *both(lambda engine, texts, types: "'{}'")),
    Function("jsonb_build_array", (), JSONB, "'[]'", "'[]'"),
    kernel_function("jsonb_typeof", (JSONB,), TEXT, "hw_jsonb_typeof"),
    kernel_function("json_typeof", (JSON,), TEXT, "hw_jsonb_typeof"),
    kernel_function("jsonb_array_length", (JSONB,), INT4, "hw_jsonb_array_length"),
    kernel_function("json_array_length", (JSON,), INT4, "hw_jsonb_array_length"),
    kernel_function("jsonb_strip_nulls", (JSONB,), JSONB, "hw_jsonb_strip_nulls"),
    kernel_function("jsonb_pretty", (JSONB,), TEXT, "hw_jsonb_pretty"),
    Function("jsonb_set", (JSONB, _TEXTS, JSONB), JSONB, *_by_path("hw_jsonb_set", "TRUE")),
    Function("jsonb_set", (JSONB, _TEXTS, JSONB, BOOL), JSONB, *_by_path("hw_jsonb_set")),
    _path("hw_jsonb_path", "jsonb_extract_path", JSONB),
    _path("hw_jsonb_path_text", "jsonb_extract_path_text", TEXT),
)
