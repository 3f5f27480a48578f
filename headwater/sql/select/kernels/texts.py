"""Kernels over text: where the engines count, pad, cut or match otherwise than PostgreSQL.

Characters are code points.  Not here: concatenation and length (the engines' own), letters and
LIKE (letters.py), regular expressions as such (regex.py), digests (digests.py).
"""

from __future__ import annotations

import re
from typing import Final

from regex import Match

from headwater.core import pace
from headwater.core.errors import UserError, not_supported
from headwater.core.quoting import identifier, literal
from headwater.formats.kinds.texts import one_byte, shown_byte
from headwater.sql.select.kernels import regex, text_columns
from headwater.sql.select.kernels.kernel import Kernel, check_length, columnar, pieces, row_wise

_BYTES_MAX: Final = 1024 * 1024 * 1024  # PostgreSQL's own bound; ours is a smaller one
_PARTS_MAX: Final = 10_000


def _wrong(message: str, sqlstate: str = "22023") -> UserError:
    return UserError(message, sqlstate)


# Parts of a text


def substring(text: str, start: int, count: int) -> str:
    """So many characters from a place that may lie before the text."""
    if count < 0:
        raise _wrong("negative substring length not allowed", "22011")
    return text[max(start - 1, 0) : max(start - 1 + count, 0)]


def _substring_from(text: str, start: int) -> str:
    return text[max(start - 1, 0) :]


def _byte_substring(data: bytes, start: int, count: int) -> bytes:
    if count < 0:
        raise _wrong("negative substring length not allowed", "22011")
    return data[max(start - 1, 0) : max(start - 1 + count, 0)]


def _left(text: str, count: int) -> str:
    return text[:count]


def _right(text: str, count: int) -> str:
    if count < 0:  # the least integer has no opposite, so PostgreSQL skips nothing
        return text if count == -(2**31) else text[-count:]
    return text[len(text) - min(count, len(text)) :]


def _overlay(text: str, new: str, start: int, count: int) -> str:
    if start <= 0:
        raise _wrong("negative substring length not allowed", "22011")
    if start + count >= 2**31:
        raise _wrong("integer out of range", "22003")
    return text[: start - 1] + new + text[max(start - 1 + count, 0) :]


def _split_part(text: str, separator: str, number: int) -> str:
    if number == 0:
        raise _wrong("field position must not be zero")
    if text == "":
        return ""
    if not separator:
        return text if number in (1, -1) else ""
    if number < 0:
        number += text.count(separator) + 2
        if number <= 0:
            return ""
    if number > _PARTS_MAX:
        return _far_part(text, separator, number)
    parts = text.split(separator, number)
    return parts[number - 1] if number <= len(parts) else ""


def _far_part(text: str, separator: str, number: int) -> str:
    """Some parts at a time: a text may have millions."""
    if number > text.count(separator) + 1:
        return ""
    for _ in pace.paced(range((number - 1) // _PARTS_MAX)):
        text = text.split(separator, _PARTS_MAX)[-1]
    return text.split(separator, (number - 1) % _PARTS_MAX + 1)[(number - 1) % _PARTS_MAX]


# Making text longer, shorter, other


def _pad(text: str, length: int, fill: str, left: bool) -> str:
    length = max(length, 0)
    if length > _BYTES_MAX // 4:
        raise _wrong("requested length too large", "54000")
    check_length(length)
    if len(text) >= length:
        return text[:length]
    if not fill:
        return text
    missing = length - len(text)
    padding = (fill * (missing // len(fill) + 1))[:missing]
    return padding + text if left else text + padding


def _repeat(text: str, count: int) -> str:
    count = max(count, 0)
    size = len(text.encode()) * count
    if size >= _BYTES_MAX:
        raise _wrong("requested length too large", "54000")
    check_length(size)
    return text * count


def _trim(text: str, characters: str) -> str:
    return text.strip(characters) if characters else text


def _ltrim(text: str, characters: str) -> str:
    return text.lstrip(characters) if characters else text


def _rtrim(text: str, characters: str) -> str:
    return text.rstrip(characters) if characters else text


def _replace(text: str, old: str, new: str) -> str:
    if not old:
        return text
    if len(new) > len(old):
        check_length(len(text) + text.count(old) * (len(new) - len(old)))
    return text.replace(old, new)


def _translate(text: str, old: str, new: str) -> str:
    table: dict[int, str | None] = {}
    for index, character in enumerate(old):
        table.setdefault(ord(character), new[index] if index < len(new) else None)
    return "".join(piece.translate(table) for piece in pieces(text))


def _character(code: int) -> str:
    if code == 0:
        raise _wrong("null character not permitted", "54000")
    if code < 0:
        raise _wrong("character number must be positive")
    if 0xD800 <= code <= 0xDFFF:
        raise _wrong(f"requested character not valid for encoding: {code}", "54000")
    if code > 0x10FFFF:
        raise _wrong(f"requested character too large for encoding: {code}", "54000")
    return chr(code)


def _concat(parts: list[str | None]) -> str:
    return "".join(part for part in parts if part is not None)


def _concat_ws(separator: str, parts: list[str | None]) -> str:
    return separator.join(part for part in parts if part is not None)


# Quoting and formats


def quote_ident(text: str) -> str:
    """A name as SQL would have it written."""
    return identifier(text)


def quote_literal(text: str) -> str:
    """A text as an SQL literal."""
    return "E" + literal(text).replace("\\", "\\\\") if "\\" in text else literal(text)


def _quote_nullable(text: str | None) -> str:
    return "NULL" if text is None else quote_literal(text)


_SPECIFIER: Final = re.compile(r"%(?:(%)|(?:(\d+)\$)?(-)?(\*(?:\d+\$)?|\d+)?(.?))", re.DOTALL)


def _format(template: str | None, arguments: list[str | None] | None) -> str | None:
    if template is None:
        return None
    values = arguments or []
    used = 0

    def value(position: str | None) -> str | None:
        nonlocal used
        if position is not None and int(position) == 0:
            raise _wrong("format specifies argument 0, but arguments are numbered from 1")
        used = int(position) if position else used + 1
        if used > len(values):
            raise _wrong("too few arguments for format()")
        return values[used - 1]

    def piece(found: re.Match[str]) -> str:
        percent, position, minus, width, kind = found.groups()
        if percent:
            return "%"
        if not kind:
            raise UserError(
                "unterminated format() type specifier", "22023", hint='For a single "%" use "%%".'
            )
        if kind not in "sIL":
            raise UserError(
                f'unrecognized format() type specifier "{kind}"', "22023", hint='For a single "%" use "%%".'
            )
        columns = 0
        if width and width.startswith("*"):
            columns = int(value(width[1:-1] or None) or 0)
        elif width:
            columns = int(width)
        if abs(columns) >= 2**31:
            raise _wrong("number is out of range", "22003")
        check_length(abs(columns))
        left = bool(minus) or columns < 0
        text = _formatted(value(position), kind)
        return text.ljust(abs(columns)) if left else text.rjust(columns)

    parts: list[str] = []
    place = size = 0
    for found in pace.paced(_SPECIFIER.finditer(template)):
        made = piece(found)
        size += len(made)
        check_length(size)
        parts += (template[place : found.start()], made)
        place = found.end()
    return "".join(parts) + template[place:]


def _formatted(value: str | None, kind: str) -> str:
    match kind:
        case "I" if value is None:
            raise _wrong("null values cannot be formatted as an SQL identifier", "22004")
        case "I":
            return quote_ident(value or "")
        case "L":
            return _quote_nullable(value)
    return value or ""


# Lengths of types


def _cut(text: str, length: int, kind: str) -> str:
    cut = text[:length]
    return cut.ljust(length) if kind == "char" else cut


def _fit(text: str, length: int, kind: str) -> str:
    if len(text) > length and text[length:].strip(" "):
        name = "character" if kind == "char" else "character varying"
        raise _wrong(f"value too long for type {name}({length})", "22001")
    return _cut(text, length, kind)


def _like_escape(pattern: str, escape: str) -> str:
    """A pattern with another escape character, written with backslash."""
    if escape == "\\":
        return pattern
    if len(escape) > 1:
        raise UserError(
            "invalid escape string", "22025", hint="Escape string must be empty or one character."
        )
    result: list[str] = []
    escaped = False
    for character in pattern:
        if escape and character == escape and not escaped:
            escaped = True
            result.append("\\")
            continue
        result.append("\\\\" if character == "\\" and not escaped else character)
        escaped = False
    return "".join(result)


def _similar_to_escape(pattern: str, escape: str) -> str:
    """A pattern of SIMILAR TO as a regular expression."""
    if len(escape) > 1:
        raise UserError(
            "invalid escape string", "22025", hint="Escape string must be empty or one character."
        )
    result = ["^(?:"]
    escaped = bracket = False
    for character in pattern:
        if escaped:
            if character == '"':
                raise not_supported("SUBSTRING with SIMILAR")
            result.append(f"\\{character}")
            escaped = False
        elif escape and character == escape:
            escaped = True
        elif bracket:
            result.append("\\\\" if character == "\\" else character)
            bracket = character != "]"
        elif character == "[":
            result.append(character)
            bracket = True
        else:
            result.append(
                {"%": ".*", "_": ".", "(": "(?:", "\\": "\\\\", ".": "\\.", "^": "\\^", "$": "\\$"}.get(
                    character, character
                )
            )
    return "".join([*result, ")$"])


# Regular expressions


def _replaced(text: str, pattern: str, new: str, flags: str) -> str:
    everywhere = "g" in flags
    translated = regex.compiled(pattern, flags.replace("g", ""))
    parts: list[str] = []
    place = 0
    for found in regex.find_all(translated, text):
        parts += [text[place : found.start()], _expanded(found, new)]
        place = found.end()
        if not everywhere:
            break
    return "".join(parts) + text[place:]


def _expanded(found: Match[str], new: str) -> str:
    def piece(escape: re.Match[str]) -> str:
        character = escape.group(1)
        if character == "&":
            return str(found.group())
        if character in "123456789":
            return found.group(int(character)) or "" if int(character) <= found.re.groups else ""
        return "\\" if character == "\\" else escape.group()

    return re.sub(r"\\(.)", piece, new, flags=re.DOTALL)


def _groups(found: Match[str]) -> list[str | None]:
    return list(found.groups()) if found.re.groups else [found.group()]


def _match(text: str, pattern: str, flags: str) -> list[str | None] | None:
    if "g" in flags:
        raise UserError(
            'regexp_match() does not support the "global" option',
            "22023",
            hint="Use the regexp_matches function instead.",
        )
    found = regex.find(regex.compiled(pattern, flags), text)
    return None if found is None else _groups(found)


def _all_matches(text: str, pattern: str, flags: str) -> list[list[str | None]]:
    found = regex.find_all(regex.compiled(pattern, flags.replace("g", "")), text)
    rows = [_groups(match) for match in found]
    return rows if "g" in flags else rows[:1]


def _substring_of(text: str, pattern: str) -> str | None:
    found = regex.find(regex.compiled(pattern), text)
    return None if found is None else _groups(found)[0]


def _no_global(function: str, flags: str) -> None:
    if "g" in flags:
        raise _wrong(f'{function}() does not support the "global" option')


def _split(text: str, pattern: str, flags: str) -> list[str]:
    _no_global("regexp_split_to_array", flags)
    parts: list[str] = []
    place = 0
    for found in regex.find_all(regex.compiled(pattern, flags), text, degenerate=False):
        parts.append(text[place : found.start()])
        place = found.end()
    return [*parts, text[place:]]


def _count(text: str, pattern: str, start: int, flags: str) -> int:
    _no_global("regexp_count", flags)
    if start <= 0:
        raise _wrong(f'invalid value for parameter "start": {start}')
    return sum(1 for _ in regex.find_all(regex.compiled(pattern, flags), text, start=start - 1))


def _like(text: str, pattern: str, flags: str) -> bool:
    _no_global("regexp_like", flags)
    return regex.matches(pattern, text, flags)


_TEXT2: Final = ("text", "text")
_TEXT3: Final = ("text", "text", "text")


def _byte_number(text: str) -> int:
    """The number behind a value of type "char", which has a sign."""
    if len(text) > 1:
        return int(text[1:], 8) - 256
    return ord(text) if text else 0


def _byte_of(number: int) -> str:
    if not -128 <= number < 128:
        raise UserError('"char" out of range', "22003")
    return shown_byte(number % 256)


KERNELS: Final[tuple[Kernel, ...]] = (
    columnar(row_wise("hw_substring", ("text", "int4", "int4"), "text", substring), text_columns.substring),
    columnar(
        row_wise("hw_substring_from", ("text", "int4"), "text", _substring_from, raises=False),
        text_columns.substring_from,
    ),
    row_wise("hw_bytea_substring", ("bytea", "int4", "int4"), "bytea", _byte_substring),
    row_wise(
        "hw_bytea_substring_from", ("bytea", "int4"), "bytea", lambda d, s: d[max(s - 1, 0) :], raises=False
    ),
    columnar(row_wise("hw_left", ("text", "int4"), "text", _left, raises=False), text_columns.left),
    columnar(row_wise("hw_right", ("text", "int4"), "text", _right, raises=False), text_columns.right),
    columnar(
        row_wise("hw_overlay", ("text", "text", "int4", "int4"), "text", _overlay), text_columns.overlaid
    ),
    columnar(
        row_wise("hw_split_part", ("text", "text", "int4"), "text", _split_part), text_columns.split_part
    ),
    columnar(
        row_wise("hw_lpad", ("text", "int4", "text"), "text", lambda t, n, f: _pad(t, n, f, True)),
        text_columns.padded(True),
    ),
    columnar(
        row_wise("hw_rpad", ("text", "int4", "text"), "text", lambda t, n, f: _pad(t, n, f, False)),
        text_columns.padded(False),
    ),
    columnar(row_wise("hw_repeat", ("text", "int4"), "text", _repeat), text_columns.repeated),
    columnar(row_wise("hw_btrim", _TEXT2, "text", _trim, raises=False), text_columns.trimmed("b")),
    columnar(row_wise("hw_ltrim", _TEXT2, "text", _ltrim, raises=False), text_columns.trimmed("l")),
    columnar(row_wise("hw_rtrim", _TEXT2, "text", _rtrim, raises=False), text_columns.trimmed("r")),
    columnar(
        row_wise("hw_reverse", ("text",), "text", lambda text: text[::-1], raises=False),
        text_columns.reversed_,
    ),
    columnar(row_wise("hw_replace", _TEXT3, "text", _replace, raises=False), text_columns.replaced),
    columnar(row_wise("hw_translate", _TEXT3, "text", _translate, raises=False), text_columns.translated),
    row_wise("hw_chr", ("int4",), "text", _character),
    columnar(row_wise("hw_concat", ("text[]",), "text", _concat, raises=False), text_columns.concatenated),
    columnar(
        row_wise("hw_concat_ws", ("text", "text[]"), "text", _concat_ws, raises=False), text_columns.joined
    ),
    row_wise("hw_quote_ident", ("text",), "text", quote_ident, raises=False),
    row_wise("hw_quote_literal", ("text",), "text", quote_literal, raises=False),
    row_wise("hw_quote_nullable", ("text",), "text", _quote_nullable, strict=False, raises=False),
    row_wise("hw_format", ("text", "text[]"), "text", _format, strict=False),
    row_wise("hw_text_to_byte", ("text",), "text", one_byte, raises=False),
    row_wise("hw_byte_to_int4", ("text",), "int4", _byte_number, raises=False),
    row_wise("hw_int4_to_byte", ("int4",), "text", _byte_of),
    columnar(row_wise("hw_text_cut", ("text", "int4", "text"), "text", _cut, raises=False), text_columns.cut),
    columnar(row_wise("hw_text_fit", ("text", "int4", "text"), "text", _fit), text_columns.fitted),
    row_wise("hw_like_escape", _TEXT2, "text", _like_escape),
    row_wise("hw_similar_to_escape", _TEXT2, "text", _similar_to_escape),
    row_wise("hw_regexp_matches", _TEXT3, "bool", _like),
    row_wise("hw_regexp_replace", ("text",) * 4, "text", _replaced),
    row_wise("hw_regexp_match", _TEXT3, "text[]", _match),
    row_wise("hw_regexp_all", _TEXT3, "text[][]", _all_matches),
    row_wise("hw_regexp_substring", _TEXT2, "text", _substring_of),
    row_wise("hw_regexp_split", _TEXT3, "text[]", _split),
    row_wise("hw_regexp_count", ("text", "text", "int4", "text"), "int4", _count),
)
