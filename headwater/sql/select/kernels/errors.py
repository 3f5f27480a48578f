"""Errors that travel through an engine as text, and back.

A kernel runs inside DuckDB or a Spark worker, where an exception becomes a text inside
the engine's own error.  `HW|sqlstate|message|detail|hint|` survives that; `user_error_of`
finds it again, and also reads the engines' own words for the errors that native operators
raise (overflow, division by zero), so that `+` need not be a kernel to fail as PostgreSQL does.

Not here: catching the engines' exceptions (whoever runs a query).
"""

from __future__ import annotations

import re
from typing import Final

from headwater.core.errors import UserError


class KernelError(Exception):
    """A user's error on its way through an engine."""


_MARKED: Final = re.compile(r"HW\|([0-9A-Z]{5})\|([^|\n]*)\|([^|\n]*)\|([^|\n]*)\|")

# DuckDB names the physical type in its messages, Spark the SQL type.
_RANGES: Final[dict[str, str]] = {
    "S": "smallint",
    "integral divide": "bigint",
    "] overflow": "bigint",
    "INT8": "smallint",
    "INT16": "smallint",
    "SMALLINT": "smallint",
    "INT32": "integer",
    "INT": "integer",
    "INTEGER": "integer",
    "INT64": "bigint",
    "BIGINT": "bigint",
    "UINT16": "uint2",
    "USMALLINT": "uint2",
    "UINT32": "uint4",
    "UINTEGER": "uint4",
    "UINT64": "uint8",
    "UBIGINT": "uint8",
    "FLOAT": "real",
    "DOUBLE": "double precision",
}
_DIVISION: Final = re.compile(r"division by zero|DIVIDE_BY_ZERO|REMAINDER_BY_ZERO", re.IGNORECASE)
_PLACES: Final = re.compile(
    r'Argument for ntile must be greater|VALUE_OUT_OF_RANGE\] Cannot resolve "n(?:th_value|tile)'
)
_LIKE_END: Final = re.compile(r"Like pattern must not end with escape|ESC_AT_THE_END")
_OVERFLOWS: Final = (
    re.compile(r"BINARY_ARITHMETIC_OVERFLOW\] -?\d+(S) "),
    re.compile(r"Overflow in (integral divide)"),
    re.compile(r"\[ARITHMETIC_OVERFLOW(\] overflow)\."),  # of narrower types Spark's cast is what fails
    re.compile(r"Overflow in \w+ of (\w+)"),
    re.compile(r"out of range for the destination type (\w+)"),
    re.compile(r'CAST_OVERFLOW\].* cannot be cast to "(\w+)'),
    re.compile(r"Failed to cast decimal value \S+ to type (\w+)"),
)
# Where DuckDB names no type, the least value of one says which it was.
_LEAST: Final = re.compile(
    r"Overflow (?:in division of|on abs\()\s*-(32768|2147483648|9223372036854775808)\b"
)
_LEAST_NAMES: Final = {"32768": "smallint", "2147483648": "integer", "9223372036854775808": "bigint"}
_DECIMAL: Final = re.compile(
    r"to type DECIMAL|HUGEINT|Could not cast value .* to DECIMAL|NUMERIC_VALUE_OUT_OF_RANGE|sum of decimals"
    r"|DECIMAL\(38\)"
)
_QUERY: Final = re.compile(r"\n\s*LINE \d+:|== SQL ")  # behind it the engine shows the query's text
_FLOAT: Final = re.compile(r"out of range for the destination type FLOAT|to \"FLOAT\"")
_DATE: Final = re.compile(r"Date out of range|Cannot (?:add|subtract) .* to date", re.IGNORECASE)
_MOMENT: Final = re.compile(
    r"not in timestamp range|timestamp out of range|Overflow .* TIMESTAMP|(?<!\] )\blong overflow",
    re.IGNORECASE,
)
_MOMENT_OF_DATE: Final = re.compile(r"Type INT32 with value \S+-\d\d-\d\d.* can't be cast .* type INT64")
_RANGE_ONLY: Final = re.compile(r"ARITHMETIC_OVERFLOW|Out of Range Error|CAST_OVERFLOW")


def marked_text(error: UserError) -> str:
    """The text that carries a user's error through an engine."""
    parts = (error.message, error.detail or "", error.hint or "")
    return f"HW|{error.sqlstate}|{'|'.join(_escape(part) for part in parts)}|"


def user_error_of(text: str) -> UserError | None:
    """The user's error in an engine's error text; None when the engine means something else."""
    text = _QUERY.split(text, maxsplit=1)[0]
    found = _MARKED.search(text)
    if found is not None:
        sqlstate, message, detail, hint = found.groups()
        return UserError(_unescape(message), sqlstate, _unescape(detail) or None, _unescape(hint) or None)
    if _LIKE_END.search(text):
        return UserError("LIKE pattern must not end with escape character", "22025")
    if "ESC_IN_THE_MIDDLE" in text:
        return UserError(
            "an escape before an ordinary character in a LIKE pattern not yet supported", "0A000"
        )
    found = _PLACES.search(text)
    if found is not None:
        name = "nth_value" if "nth" in found.group() else "ntile"
        state = "22016" if name == "nth_value" else "22014"
        return UserError(f"argument of {name} must be greater than zero", state)
    if _DIVISION.search(text):
        return UserError("division by zero", "22012")
    if _FLOAT.search(text):
        return UserError("value out of range: overflow", "22003")
    if _DATE.search(text):
        return UserError("date out of range", "22008")
    if _MOMENT_OF_DATE.search(text):
        return UserError("date out of range for timestamp", "22008")
    if _MOMENT.search(text):
        return UserError("timestamp out of range", "22008")
    found = _LEAST.search(text)
    if found is not None:
        return UserError(f"{_LEAST_NAMES[found.group(1)]} out of range", "22003")
    for pattern in _OVERFLOWS:
        found = pattern.search(text)
        if found is not None and found.group(1) in _RANGES:
            return UserError(f"{_RANGES[found.group(1)]} out of range", "22003")
    if _DECIMAL.search(text):
        return UserError("numeric field overflow", "22003")
    if _RANGE_ONLY.search(text):
        return UserError("value out of range", "22003")
    return None


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\p").replace("\n", "\\n").replace("\r", "\\r")


def _unescape(text: str) -> str:
    codes = {"\\\\": "\\", "\\p": "|", "\\n": "\n", "\\r": "\r"}
    return re.sub(r"\\[\\pnr]", lambda found: codes[found.group()], text)
