"""The first shape: objects, counters, settings, the audit log, and what a new environment begins with."""

from __future__ import annotations

STATEMENTS = (
    """CREATE TABLE catalog_head (
        singleton INTEGER PRIMARY KEY CHECK (singleton = 0),
        version INTEGER NOT NULL,
        epoch INTEGER NOT NULL
    ) STRICT""",
    "INSERT INTO catalog_head VALUES (0, 1, 0)",
    "CREATE TABLE counter (kind TEXT PRIMARY KEY, next INTEGER NOT NULL) STRICT",
    """INSERT INTO counter VALUES
        ('item', 1), ('database', 2), ('schema', 2), ('cluster', 2), ('role', 2), ('oid', 20003)""",
    "CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    "CREATE TABLE system_variable (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    """CREATE TABLE role (
        id TEXT PRIMARY KEY,
        oid INTEGER NOT NULL UNIQUE,
        name TEXT NOT NULL UNIQUE,
        inherit INTEGER NOT NULL,
        login INTEGER NOT NULL,
        superuser INTEGER NOT NULL
    ) STRICT""",
    """INSERT INTO role VALUES
        ('s1', 16704, 'mz_system', 1, 1, 1),
        ('s2', 16705, 'mz_support', 1, 1, 0),
        ('u1', 20000, 'materialize', 1, 1, 1)""",
    """CREATE TABLE database (
        id TEXT PRIMARY KEY,
        oid INTEGER NOT NULL UNIQUE,
        name TEXT NOT NULL,
        owner_id TEXT NOT NULL
    ) STRICT""",
    "INSERT INTO database VALUES ('u1', 20001, 'materialize', 'u1')",
    """CREATE TABLE schema (
        id TEXT PRIMARY KEY,
        oid INTEGER NOT NULL UNIQUE,
        database_id TEXT NOT NULL,
        name TEXT NOT NULL,
        owner_id TEXT NOT NULL
    ) STRICT""",
    "INSERT INTO schema VALUES ('u1', 20002, 'u1', 'public', 'u1')",
    """CREATE TABLE cluster (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        size TEXT NOT NULL,
        replication_factor INTEGER NOT NULL,
        owner_id TEXT NOT NULL
    ) STRICT""",
    "INSERT INTO cluster VALUES ('u1', 'quickstart', 'local', 1, 'u1')",
    """CREATE TABLE item (
        id TEXT PRIMARY KEY,
        oid INTEGER NOT NULL UNIQUE,
        schema_id TEXT NOT NULL,
        name TEXT NOT NULL,
        kind TEXT NOT NULL,
        create_sql TEXT NOT NULL,
        relation TEXT NOT NULL,
        dependencies TEXT NOT NULL,
        cluster_id TEXT,
        definition TEXT,
        owner_id TEXT NOT NULL,
        details TEXT NOT NULL,
        created_at_ms INTEGER NOT NULL,
        redefined_at INTEGER NOT NULL
    ) STRICT""",
    """CREATE TABLE comment (
        object_kind TEXT NOT NULL,
        object_id TEXT NOT NULL,
        sub_id INTEGER NOT NULL,
        text TEXT NOT NULL,
        PRIMARY KEY (object_kind, object_id, sub_id)
    ) STRICT""",
    """CREATE TABLE audit_event (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        event_type TEXT NOT NULL,
        object_type TEXT NOT NULL,
        details TEXT NOT NULL,
        user TEXT,
        occurred_at_ms INTEGER NOT NULL
    ) STRICT""",
)
