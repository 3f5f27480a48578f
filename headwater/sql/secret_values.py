"""Values of secrets inside statements: read, and kept out of what is shown.

A value is an expression, and what goes wrong with an expression is told by quoting it.
`concealed` takes the literals out of such an error, so that a secret that was mistyped
does not end up in a log of errors.
"""

from __future__ import annotations

import re
from typing import Final

from headwater.core.errors import UserError
from headwater.sql.connection_options import HIDDEN
from headwater.sql.cursor import Cursor, SqlText, quote_string
from headwater.sql.lexer import tokenize

HIDDEN_VALUE: Final = SqlText(quote_string(HIDDEN))

_QUOTED: Final = re.compile(r'"([^"]*)"')
_FOUND: Final = re.compile(r'(literal )".*"', re.DOTALL)


def parse_secret_value(cursor: Cursor) -> SqlText:
    """`AS expression`."""
    try:
        cursor.expect("AS")
        return cursor.span()
    except UserError as error:
        error.message = _FOUND.sub(rf'\1"{HIDDEN}"', error.message)
        raise


def concealed(error: UserError, value: SqlText) -> UserError:
    """The error, without the literals of the expression that it is about."""
    literals = [
        token.value for token in tokenize(value.text) if token.kind in ("string", "hex") and token.value
    ]

    def hide(text: str | None) -> str | None:
        if text is None:
            return None
        for literal in sorted(literals, key=len, reverse=True):
            text = text.replace(literal, HIDDEN)
        # A long literal is quoted only in part.
        return _QUOTED.sub(
            lambda quoted: (
                f'"{HIDDEN}"'
                if quoted[1] and any(quoted[1].rstrip(".…") in literal for literal in literals)
                else quoted[0]
            ),
            text,
        )

    return UserError(
        hide(error.message) or "", error.sqlstate, hide(error.detail), hide(error.hint), error.position
    )
