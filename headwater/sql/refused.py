"""Statements of the dialect that are known by name and refused (0A000).

A phrase is refused with a text of its own where the dialect has one, otherwise as
`<PHRASE> not yet supported`.  When one of them becomes a statement, its line goes.
"""

from __future__ import annotations

from typing import Final

_ITEMS: Final = (
    "MATERIALIZED VIEW",
    "INDEX",
    "SINK",
    "TYPE",
    "NETWORK POLICY",
)

REFUSED: Final[dict[str, str]] = {
    **{f"CREATE {item}": f"CREATE {item} not yet supported" for item in (*_ITEMS, "FUNCTION")},
    "CREATE OR REPLACE MATERIALIZED VIEW": "CREATE MATERIALIZED VIEW not yet supported",
    "CREATE REPLACEMENT MATERIALIZED VIEW": "CREATE REPLACEMENT MATERIALIZED VIEW not yet supported",
    "CREATE DEFAULT INDEX": "CREATE INDEX not yet supported",
    "CREATE UNIQUE INDEX": "CREATE INDEX not yet supported",
    "CREATE CLUSTER REPLICA": "CREATE CLUSTER REPLICA not yet supported",
    "CREATE TEMP|TEMPORARY TABLE ... FROM WEBHOOK": "temporary tables FROM WEBHOOK not supported",
    "DROP CLUSTER REPLICA": "DROP CLUSTER REPLICA not yet supported",
    "DROP NETWORK POLICY": "DROP NETWORK POLICY not yet supported",
    "DROP FUNCTION": "DROP FUNCTION not yet supported",
    **{f"ALTER {item}": f"ALTER {item} not yet supported" for item in _ITEMS},
    "ALTER SOURCE [IF EXISTS] <name> SET CLUSTER": "ALTER SOURCE SET CLUSTER not yet supported",
    "ALTER SOURCE <name> SWAP": "ALTER SOURCE .. SWAP WITH ... not yet supported",
    "ALTER DATABASE <name> SWAP": "ALTER DATABASE .. SWAP WITH ... not yet supported",
    "ALTER TABLE [IF EXISTS] <name> DROP": "ALTER TABLE ... DROP not yet supported",
    "ALTER TABLE [IF EXISTS] <name> ALTER": "ALTER TABLE ... ALTER COLUMN not yet supported",
    "ALTER CONNECTION [IF EXISTS] <name> ROTATE": "ALTER CONNECTION ... ROTATE KEYS not yet supported",
    "ALTER VIEW [IF EXISTS] <name> SET": "ALTER VIEW ... SET not yet supported",
    **{f"COMMENT ON {item}": f"COMMENT ON {item} not yet supported" for item in (*_ITEMS, "FUNCTION")},
    "COMMENT ON CLUSTER REPLICA": "COMMENT ON CLUSTER REPLICA not yet supported",
    "SET [LOCAL|SESSION] ROLE": "SET ROLE not yet supported",
    "RESET ROLE": "RESET ROLE not yet supported",
    "RESET SESSION AUTHORIZATION": "RESET SESSION AUTHORIZATION not yet supported",
    "SET SESSION AUTHORIZATION": "SET SESSION AUTHORIZATION not yet supported",
    "SET CONSTRAINTS": "SET CONSTRAINTS not yet supported",
    "TAIL": "TAIL not supported, its name is SUBSCRIBE",
    **{
        word: f"{word} not yet supported"
        for word in (
            "ANALYZE",
            "CALL",
            "CHECKPOINT",
            "DO",
            "LISTEN",
            "MERGE",
            "MOVE",
            "NOTIFY",
            "TRUNCATE",
            "VACUUM",
        )
    },
}
