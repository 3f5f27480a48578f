"""The canonical text of json and jsonb.

jsonb is stored as the text PostgreSQL would print of it: keys in order of length
then bytes, the last of equal keys kept, one space after `:` and `,`.  Numbers are
numerics, so they have no exponent and, as everywhere in the dialect, no needless zeros.
Two equal jsonb values have equal texts.  json keeps the text as it was written.
"""

from __future__ import annotations

import heapq
import json
import re
from collections.abc import Iterable
from json.decoder import JSONObject, scanstring  # type: ignore[attr-defined]
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from typing import Final

from headwater.core import pace
from headwater.core.errors import UserError
from headwater.core.limits import JSON_LEVELS_MAX
from headwater.formats.text_numbers import canonical_numeric

_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_SORTED_AT_ONCE_MAX: Final = 50_000
_SPECIAL: Final = re.compile(r'["\\\x00-\x1f]')


class Number(str):
    """A number of a document, in canonical text."""

    __slots__ = ()


def parse(text: str) -> object:
    """A document as dict, list, str, Number, bool and None."""
    try:
        value = _LONG.decode(text) if len(text) > _SHORT_CHARACTERS_MAX else _SHORT.decode(text)
    except UserError:
        raise
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        raise UserError("invalid input syntax for type json", "22P02", detail=_shown(text)) from None
    return value


def print_value(value: object) -> str:
    """The reverse of `parse`."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case Number():
            return str(value)
        case str():
            return print_string(value)
        case list():
            return f"[{', '.join(map(print_value, pace.paced(value)))}]"
        case dict():
            keys = _sorted(value)
            return f"{{{', '.join(f'{print_string(key)}: {print_value(value[key])}' for key in keys)}}}"
        case _:
            raise TypeError(f"not a part of a json document: {value!r}")


def _sorted(keys: dict[str, object]) -> Iterable[str]:
    """In order; very many are sorted in parts, because sorting holds Python's lock."""
    if len(keys) <= _SORTED_AT_ONCE_MAX:
        return sorted(keys, key=_key_order)
    listed = list(keys)
    starts = range(0, len(listed), _SORTED_AT_ONCE_MAX)
    parts = [sorted(listed[at : at + _SORTED_AT_ONCE_MAX], key=_key_order) for at in pace.paced(starts)]
    return heapq.merge(*parts, key=_key_order)


def print_string(text: str) -> str:
    """A JSON string; only what must be escaped is."""
    return f'"{_SPECIAL.sub(_escaped, text)}"'


def canonical_jsonb(text: str) -> str:
    """The one text of a jsonb value."""
    value = parse(text)
    if text.count("[") + text.count("{") > JSON_LEVELS_MAX and too_deep(value):
        raise _too_deep()
    if "\\u" in text:
        _check_unicode(value)
    return print_value(value)


def too_deep(value: object) -> bool:
    """Whether a document has more levels than can be printed, wherever that is done."""
    layer = [value]
    for _ in range(JSON_LEVELS_MAX + 1):
        layer = [
            item
            for container in layer
            if isinstance(container, list | dict)
            for item in (container if isinstance(container, list) else container.values())
        ]
    return bool(layer)


def canonical_json(text: str) -> str:
    """The text itself, once it is known to be json."""
    parse(text)
    return text


def _number(text: str) -> Number:
    pace.step()
    return Number(canonical_numeric(text))


def _refuse_constant(text: str) -> object:
    raise ValueError(text)


class _Patient(json.JSONDecoder):
    """Reads a document in Python, slowly; in C it would hold Python's lock all the while."""

    def __init__(self) -> None:
        super().__init__(parse_float=_number, parse_int=_number, parse_constant=_refuse_constant)
        self.parse_string = self._string
        self.parse_object = JSONObject
        self.scan_once = py_make_scanner(self)

    @staticmethod
    def _string(text: str, end: int, strict: bool = True) -> tuple[str, int]:
        pace.step()
        return scanstring(text, end, strict)  # type: ignore[no-any-return]


_SHORT_CHARACTERS_MAX: Final = 1024 * 1024
_SHORT: Final = json.JSONDecoder(parse_float=_number, parse_int=_number, parse_constant=_refuse_constant)
_LONG: Final = _Patient()


def _key_order(key: str) -> tuple[int, bytes]:
    encoded = key.encode()
    return len(encoded), encoded


def _escaped(match: re.Match[str]) -> str:
    character = match.group()
    return _ESCAPES.get(character) or f"\\u{ord(character):04x}"


def _check_unicode(value: object) -> None:
    """Zero bytes and halves of surrogate pairs cannot be text."""
    if isinstance(value, Number):
        return
    if isinstance(value, str):
        if "\x00" in value:
            raise UserError(
                "unsupported Unicode escape sequence", "22P05", detail="\\u0000 cannot be converted to text."
            )
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise UserError("invalid input syntax for type json", "22P02")
    elif isinstance(value, list):
        for item in value:
            _check_unicode(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_unicode(key)
            _check_unicode(item)


def _too_deep() -> UserError:
    return UserError("stack depth limit exceeded", "54001")


def _shown(text: str) -> str:
    short = text if len(text) <= 80 else f"{text[:77]}..."
    return f"The text is: {short}"
