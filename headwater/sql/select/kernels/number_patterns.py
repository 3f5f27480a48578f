"""to_char over numbers: the patterns 9 0 . , D G S MI SG PR FM, and text in quotes.

PL, currency, ordinals, Roman numerals, exponents, B and V are refused, and a point that no digit follows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from typing import Final

from headwater.core.errors import UserError, not_supported
from headwater.sql.select.kernels.kernel import Kernel, check_template, row_wise

_EXACT: Final = Context(prec=200_000)
_TOKEN: Final = re.compile(
    r'FM|fm|MI|mi|PL|pl|SG|sg|PR|pr|S|s|D|d|G|g|TH|th|RN|rn|[Ee]{4}|[90.,]|"(?:[^"\\]|\\.)*"?|\\.|.',
    re.DOTALL,
)
_SIGNS: Final = ("S", "MI", "SG", "PR")
_REFUSED: Final = re.compile(r"EEEE|eeee|PL|pl|RN|rn|TH|th|V|v|L|l|C|c|B|b", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Template:
    tokens: tuple[str, ...]
    bare: bool
    before: int  # digits before the point
    after: int
    zero_from: int  # the first 0 among the digits before the point, counted from the left; -1 is none
    zero_to: int  # the last 0 among those behind it, counted from 1
    sign: str  # none, or one of _SIGNS
    pointed: bool


@lru_cache(maxsize=256)
def _template(text: str) -> _Template:
    check_template(text)
    tokens: list[str] = []
    bare = pointed = False
    before = after = zero_to = 0
    zero_from = -1
    sign = ""
    for token in _TOKEN.findall(text):
        word = token.upper()
        if word == "FM":
            bare = True
            continue
        if word in _SIGNS:
            if sign:
                raise not_supported("several signs in a number template")
            sign = word
        elif word in (".", "D"):
            if pointed:
                raise UserError("multiple decimal points", "42601")
            pointed = True
            token = "."
        elif token in ("9", "0"):
            if sign == "PR":
                raise UserError(f'"{token}" must be ahead of "PR"', "42601")
            if pointed:
                after += 1
                zero_to = after if token == "0" else zero_to
            else:
                zero_from = before if token == "0" and zero_from < 0 else zero_from
                before += 1
        elif word == "G":
            token = ","
        elif token[0] not in ',"\\' and _REFUSED.fullmatch(token):
            raise not_supported(f'the number template pattern "{token}"')
        tokens.append(word if word in _SIGNS else token)
    if sign == "PR" and tokens[-1] != "PR":
        raise not_supported("a number template with PR inside")
    if pointed and not after:
        raise not_supported("a number template without digits behind the point")
    if not before:
        raise not_supported("a number template without digits before the point")
    return _Template(tuple(tokens), bare, before, after, zero_from, zero_to, sign, pointed)


def _literal(token: str) -> str:
    if token.startswith('"'):
        return re.sub(r"\\(.)", r"\1", token[1:].removesuffix('"'))
    return token[1:] if token.startswith("\\") and len(token) > 1 else token


def shown(text: str, pattern: str) -> str | None:
    """A number by a template."""
    value = Decimal(text)
    if not value.is_finite():
        raise not_supported("to_char of NaN and infinity")
    template = _template(pattern)
    if template.sign in ("SG", "S") or ("," in template.tokens and template.bare):
        _check_order(template)
    rounded = value.quantize(Decimal(1).scaleb(-template.after), ROUND_HALF_UP, _EXACT)
    negative = rounded < 0
    whole, _, fraction = format(rounded.copy_abs(), "f").partition(".")
    whole = whole.lstrip("0")
    if len(whole) > template.before:
        whole, fraction = "#" * template.before, "#" * template.after
    return _assembled(template, negative, whole, fraction)


def _check_order(template: _Template) -> None:
    signs = [index for index, token in enumerate(template.tokens) if token == template.sign]
    if template.sign and signs and signs[0] not in (0, len(template.tokens) - 1):
        raise not_supported("a sign inside a number template")


def _assembled(template: _Template, negative: bool, whole: str, fraction: str) -> str:
    first = template.before - len(whole)  # the column of the first digit that is printed
    if template.zero_from >= 0:
        first = min(first, template.zero_from)
    if not template.pointed and first == template.before and template.before:
        first -= 1
    empty = not whole and not fraction.strip("0")
    if template.bare and template.pointed and empty and not template.zero_to:
        first = min(first, template.before - 1)
    digits = whole.rjust(template.before, "0")
    parts: list[str] = []
    column = behind = 0
    leading = ("-" if negative else "" if template.bare else " ") if not template.sign else ""
    if template.sign == "PR":
        leading = "<" if negative else "" if template.bare else " "
    if template.sign == "S" and template.tokens[0] == "S":
        leading = "-" if negative else "+"
    written = False
    kept = len(fraction.rstrip("0")) if template.bare else template.after
    kept = max(kept, template.zero_to)
    point = False
    for token in template.tokens:
        if token in ("9", "0") and not point:
            if column >= first:
                parts.append(digits[column] if written else leading + digits[column])
                written = True
            elif not template.bare:
                parts.append(" ")
            column += 1
        elif token in ("9", "0"):
            if behind < kept:
                parts.append(fraction[behind])
            behind += 1
        elif token == ".":
            parts.append("." if written else leading + ".")
            written = point = True
        elif token == ",":
            parts.append("," if written else "" if template.bare else " ")
        else:
            parts.append(_sign_part(template, token, negative))
    return "".join(parts) + (_closing(template, negative))


def _sign_part(template: _Template, token: str, negative: bool) -> str:
    match token:
        case "S":
            return "" if template.tokens[0] == "S" else "-" if negative else "+"
        case "SG":
            return "-" if negative else "+"
        case "MI":
            return "-" if negative else "" if template.bare else " "
        case "PR":
            return ""
    return _literal(token)


def _closing(template: _Template, negative: bool) -> str:
    if template.sign != "PR":
        return ""
    return ">" if negative else "" if template.bare else " "


KERNELS: Final[tuple[Kernel, ...]] = (row_wise("hw_to_char_numeric", ("text", "text"), "text", shown),)
