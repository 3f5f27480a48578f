"""MySQL and MariaDB as upstreams: what is written of them (grammar.py), and system relations.

They cannot be read yet.
"""

from __future__ import annotations

from headwater.sources.mysql.grammar import GRAMMAR
from headwater.sources.mysql.relations import MZ_MYSQL_SOURCE_TABLES

__all__ = ["GRAMMAR", "RELATIONS"]

RELATIONS = (MZ_MYSQL_SOURCE_TABLES,)
