"""JSON: a message is a document, kept as jsonb in its canonical form."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.errors import UserError
from headwater.core.relation import Column
from headwater.core.types import JSONB
from headwater.decode.contract import Decoded, Format
from headwater.decode.slices import sliced
from headwater.decode.text import text_and_errors
from headwater.formats.jsonb import canonical_jsonb
from headwater.formats.jsonb_columns import canonical_columns


def _decode(messages: pa.Array) -> Decoded:
    texts, errors = text_and_errors(messages, "JSON")
    documents, odd = canonical_columns(texts if errors is None else texts.fill_null("0"))
    if odd.any():
        alone = texts.filter(pa.array(odd)).dictionary_encode()
        read = [_read(text) for text in alone.dictionary.to_pylist()]
        kinds = ((0, pa.string()), (1, pa.string()))
        made, reasons = (pa.array([one[at] for one in read], kind).take(alone.indices) for at, kind in kinds)
        documents = pc.replace_with_mask(documents, pa.array(odd), made)
        if reasons.null_count < len(reasons):
            errors = pa.nulls(len(texts), pa.string()) if errors is None else errors
            errors = pc.replace_with_mask(errors, pa.array(odd), reasons)
    if errors is None:
        return Decoded((documents,))
    return Decoded((pc.if_else(errors.is_null(), documents, pa.scalar(None, pa.string())),), errors)


def _read(text: str) -> tuple[str | None, str | None]:
    """A document that is odd: its canonical text, or what is wrong with it."""
    try:
        return canonical_jsonb(text), None
    except UserError as error:
        return None, f"JSON: {error.message}"


JSON: Final = Format(
    "json",
    lambda _: (Column("data", JSONB, nullable=False),),
    lambda _pinned, _schema_of: sliced(_decode),
)
