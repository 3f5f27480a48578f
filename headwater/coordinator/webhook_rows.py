"""Requests to rows, all of a batch at once: bodies by their format, headers as columns.

    bodies   TEXT, BYTES   a row each
             JSON          a row for each document; there may be several, with blanks or line ends between
             JSON ARRAY    a row for each element of an array; of any other document as JSON

    requests   0          1       2                 requests that are no rows say why not
    rows       0  0  0    -       2  2              which row is of which request: `origins`

Bodies are decoded as columns.  Only what is no single document by itself is looked at in Python.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.catalog.details import WebhookTable
from headwater.core.errors import UserError
from headwater.core.relation import Relation
from headwater.decode.json import JSON
from headwater.decode.text import text_and_errors
from headwater.formats.arrow import state_schema
from headwater.formats.jsonb import canonical_jsonb

Headers = Sequence[tuple[bytes, bytes]]
Numbers = npt.NDArray[np.int64]

_DECODE_JSON: Final = JSON.decoder({}, lambda _: "")
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},]')
_SPACE: Final = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Rows:
    """What a batch of requests has become."""

    table: pa.Table
    origins: Numbers  # of each row: which request it is from
    refused: dict[int, str]  # requests that could not become rows, and why


def rows_of(
    details: WebhookTable, relation: Relation, bodies: Sequence[bytes], headers: Sequence[Headers]
) -> Rows:
    """The rows of some requests."""
    refused: dict[int, str] = {}
    included: list[pa.Array] = []
    if details.headers is not None:
        kept = [_kept(details.headers["only"], details.headers["without"], each) for each in headers]
        included.append(header_maps(kept, False, refused))
    for name, _, binary in details.mapped:
        included.append(_mapped([_value(each, name) for each in headers], binary, name, refused))
    column, origins = _bodies(details.body, bodies, refused)
    if refused:
        wanted = ~np.isin(origins, list(refused))
        column, origins = column.filter(pa.array(wanted)), origins[wanted]
    schema = state_schema(relation)
    columns = [column, *(array.take(pa.array(origins)) for array in included)]
    made = [array.cast(field.type) for array, field in zip(columns, schema, strict=True)]
    return Rows(pa.table(made, schema=schema), origins, refused)


# Headers


def header_maps(headers: Sequence[Headers], binary: bool, refused: dict[int, str]) -> pa.Array:
    """All headers of each request as a map; those that are sent several times are joined, as HTTP has it."""
    offsets = [0]
    names: list[bytes] = []
    values: list[bytes] = []
    for number, each in enumerate(headers):
        joined: dict[bytes, bytes] = {}
        for name, value in each:
            joined[name] = joined[name] + b"," + value if name in joined else value
        try:
            for value in joined.values():
                value.decode()
        except UnicodeDecodeError:
            if not binary:
                refused[number] = "a header is not UTF-8"
                joined = {}
        names += joined.keys()
        values += joined.values()
        offsets.append(len(names))
    items = pa.array(values, pa.binary())
    keys = pa.array(names, pa.binary()).cast(pa.string())
    return pa.MapArray.from_arrays(
        pa.array(offsets, pa.int32()), keys, items if binary else items.cast(pa.string())
    )


def _kept(only: Sequence[str], without: Sequence[str], headers: Headers) -> Headers:
    wanted, unwanted = {name.encode() for name in only}, {name.encode() for name in without}
    return [
        (name, value) for name, value in headers if name not in unwanted and (not wanted or name in wanted)
    ]


def _value(headers: Headers, name: str) -> bytes | None:
    wanted = name.encode()
    return next((value for key, value in headers if key == wanted), None)


def _mapped(values: Sequence[bytes | None], binary: bool, name: str, refused: dict[int, str]) -> pa.Array:
    array = pa.array(values, pa.binary())
    if binary:
        return array
    texts, errors = text_and_errors(array.fill_null(b""), "header")
    for number in [] if errors is None else np.flatnonzero(errors.is_valid().to_numpy(False)).tolist():
        refused[number] = f'header "{name}" is not UTF-8'
    return pa.compute.if_else(array.is_valid(), texts, pa.scalar(None, pa.string()))


# Bodies


def _bodies(body: str, bodies: Sequence[bytes], refused: dict[int, str]) -> tuple[pa.Array, Numbers]:
    messages = pa.array(bodies, pa.binary())
    numbers = np.arange(len(bodies), dtype=np.int64)
    if body == "bytes":
        return messages, numbers
    if body == "text":
        texts, errors = text_and_errors(messages, "TEXT")
        _refuse(errors, refused, "the body is not UTF-8 text")
        return texts, numbers
    return _documents(messages, bodies, refused, expand=body == "json array")


def _refuse(errors: pa.Array | None, refused: dict[int, str], reason: str) -> None:
    if errors is not None:
        for number in np.flatnonzero(errors.is_valid().to_numpy(zero_copy_only=False)).tolist():
            refused[number] = reason


def _documents(
    messages: pa.Array, bodies: Sequence[bytes], refused: dict[int, str], expand: bool
) -> tuple[pa.Array, Numbers]:
    decoded = _DECODE_JSON(messages)
    documents, numbers = decoded.columns[0], np.arange(len(bodies), dtype=np.int64)
    several: dict[int, list[str]] = {}
    if decoded.errors is not None:
        for number in np.flatnonzero(decoded.errors.is_valid().to_numpy(zero_copy_only=False)).tolist():
            try:
                several[number] = _separated(bodies[number])
            except UserError as error:
                refused[number] = f"failed to deserialize body as JSON: {error.message}"
                several[number] = []
    if expand:
        starts = pa.compute.starts_with(documents, "[").fill_null(False)
        for number in np.flatnonzero(starts.to_numpy(zero_copy_only=False)).tolist():
            several[number] = elements(documents[number].as_py())
    if not several:
        return documents, numbers
    counts = np.ones(len(bodies), np.int64)
    counts[list(several)] = [len(some) for some in several.values()]
    origins = np.repeat(numbers, counts)
    texts = documents.take(pa.array(origins))
    odd = np.isin(origins, list(several))
    made = [text for number in sorted(several) for text in several[number]]
    return pa.compute.replace_with_mask(texts, pa.array(odd), pa.array(made, pa.string())), origins


def _separated(body: bytes) -> list[str]:
    """The documents of a body that is not exactly one."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise UserError("it is not UTF-8", "22021") from None
    found: list[str] = []
    at = 0
    decoder = json.JSONDecoder()
    while True:
        while at < len(text) and text[at] in _SPACE:
            at += 1
        if at == len(text):
            return found
        try:
            _, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else "it is nested too deeply"
            raise UserError(f"{reason} at character {at + 1}", "22P02") from None
        found.append(canonical_jsonb(text[at:end]))
        at = end


def elements(document: str) -> list[str]:
    """The elements of an array, as they stand in its canonical text."""
    depth, begin = 0, 1
    found: list[str] = []
    for token in _TOKEN.finditer(document):
        match token[0]:
            case "[" | "{":
                depth += 1
            case "]" | "}":
                depth -= 1
            case "," if depth == 1:
                found.append(document[begin : token.start()].strip())
                begin = token.end()
    last = document[begin:-1].strip()
    return [*found, last] if last else found
