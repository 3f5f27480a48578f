"""Redaction of canonical SQL, for SHOW REDACTED CREATE.

Not here: rendering itself, which every statement does (`Statement.render`).
"""

from __future__ import annotations

from headwater.sql.lexer import tokenize

REDACTED = "'<REDACTED>'"


def redact(sql: str) -> str:
    """The same SQL with every literal hidden."""
    parts = []
    place = 0
    for token in tokenize(sql):
        if token.kind in ("string", "hex", "number"):
            parts.append(sql[place : token.start])
            parts.append(REDACTED)
            place = token.end
    parts.append(sql[place:])
    return "".join(parts)
