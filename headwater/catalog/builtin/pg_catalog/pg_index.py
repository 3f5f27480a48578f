"""pg_catalog.pg_index: primary keys, as the indexes they would be elsewhere."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.keys import keys_of
from headwater.catalog.builtin.objects import session_objects
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    keys = keys_of(session_objects(facts))
    return {
        "indexrelid": [k.oid for k in keys],
        "indrelid": [k.table.oid for k in keys],
        "indnatts": [len(k.positions) for k in keys],
        "indnkeyatts": [len(k.positions) for k in keys],
        "indisunique": True,
        "indnullsnotdistinct": False,
        "indisprimary": True,
        "indisexclusion": False,
        "indimmediate": True,
        "indisclustered": False,
        "indisvalid": True,
        "indcheckxmin": False,
        "indisready": True,
        "indislive": True,
        "indisreplident": False,
        "indkey": [list(k.positions) for k in keys],
        "indcollation": [[0] * len(k.positions) for k in keys],
        "indclass": [[0] * len(k.positions) for k in keys],
        "indoption": [[0] * len(k.positions) for k in keys],
    }


RELATION = BuiltinTable(
    number=406,
    schema="pg_catalog",
    name="pg_index",
    description="Primary keys, as the indexes they would be elsewhere.",
    columns=shape(
        """
        indexrelid oid
        indrelid oid
        indnatts int2
        indnkeyatts int2
        indisunique bool
        indnullsnotdistinct bool
        indisprimary bool
        indisexclusion bool
        indimmediate bool
        indisclustered bool
        indisvalid bool
        indcheckxmin bool
        indisready bool
        indislive bool
        indisreplident bool
        indkey int2vector
        indcollation oid[]
        indclass oid[]
        indoption int2vector
        indexprs text?
        indpred text?
        """
    ),
    rows=_rows,
    scope="database",
    postgres_oid=2610,
)
