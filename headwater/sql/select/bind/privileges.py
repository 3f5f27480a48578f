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
_BY_NAME: Final = {
    "relation": "g.oid = {0}::regclass::oid",
    "schema": "g.name = {0} AND (g.database_name IS NULL OR g.database_name = current_database())",
    "database": "g.name = {0}",
    "role": "g.name = {0}",
}


def _text(kind: str, who: str | None, target: str, place: int, privilege: int) -> str:
    object_ = f"arg{place}"
    same = "g.oid = {0}" if target == "oid" else _BY_NAME[kind]
    holder = {None: "h.role_name = current_user::text", "oid": "h.role_oid = arg1"}.get(
        who, "h.role_name = arg1"
    )
    wanted = f"',' || upper(replace(arg{privilege}, ' ', '')) || ','"
    held = (
        "EXISTS (SELECT 1 FROM mz_internal.mz_object_grants g"
        " JOIN mz_internal.mz_role_holdings h ON h.holder_id = g.grantee_id"
        f" WHERE g.kind = '{kind}' AND {same.format(object_)} AND {holder}"
        f" AND position(',' || g.privilege || ',' IN {wanted}) > 0)"
    )
    if who is None:
        held = f"(mz_is_superuser() OR {held})"
    given = [object_, f"arg{privilege}"]
    return f"CASE WHEN {' OR '.join(f'{one} IS NULL' for one in given)} THEN NULL ELSE {held} END"


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
