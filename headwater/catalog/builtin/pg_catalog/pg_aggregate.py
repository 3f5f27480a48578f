"""pg_catalog.pg_aggregate: aggregate functions."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=421,
    schema="pg_catalog",
    name="pg_aggregate",
    description="Aggregate functions.",
    columns=shape(
        """
        aggfnoid regproc
        aggkind "char"
        aggnumdirectargs int2
        aggtransfn regproc
        aggfinalfn regproc
        aggcombinefn regproc
        aggserialfn regproc
        aggdeserialfn regproc
        aggmtransfn regproc
        aggminvtransfn regproc
        aggmfinalfn regproc
        aggfinalextra bool
        aggmfinalextra bool
        aggfinalmodify "char"
        aggmfinalmodify "char"
        aggsortop oid
        aggtranstype oid
        aggtransspace int4
        aggmtranstype oid
        aggmtransspace int4
        agginitval text?
        aggminitval text?
        """
    ),
    postgres_oid=2600,
)
