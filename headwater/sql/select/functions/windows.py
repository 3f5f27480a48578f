"""Window functions that are not aggregates.

`<<name|arguments>>` marks the call that the generators give its OVER clause.
"""

from __future__ import annotations

from typing import Final

from headwater.core.types import FLOAT8, INT4, INT8
from headwater.sql.select.functions.entry import Form, Function, TypeRule, Wanted
from headwater.sql.select.functions.forms import DUCKDB, failure, first


def _window(
    name: str, arguments: tuple[Wanted, ...], returns: TypeRule, duckdb: Form | None, spark: Form | None = ""
) -> Function:
    return Function(name, arguments, returns, duckdb, duckdb if spark == "" else spark, "window")


# DuckDB answers NULL for a place before the first.
_NTH: Final = (
    "<<nth_value|{0}, CASE WHEN {1} <= 0 THEN "
    + failure(DUCKDB, "argument of nth_value must be greater than zero", "22016")
    + " ELSE {1} END>>"
)

FUNCTIONS: Final[tuple[Function, ...]] = (
    _window("row_number", (), INT8, "CAST(<<row_number|>> AS BIGINT)"),
    _window("rank", (), INT8, "CAST(<<rank|>> AS BIGINT)"),
    _window("dense_rank", (), INT8, "CAST(<<dense_rank|>> AS BIGINT)"),
    _window("percent_rank", (), FLOAT8, "<<percent_rank|>>"),
    _window("cume_dist", (), FLOAT8, "<<cume_dist|>>"),
    _window("ntile", (INT4,), INT4, "CAST(<<ntile|{0}>> AS INTEGER)"),
    *(
        entry
        for name in ("lag", "lead")
        for entry in (
            _window(name, ("anyelement",), first, f"<<{name}|{{0}}>>"),
            _window(name, ("anyelement", INT4), first, f"<<{name}|{{0}}, {{1}}>>"),
            _window(name, ("anyelement", INT4, "anyelement"), first, f"<<{name}|{{0}}, {{1}}, {{2}}>>"),
        )
    ),
    _window("first_value", ("anyelement",), first, "<<first_value|{0}>>"),
    _window("last_value", ("anyelement",), first, "<<last_value|{0}>>"),
    _window("nth_value", ("anyelement", INT4), first, _NTH, "<<nth_value|{0}, {1}>>"),
)
