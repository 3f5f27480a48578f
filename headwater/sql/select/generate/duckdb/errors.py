"""From DuckDB's words to ours: what to tell the user when a query failed there."""

from __future__ import annotations

from headwater.core.errors import UserError, not_supported
from headwater.sql.select.kernels.errors import user_error_of


def translate_error(message: str) -> UserError:
    """The user's error behind a text that DuckDB raised."""
    found = user_error_of(message)
    if found is not None:
        return found
    if "More than one row returned by a subquery" in message:
        return UserError("more than one row returned by a subquery used as an expression", "21000")
    if "INTERRUPT" in message.upper() and "interrupted" in message.lower():
        return UserError("canceling statement due to user request", "57014")
    if message.startswith("Not implemented Error"):
        return not_supported("a part of this query on DuckDB", hint="SET read_engine = spark.")
    if "Out of Memory" in message:
        return UserError(
            "the query needs more memory than small reads may use",
            "53200",
            hint="SET read_engine = spark runs it on the cluster.",
        )
    if "max_expression_depth" in message or "expression depth" in message.lower():
        return UserError("statement is nested too deeply", "54001")
    return UserError(
        "the query cannot be run on DuckDB",
        "XX000",
        detail="This is a defect of the server, whose log has the details.",
        hint="SET read_engine = spark may run it.",
    )
