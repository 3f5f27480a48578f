"""Functions whose answer is in the catalog: each becomes an expression over system relations.

`pg_get_userbyid(c.relowner)` is bound as the scalar subquery that looks the role up.  So
they need no access to the catalog when they run, work over columns as over constants,
and show what the relations show.

Not here: functions of the session (bind/session.py), relations' contents (catalog/builtin).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from headwater.core.types import BOOL, INT4, OID, TEXT, SqlType
from headwater.sql.select.bind.clause import Clause
from headwater.sql.select.bind.coerce import castable, coerce
from headwater.sql.select.bind.privileges import PRIVILEGE_FUNCTIONS
from headwater.sql.select.bind.scope import RangeColumn, RangeItem, Scope
from headwater.sql.select.parse.query import parse_scalar
from headwater.sql.select.parse.syntax import Syntax
from headwater.sql.select.plan.nodes import Constant, Expression


@dataclass(frozen=True, slots=True)
class _Answer:
    """The expression behind a function of these arguments, which it calls arg1, arg2, ..."""

    arguments: tuple[SqlType, ...]
    text: str


_USER: Final = """
    coalesce((SELECT rolname FROM pg_catalog.pg_roles WHERE oid = arg1),
             'unknown (OID=' || arg1::text || ')')::name"""
_VIEW: Final = """
    (SELECT CASE WHEN definition LIKE '%;' THEN definition ELSE definition || ';' END
     FROM mz_catalog.mz_views WHERE oid = arg1)"""
_KEY: Final = """
    (SELECT 'PRIMARY KEY (' || (
        SELECT string_agg(quote_ident(a.attname::text), ', ' ORDER BY k.n)
        FROM unnest(c.conkey) WITH ORDINALITY AS k (position, n)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.position) || ')'
     FROM pg_catalog.pg_constraint c WHERE c.oid = arg1)"""
_COMMENT: Final = """
    (SELECT description FROM pg_catalog.pg_description
     WHERE objoid = arg1 AND objsubid = 0 AND classoid = (
        SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'pg_catalog' AND c.relname = arg2))"""
_ANY_COMMENT: Final = """
    (SELECT max(description) FROM pg_catalog.pg_description WHERE objoid = arg1 AND objsubid = 0)"""
_COLUMN_COMMENT: Final = """
    (SELECT description FROM pg_catalog.pg_description
     WHERE objoid = arg1 AND objsubid = arg2 AND classoid = 'pg_catalog.pg_class'::regclass)"""
_SHARED_COMMENT: Final = """
    (SELECT description FROM pg_catalog.pg_shdescription
     WHERE objoid = arg1 AND classoid = (
        SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'pg_catalog' AND c.relname = arg2))"""
# What is found in mz_catalog only because that is searched implicitly does not count: clients
# list what is visible, and know to leave out pg_catalog but not ours.
_VISIBLE: Final = """
    (SELECT n.nspname IN ('pg_catalog', 'mz_temp') OR (
        n.nspname = ANY (current_schemas(false)) AND NOT EXISTS (
        SELECT 1 FROM pg_catalog.pg_class o JOIN pg_catalog.pg_namespace m ON m.oid = o.relnamespace
        WHERE o.relname = c.relname AND array_position(current_schemas(false), m.nspname)
            < array_position(current_schemas(false), n.nspname)))
     FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     WHERE c.oid = arg1)"""
_RESULT: Final = """
    (SELECT CASE WHEN proretset THEN 'SETOF ' ELSE '' END || format_type(prorettype, NULL)
     FROM pg_catalog.pg_proc WHERE oid = arg1)"""
_ARGUMENTS: Final = """
    (SELECT coalesce((SELECT string_agg(format_type(a.type, NULL), ', ' ORDER BY a.n)
        FROM unnest(p.proargtypes) WITH ORDINALITY AS a (type, n)), '')
     FROM pg_catalog.pg_proc p WHERE p.oid = arg1)"""
_DEFINITION: Final = """
    (SELECT 'CREATE OR REPLACE FUNCTION pg_catalog.' || quote_ident(p.proname::text)
        || '(' || pg_get_function_arguments(p.oid) || E')\n RETURNS ' || pg_get_function_result(p.oid)
        || E'\n LANGUAGE internal\nAS $function$' || p.proname || E'$function$\n'
     FROM pg_catalog.pg_proc p WHERE p.oid = arg1)"""
_DIGITS: Final = "^[0-9]+$"
_REGTYPE: Final = f"(CASE WHEN arg1 !~ '{_DIGITS}' THEN _type_oid(arg1) END)::regtype"
_NAME: Final = """CASE WHEN arg1 LIKE '%"%' THEN replace(arg1, '"', '') ELSE lower(arg1) END"""
# As names in queries are looked up: mz_catalog is searched, too, although nothing is "visible" there.
_PLACE: Final = "array_position(current_schemas(true), {}.nspname)"
_EARLIER: Final = f"coalesce({_PLACE.format('m')}, CASE m.nspname WHEN 'mz_temp' THEN 0 END)"
_REGCLASS: Final = f"""
    (SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     WHERE {_NAME} IN (
            n.nspname || '.' || c.relname, current_database() || '.' || n.nspname || '.' || c.relname)
        OR (c.relname = {_NAME} AND (n.nspname = 'mz_temp' OR (
            n.nspname = ANY (current_schemas(true)) AND NOT EXISTS (
            SELECT 1 FROM pg_catalog.pg_class o JOIN pg_catalog.pg_namespace m ON m.oid = o.relnamespace
            WHERE o.relname = c.relname AND {_EARLIER} < {_PLACE.format("n")}))))
     LIMIT 1)::regclass"""
_REGNAMESPACE: Final = f"""
    (SELECT oid FROM pg_catalog.pg_namespace
     WHERE nspname = {_NAME})::regnamespace"""
# PostgreSQL has functions that are not here, and clients compare with the oids of some: these are NULL.
_REGPROC: Final = r"""
    (SELECT min(oid) FROM pg_catalog.pg_proc
     WHERE proname = btrim(btrim(regexp_replace(split_part(arg1, '(', 1), '^.*\.', '')), '"'))"""
_DESCRIBED: Final = """
    CASE arg1
        WHEN 'pg_catalog.pg_class'::regclass THEN
            (SELECT CASE c.relkind WHEN 'v' THEN 'view ' ELSE 'table ' END
                || quote_ident(n.nspname::text) || '.' || quote_ident(c.relname::text)
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
             WHERE c.oid = arg2)
        WHEN 'pg_catalog.pg_namespace'::regclass THEN
            (SELECT 'schema ' || quote_ident(nspname::text) FROM pg_catalog.pg_namespace WHERE oid = arg2)
        WHEN 'pg_catalog.pg_type'::regclass THEN 'type ' || format_type(arg2, NULL)
        WHEN 'pg_catalog.pg_extension'::regclass THEN
            (SELECT 'extension ' || quote_ident(extname::text) FROM pg_catalog.pg_extension WHERE oid = arg2)
    END"""
_SETTING: Final = """
    (SELECT CASE WHEN unit IS NULL THEN setting WHEN setting::int8 % 1000 <> 0 THEN setting || ' ms'
                 ELSE (setting::int8 / 1000)::text || ' s' END
     FROM pg_catalog.pg_settings WHERE name = lower(arg1))"""
_SIZE: Final = """
    (SELECT coalesce(max(u.size_bytes)::numeric, 0)::int8 FROM pg_catalog.pg_class c
     JOIN mz_catalog.mz_objects o ON o.oid = c.oid
     LEFT JOIN mz_catalog.mz_recent_storage_usage u ON u.object_id = o.id
     WHERE c.oid = arg1 HAVING count(*) > 0)"""
_DATABASE_SIZE: Final = """
    (SELECT (SELECT coalesce(sum(u.size_bytes::numeric), 0) FROM mz_catalog.mz_recent_storage_usage u
             JOIN mz_catalog.mz_objects o ON o.id = u.object_id
             JOIN mz_catalog.mz_schemas s ON s.id = o.schema_id WHERE s.database_id = d.id)::int8
     FROM mz_catalog.mz_databases d WHERE """

_ANSWERS: Final[dict[str, tuple[_Answer, ...]]] = {
    "pg_get_userbyid": (_Answer((OID,), _USER),),
    "pg_get_viewdef": (_Answer((OID,), _VIEW), _Answer((OID, BOOL), _VIEW), _Answer((OID, INT4), _VIEW)),
    "pg_get_constraintdef": (_Answer((OID,), _KEY), _Answer((OID, BOOL), _KEY)),
    "obj_description": (_Answer((OID, TEXT), _COMMENT), _Answer((OID,), _ANY_COMMENT)),
    "col_description": (_Answer((OID, INT4), _COLUMN_COMMENT),),
    "shobj_description": (_Answer((OID, TEXT), _SHARED_COMMENT),),
    "pg_table_is_visible": (_Answer((OID,), _VISIBLE),),
    "current_setting": (_Answer((TEXT,), _SETTING), _Answer((TEXT, BOOL), _SETTING)),
    "pg_get_function_result": (_Answer((OID,), _RESULT),),
    "pg_get_function_arguments": (_Answer((OID,), _ARGUMENTS),),
    "pg_get_function_identity_arguments": (_Answer((OID,), _ARGUMENTS),),
    "pg_get_function_sqlbody": (_Answer((OID,), "NULL::text"),),
    "pg_database_size": (
        _Answer((TEXT,), f"{_DATABASE_SIZE} d.name = arg1)"),
        _Answer((OID,), f"{_DATABASE_SIZE} d.oid = arg1)"),
    ),
    "pg_relation_size": (_Answer((SqlType("regclass"),), _SIZE), _Answer((SqlType("regclass"), TEXT), _SIZE)),
    "pg_table_size": (_Answer((SqlType("regclass"),), _SIZE),),
    "pg_total_relation_size": (_Answer((SqlType("regclass"),), _SIZE),),
    "pg_tablespace_size": (_Answer((TEXT,), "NULL::int8"), _Answer((OID,), "NULL::int8")),
    "to_regtype": (_Answer((TEXT,), _REGTYPE),),
    "to_regclass": (_Answer((TEXT,), _REGCLASS),),
    "to_regnamespace": (_Answer((TEXT,), _REGNAMESPACE),),
    "pg_describe_object": (_Answer((OID, OID, INT4), _DESCRIBED),),
    "pg_get_indexdef": (_Answer((OID,), "NULL::text"), _Answer((OID, INT4, BOOL), "NULL::text")),
    "pg_get_ruledef": (_Answer((OID,), "NULL::text"), _Answer((OID, BOOL), "NULL::text")),
    "pg_get_triggerdef": (_Answer((OID,), "NULL::text"), _Answer((OID, BOOL), "NULL::text")),
    "pg_get_functiondef": (_Answer((OID,), _DEFINITION),),
    "pg_get_statisticsobjdef": (_Answer((OID,), "NULL::text"),),
    "getdatabaseencoding": (_Answer((), "'UTF8'::name"),),
    "pg_client_encoding": (
        _Answer((), "(SELECT setting::name FROM pg_catalog.pg_settings WHERE name = 'client_encoding')"),
    ),
    **{
        name: tuple(_Answer(arguments, text) for arguments, text in forms)
        for name, forms in PRIVILEGE_FUNCTIONS.items()
    },
}


def _registered(type_: str, found: str) -> str:
    """The oid behind a text: digits are one already."""
    return (
        f"(CASE WHEN arg1 ~ '{_DIGITS}' THEN arg1::oid WHEN arg1 = '-' THEN 0::oid ELSE {found} END)::{type_}"
    )


_REGISTERED: Final = {
    "regclass": _registered("regclass", f"_known_object({_REGCLASS}::oid, 'relation', arg1)"),
    "regtype": _registered("regtype", "_known_object(_type_oid(arg1), 'type', arg1)"),
    "regnamespace": _registered("regnamespace", f"_known_object({_REGNAMESPACE}::oid, 'schema', arg1)"),
    "regproc": _registered("regproc", _REGPROC),
}
"""By the type that a text is cast to."""


def registered(
    clause: Clause, text: Expression, type_: SqlType, at: int, bind: Callable[[Clause, Syntax], Expression]
) -> Expression:
    """The cast of a text to a type whose values stand for names."""
    answer = _Answer((TEXT,), _REGISTERED[type_.kind])
    return _bound(clause, answer, [coerce(clause.planning, text, TEXT, at, explicit=True)], bind)


def catalog_function(
    clause: Clause,
    name: str,
    arguments: tuple[Expression, ...],
    at: int,
    bind: Callable[[Clause, Syntax], Expression],
) -> Expression | None:
    """The expression behind a call; None when the name or its arguments are not one of those."""
    for answer in _ANSWERS.get(name, ()):
        if len(answer.arguments) != len(arguments):
            continue
        pairs = list(zip(arguments, answer.arguments, strict=True))
        if all(castable(argument.type, type_, "implicit") for argument, type_ in pairs):
            return _bound(clause, answer, [coerce(clause.planning, a, type_, at) for a, type_ in pairs], bind)
    return None


def _bound(
    clause: Clause, answer: _Answer, values: list[Expression], bind: Callable[[Clause, Syntax], Expression]
) -> Expression:
    columns = tuple(RangeColumn(f"arg{i}", value) for i, value in enumerate(values, 1))
    scope = Scope((RangeItem(None, (), columns),))
    inner = replace(clause, scope=scope, aggregates=False, windows=False, sets=False)
    value = bind(inner, parse_scalar(answer.text))
    if isinstance(value, Constant) and value.type.kind == "unknown":
        return Constant(value.value, TEXT)
    return value
