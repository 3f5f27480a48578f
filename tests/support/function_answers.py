"""Calls of functions with PostgreSQL's answers, and each of them as DuckDB's text.

function_answers.jsonl holds calls with typed text arguments and the answers that a real PostgreSQL 15
server (C locale, UTC) gave, numerics without needless zeros.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path

from headwater.core.types import TEXT, SqlType, array_of
from headwater.formats.engine_types import duckdb_working
from headwater.sql.select.functions import FUNCTIONS, Function, find_cast
from headwater.sql.select.functions.entry import Form

ANSWERS = defaultdict(list)
for _line in Path(__file__).with_name("function_answers.jsonl").read_text().splitlines():
    _family, _name, _arguments, _answer = json.loads(_line)
    ANSWERS[f"{_family} {_name}"].append((_name, _arguments, _answer))


def type_named(name: str) -> SqlType:
    if name.endswith("[]"):
        return array_of(type_named(name[:-2]))
    found = re.fullmatch(r"(\w+)\((\d+)\)", name)
    if found is None:
        return SqlType(name)
    kind, number = found.group(1), int(found.group(2))
    return SqlType(kind, length=number) if kind in ("char", "varchar") else SqlType(kind, scale=number)


def spelled(form: Form | None, texts: tuple[str, ...], types: tuple[SqlType, ...]) -> str:
    assert form is not None
    return form.format(*texts) if isinstance(form, str) else form(texts, types)


def literal(value: str | None, type_: SqlType) -> str:
    if value is None:
        return f"CAST(NULL AS {duckdb_working(type_)})"
    text = "'" + value.replace("'", "''") + "'"
    return text if type_.kind == "text" else cast(text, TEXT, type_)


def cast(text: str, source: SqlType, target: SqlType) -> str:
    entry = find_cast(source, target)
    assert entry is not None
    return spelled(entry.duckdb, (text,), (source, target))


def accepts(wanted: SqlType | str, given: SqlType) -> bool:
    if isinstance(wanted, SqlType):
        element = wanted.element is None or (
            given.element is not None and accepts(wanted.element, given.element)
        )
        return wanted.kind == given.kind and element
    kinds = {"numeric": "numeric", "anyarray": "array", "anylist": "list", "anymap": "map"}
    if wanted in kinds:
        return kinds[wanted] == given.kind
    return wanted != "anynonarray" or given.kind != "array"


def entry_for(name: str, types: tuple[SqlType, ...]) -> Function:
    for function in FUNCTIONS[name]:
        wanted = function.arguments
        if function.variadic and len(types) > len(wanted):
            wanted = (*wanted, *(wanted[-1],) * (len(types) - len(wanted)))
        if len(wanted) == len(types) and all(map(accepts, wanted, types)):
            return function
    raise AssertionError(f"no entry for {name}{tuple(map(str, types))}")


def call_text(name: str, arguments: list[list[str]]) -> tuple[str, SqlType, Function]:
    types = tuple(type_named(type_) for _, type_ in arguments)
    function = entry_for(name, types)
    texts = tuple(literal(value, type_) for (value, _), type_ in zip(arguments, types, strict=True))
    text = spelled(function.duckdb, texts, types)
    if function.null_guard:
        present = " AND ".join(f"{argument} IS NOT NULL" for argument in texts)
        text = f"(CASE WHEN {present} THEN {text} END)"
    return text, function.return_type(types), function
