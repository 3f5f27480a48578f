"""pg_catalog.pg_language: languages of functions."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.catalog.builtin.objects import SYSTEM_ROLE_OID
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _fixed(builtins: Sequence[BuiltinTable]) -> Columns:
    return {
        "oid": [12, 14],
        "lanname": ["internal", "sql"],
        "lanowner": SYSTEM_ROLE_OID,
        "lanispl": False,
        "lanpltrusted": [False, True],
        "lanplcallfoid": 0,
        "laninline": 0,
        "lanvalidator": 0,
    }


RELATION = BuiltinTable(
    number=424,
    schema="pg_catalog",
    name="pg_language",
    description="Languages of functions.",
    columns=shape(
        """
        oid oid
        lanname name
        lanowner oid
        lanispl bool
        lanpltrusted bool
        lanplcallfoid oid
        laninline oid
        lanvalidator oid
        lanacl mz_aclitem[]?
        """
    ),
    fixed=_fixed,
    postgres_oid=2612,
)
