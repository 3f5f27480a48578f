"""REGEX: a message is text in which a regular expression finds the columns: its groups.

The syntax is that of Rust's expressions, as in Materialize; that is RE2's, but for what a letter or a
blank is beyond ASCII.  So RE2 reads whole columns of printable ASCII, and the `regex` package the others,
one by one, and those where a group is empty that may not have taken part at all, which RE2 does not tell
through Arrow.

A group without a name is `column` and its number.  Pinned: `pattern`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import regex

from headwater.core.errors import UserError
from headwater.core.limits import REGEX_S_MAX
from headwater.core.relation import Column
from headwater.core.types import TEXT
from headwater.decode.contract import Decoded, Decoder, Format, SchemaOf
from headwater.decode.slices import sliced
from headwater.decode.text import text_and_errors

_NO_MATCH: Final = "REGEX: the expression does not match"
_TOO_LONG: Final = f"REGEX: the expression takes longer than {REGEX_S_MAX:g} s"
_PLAIN: Final = r"\A[ -~\t\n]*\z"
_BEYOND_RE2: Final = re.compile(r"\(\?(?:=|!|<=|<!|>|\()|\\[1-9gkGKZXRNLU]|[*+?}]\+")
_TOKEN: Final = re.compile(
    r"(?P<escape>\\.)|(?P<class>\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\])"
    r"|\(\?P?<(?P<name>[A-Za-z_]\w*)>|(?P<group>\((?!\?))|(?P<dollar>\$)|(?P<optional>[*?|{])",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _Expression:
    """An expression, as both engines want it."""

    names: tuple[str, ...]
    column_wise: str | None  # for RE2, all groups with the names g1, g2, ...; None: it does not take it
    alone: regex.Pattern[str]
    optional: bool  # whether there may be groups that take no part in a match


@lru_cache(maxsize=64)
def _expression(pattern: str) -> _Expression:
    """An error of the user's if it is wrong, or finds nothing."""
    names: list[str] = []

    def group(name: str | None) -> str:
        names.append(name or f"column{len(names) + 1}")
        return f"(?P<g{len(names)}>"

    def for_re2(found: re.Match[str]) -> str:
        return group(found["name"]) if found["name"] or found["group"] else found.group()

    def for_one(found: re.Match[str]) -> str:
        # Where lines do not count, Python's $ would also stand before a last end of line.
        return r"(?:(?!\n)$|\Z)" if found["dollar"] else found.group()

    named = _TOKEN.sub(for_re2, pattern)
    multiline = re.search(r"\(\?[a-zA-Z]*m", pattern) is not None
    try:
        alone = regex.compile(pattern if multiline else _TOKEN.sub(for_one, pattern))
    except (regex.error, OverflowError) as error:
        raise UserError(f'invalid regular expression: "{pattern}"', "2201B", detail=f"{error}.") from error
    if not names or alone.groups != len(names):
        raise UserError(
            f'the regular expression "{pattern}" has no groups',
            "2201B",
            hint="Put parts of it in parentheses: each becomes a column.",
        )
    optional = any(found["optional"] is not None for found in _TOKEN.finditer(pattern))
    return _Expression(tuple(names), named if _taken(named, pattern) else None, alone, optional)


def _taken(named: str, pattern: str) -> bool:
    """Whether RE2 takes an expression, and means the same by it."""
    if _BEYOND_RE2.search(pattern) is not None or not pattern.isascii():
        return False
    try:
        pc.extract_regex(pa.array([""], pa.string()), named)
    except pa.ArrowInvalid:
        return False
    return True


def _columns(pinned: Mapping[str, Any]) -> tuple[Column, ...]:
    return tuple(Column(name, TEXT) for name in _expression(pinned["pattern"]).names)


def _decoder(pinned: Mapping[str, Any], _schema_of: SchemaOf) -> Decoder:
    expression = _expression(pinned["pattern"])
    return sliced(lambda messages: _decode(messages, expression))


def _decode(messages: pa.Array, expression: _Expression) -> Decoded:
    texts, errors = text_and_errors(messages, "REGEX")
    odd, columns = _column_wise(texts, expression)
    alone = texts.filter(odd).dictionary_encode()
    read = [_read(text, expression) for text in alone.dictionary.to_pylist()]
    made = [
        pa.array([None if isinstance(one, str) else one[at] for one in read], pa.string()).take(alone.indices)
        for at in range(len(columns))
    ]
    columns = [pc.replace_with_mask(column, odd, one) for column, one in zip(columns, made, strict=True)]
    reasons = pa.array([one if isinstance(one, str) else None for one in read], pa.string())
    wrong = pc.replace_with_mask(pa.nulls(len(texts), pa.string()), odd, reasons.take(alone.indices))
    errors = wrong if errors is None else pc.coalesce(errors, wrong)
    return Decoded(tuple(columns), None if errors.null_count == len(errors) else errors)


def _column_wise(texts: pa.Array, expression: _Expression) -> tuple[pa.Array, list[pa.Array]]:
    """What RE2 finds, and the texts that are left."""
    nothing = [pa.nulls(len(texts), pa.string()) for _ in expression.names]
    if expression.column_wise is None or not len(texts):
        return texts.is_valid(), nothing
    plain = pc.fill_null(pc.match_substring_regex(texts, _PLAIN), False)
    found = pc.extract_regex(pc.if_else(plain, texts, pa.scalar(None, pa.string())), expression.column_wise)
    columns = found.flatten()
    odd = pc.and_(texts.is_valid(), found.is_null())
    if expression.optional:
        for column in columns:
            odd = pc.or_(odd, pc.fill_null(pc.equal(column, ""), False))
    return odd, columns


def _read(text: str, expression: _Expression) -> tuple[str | None, ...] | str:
    """The groups of one text, or why there are none."""
    try:
        found = expression.alone.search(text, timeout=REGEX_S_MAX, concurrent=True)
    except TimeoutError:
        return _TOO_LONG
    return _NO_MATCH if found is None else found.groups()


REGEX: Final = Format("regex", _columns, _decoder)
