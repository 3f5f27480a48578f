"""MySQL in SQL: from what was written to what a source keeps."""

from __future__ import annotations

from typing import Any, Final

from headwater.sources.contract import Options, Secrets
from headwater.sources.dialect import Dialect, Examined
from headwater.sources.mysql.connection_kind import CONNECTION
from headwater.sources.mysql.grammar import GRAMMAR
from headwater.sources.mysql.inspect import examine
from headwater.sources.mysql.relations import MZ_MYSQL_SOURCE_TABLES
from headwater.sources.mysql.server import FULL, METADATA, names_columns
from headwater.sql.upstream import Upstream

SOURCE_TYPE: Final = "mysql"


def _resolve(upstream: Upstream, now_ms: int) -> dict[str, Any]:
    """Nothing is written of a source but its connection, and columns, which its tables keep."""
    return {}


def _examine(options: Options, secrets: Secrets) -> Examined:
    found = examine(options, secrets)
    warnings: tuple[tuple[str, str], ...] = ()
    if not names_columns(found.server):
        value = found.server.variables.get(METADATA, "unknown to it")
        text = f"{METADATA} of the upstream is {value}, so that CREATE TABLE .. FROM SOURCE cannot be used"
        warnings = ((text, f"In the upstream: SET GLOBAL {METADATA} = '{FULL}'."),)
    return Examined(found.references, {"flavour": found.server.flavour}, warnings)


DIALECT: Final = Dialect(
    source_type=SOURCE_TYPE,
    grammar=GRAMMAR,
    resolve=_resolve,
    examine=_examine,
    connections=(CONNECTION,),
    relations=(MZ_MYSQL_SOURCE_TABLES,),
    reference_required=lambda options: (
        "Say which table is wanted: CREATE TABLE .. FROM SOURCE .. (REFERENCE schema.table)"
    ),
)
