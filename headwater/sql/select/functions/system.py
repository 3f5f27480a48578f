"""Functions that clients ask about the system: what psql's commands and reflection use.

Of many kinds of objects there are none, so most answers are constants; types print by their oid.

Not here: functions of the session (bind/session.py), and those whose answer is in the catalog
(bind/catalog.py).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from headwater.core.types import BOOL, INT4, INT8, MZ_ACLITEM, NAME, OID, TEXT, SqlType, array_of, format_type
from headwater.formats.engine_types import duckdb_working, spark_type
from headwater.sql.select.functions.entry import Form, Function, Wanted
from headwater.sql.select.functions.forms import (
    Texts,
    Types,
    both,
    kernel_function,
    quoted,
)


def _answer(
    name: str, arguments: tuple[Wanted, ...], returns: SqlType, duckdb: Form, spark: Form = ""
) -> Function:
    return Function(name, arguments, returns, duckdb, spark or duckdb)


def _nothing(name: str, arguments: tuple[Wanted, ...]) -> Function:
    return _answer(name, arguments, TEXT, "CAST(NULL AS VARCHAR)", "CAST(NULL AS STRING)")


_VISIBLE: Final = (
    "type", "function", "operator", "opclass", "opfamily", "conversion", "ts_config", "ts_dict", "ts_parser",
    "ts_template", "collation", "statistics_obj",
)  # fmt: skip


def _permitted() -> list[Function]:
    """has_x_privilege([who,] what, which) of kinds without privileges: everyone may."""
    entries = []
    for what in ("sequence", "function", "type", "language", "tablespace", "server"):
        name = f"has_{what}_privilege"
        for target in (TEXT, OID):
            entries.append(_answer(name, (target, TEXT), BOOL, "({0} IS NOT NULL OR NULL)"))
            for who in (TEXT, OID):
                entries.append(_answer(name, (who, target, TEXT), BOOL, "({1} IS NOT NULL OR NULL)"))
    return entries


def _type_name(engine: str, texts: Texts, types: Types) -> str:
    """The type of an expression is known without looking at it."""
    type_ = types[0]
    bare = replace(type_, element=type_.element.bare()) if type_.element is not None else type_.bare()
    return quoted(format_type(bare), engine)


_LOCKING: Final = {
    f"pg_{tried}advisory_{scope}lock{shared}": BOOL if tried else SqlType("void")
    for tried in ("", "try_")
    for scope in ("", "xact_")
    for shared in ("", "_shared")
} | {"pg_advisory_unlock": BOOL, "pg_advisory_unlock_shared": BOOL}

ACTING: Final = (
    *("set_config", "pg_cancel_backend", "pg_terminate_backend", "pg_advisory_unlock_all"),
    *_LOCKING,
)
"""Functions that do something, which no engine can (passes/take_actions.py)."""


_ACL: Final = array_of(MZ_ACLITEM)

FUNCTIONS: Final[tuple[Function, ...]] = (
    *(_answer(f"pg_{what}_is_visible", (OID,), BOOL, "({0} IS NOT NULL OR NULL)") for what in _VISIBLE),
    *_permitted(),
    # Of has_table_privilege() and its kin (bind/privileges.py), and of casts to regclass and its kin.
    kernel_function("_known_object", (OID, TEXT, TEXT), OID, "hw_known_object"),
    kernel_function("_type_oid", (TEXT,), OID, "hw_type_oid"),
    kernel_function("_known_privilege", (TEXT, TEXT), BOOL, "hw_known_privilege"),
    Function("pg_typeof", ("any",), TEXT, *both(_type_name)),
    kernel_function("format_type", (OID, INT4), TEXT, "hw_format_type"),
    kernel_function("pg_encoding_to_char", (INT4,), NAME, "hw_encoding_name"),
    kernel_function("pg_char_to_encoding", (NAME,), INT4, "hw_encoding_number"),
    _nothing("pg_get_partkeydef", (OID,)),
    _nothing("pg_get_partition_constraintdef", (OID,)),
    _nothing("pg_get_statisticsobjdef_columns", (OID,)),
    _nothing("pg_get_serial_sequence", (TEXT, TEXT)),
    _nothing("pg_tablespace_location", (OID,)),
    _answer(
        "acldefault",
        (SqlType('"char"'), OID),
        _ACL,
        f"CAST(NULL AS {duckdb_working(_ACL)})",
        f"CAST(NULL AS {spark_type(_ACL)})",
    ),
    _answer("pg_get_expr", (TEXT, OID), TEXT, "{0}"),
    _answer("pg_get_expr", (TEXT, OID, BOOL), TEXT, "{0}"),
    _answer("pg_is_in_recovery", (), BOOL, "FALSE"),
    _answer("pg_is_other_temp_schema", (OID,), BOOL, "({0} IS NULL AND NULL)"),
    _answer("pg_my_temp_schema", (), OID, "CAST(0 AS BIGINT)"),
    _answer("pg_relation_is_publishable", (OID,), BOOL, "({0} IS NULL AND NULL)"),
    kernel_function("pg_size_pretty", (INT8,), TEXT, "hw_size_pretty"),
    kernel_function(
        "pg_size_pretty", ("numeric",), TEXT, "hw_size_pretty", "CAST(CAST({0} AS DOUBLE) AS BIGINT)"
    ),
    Function("set_config", (TEXT, TEXT, BOOL), TEXT, None, None),
    Function("pg_cancel_backend", (INT4,), BOOL, None, None),
    Function("pg_terminate_backend", (INT4,), BOOL, None, None),
    Function("pg_terminate_backend", (INT4, INT8), BOOL, None, None),
    Function("pg_advisory_unlock_all", (), SqlType("void"), None, None),
    *(
        Function(name, key, returns, None, None)
        for name, returns in _LOCKING.items()
        for key in ((INT8,), (INT4, INT4))
    ),
    kernel_function("parse_ident", (TEXT,), array_of(TEXT), "hw_parse_ident"),
)
