"""Oids that PostgreSQL's catalog wants of things that have no identity of their own here.

A view's rewrite rule, a table's key and a column's default are parts of an item.  Their
oids are computed from its oid, above all oids that are ever given out.
"""

from __future__ import annotations

from typing import Final

from headwater.catalog.state import FIRST_USER_OID

PG_CLASS_OID: Final = 1259
PG_NAMESPACE_OID: Final = 2615
PG_REWRITE_OID: Final = 2618
PG_DATABASE_OID: Final = 1262
PG_AUTHID_OID: Final = 1260
PG_CATALOG_OID: Final = 11
"""The schema."""

PG_TYPE_OID: Final = 1247
PG_EXTENSION_OID: Final = 3079
EXTENSION_OID: Final = 13_000
"""The extension, among the oids that are no user's."""

_KEY_OIDS: Final = 1 << 30
_REWRITE_OIDS: Final = 3 << 30
_DEFAULT_OIDS: Final = 2 << 30
_COLUMNS_PER_TABLE: Final = 1_600


def key_oid(table_oid: int) -> int:
    """The primary key of a table, both as a constraint and as an index."""
    return _KEY_OIDS + table_oid


def rewrite_oid(view_oid: int) -> int:
    """The rule that makes a view a view."""
    return _REWRITE_OIDS + view_oid


def default_oid(table_oid: int, position: int) -> int:
    """The default of a column."""
    return _DEFAULT_OIDS + (table_oid - FIRST_USER_OID) * _COLUMNS_PER_TABLE + position
