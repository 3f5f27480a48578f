"""has_table_privilege() and its kin: expressions over who holds what, and what is granted.

    mz_role_holdings    a role and whose grants it has: its own, those of its roles, everybody's
    mz_object_grants    what is granted to whom; on everything all there is to `*`, which superusers hold

Each has forms with and without the role, which like the object is given by name or oid.
"""

from __future__ import annotations

from typing import Final

from headwater.core.types import INT2, OID, TEXT, SqlType

_KINDS: Final = {
    "has_table_privilege": "relation",
    "has_any_column_privilege": "relation",
    "has_column_privilege": "relation",
    "has_schema_privilege": "schema",
    "has_database_privilege": "database",
    "pg_has_role": "role",
}
_FOUND: Final = {
    "relation": "to_regclass({0})::oid",
    "schema": (
        "(SELECT max(s.oid) FROM mz_catalog.mz_schemas s"
        " LEFT JOIN mz_catalog.mz_databases d ON d.id = s.database_id"
        " WHERE s.name = {0} AND (d.name IS NULL OR d.name = current_database()))"
    ),
    "database": "(SELECT max(oid) FROM mz_catalog.mz_databases WHERE name = {0})",
    "role": "(SELECT max(oid) FROM mz_catalog.mz_roles WHERE name = {0})",
}
"""The oid behind a name."""
_THERE: Final = {
    "relation": "(SELECT max(oid) FROM pg_catalog.pg_class WHERE oid = {0})",
    "schema": "(SELECT max(oid) FROM mz_catalog.mz_schemas WHERE oid = {0})",
    "database": "(SELECT max(oid) FROM mz_catalog.mz_databases WHERE oid = {0})",
    "role": "(SELECT max(oid) FROM mz_catalog.mz_roles WHERE oid = {0})",
}
"""An oid, if anything has it."""


def _text(kind: str, who: str | None, target: str, place: int, privilege: int) -> str:
    object_ = f"arg{place}"
    holder = {None: "h.role_name = current_user::text", "oid": "h.role_oid = arg1"}.get(
        who, "h.role_name = arg1"
    )
    wanted = f"',' || upper(replace(arg{privilege}, ' ', '')) || ','"
    oid = (_THERE if target == "oid" else _FOUND)[kind].format(object_)
    held = (
        "EXISTS (SELECT 1 FROM mz_internal.mz_object_grants g"
        " JOIN mz_internal.mz_role_holdings h ON h.holder_id = g.grantee_id"
        f" WHERE g.kind = '{kind}' AND g.oid = {oid} AND {holder}"
        f" AND position(',' || g.privilege || ',' IN {wanted}) > 0)"
    )
    if who is None:
        held = f"(mz_is_superuser() OR {held})"
    given = [object_, f"arg{privilege}"]
    unknown = [f"_known_privilege('{kind}', arg{privilege}) IS NULL"]
    unknown.append(f"{oid} IS NULL" if target == "oid" else f"{_known(kind, oid, object_)} IS NULL")
    if who == "text":
        everybody = "" if kind == "role" else "arg1 <> 'public' AND "
        unknown.append(f"({everybody}{_known('role', _FOUND['role'].format('arg1'), 'arg1')} IS NULL)")
    missing = " OR ".join(f"{one} IS NULL" for one in given)
    never = " ".join(f"WHEN {one} THEN NULL" for one in unknown)
    return f"CASE WHEN {missing} THEN NULL {never} ELSE {held} END"


def _known(kind: str, oid: str, name: str) -> str:
    """The oid, or an error that names what is not there."""
    return f"_known_object({oid}, '{kind}', {name})"


def _forms(name: str, kind: str) -> list[tuple[tuple[SqlType, ...], str]]:
    forms: list[tuple[tuple[SqlType, ...], str]] = []
    for who in (None, TEXT, OID):
        for target in (TEXT, OID):
            for column in (TEXT, INT2) if name == "has_column_privilege" else (None,):
                before = () if who is None else (who,)
                between = () if column is None else (column,)
                arguments = (*before, target, *between, TEXT)
                text = _text(
                    kind, None if who is None else who.kind, target.kind, len(before) + 1, len(arguments)
                )
                forms.append((arguments, text))
    return forms


PRIVILEGE_FUNCTIONS: Final = {name: _forms(name, kind) for name, kind in _KINDS.items()}
"""By name of the function: types of arguments and the expression, in which they are arg1, arg2, ..."""
