"""Roles with passwords, limits and settings; who is a member of whom; who may do what.

Until now everybody could do everything: the role that there was owns all there is.  All roles
may use what a new environment begins with, which gives them the place and not what others put there.
"""

from __future__ import annotations

STATEMENTS = (
    "ALTER TABLE role ADD COLUMN verifier TEXT",
    "ALTER TABLE role ADD COLUMN connection_limit INTEGER NOT NULL DEFAULT -1",
    "ALTER TABLE role ADD COLUMN settings TEXT NOT NULL DEFAULT '{}'",
    "UPDATE role SET superuser = 1 WHERE id = 'u1'",
    """CREATE TABLE membership (
        role_id TEXT NOT NULL,
        member_id TEXT NOT NULL,
        grantor_id TEXT NOT NULL,
        PRIMARY KEY (role_id, member_id)
    ) STRICT""",
    """CREATE TABLE object_grants (
        object_kind TEXT NOT NULL,
        object_id TEXT NOT NULL,
        grants TEXT NOT NULL,
        PRIMARY KEY (object_kind, object_id)
    ) STRICT""",
    """CREATE TABLE default_grant (
        role_id TEXT NOT NULL,
        database_id TEXT NOT NULL,
        schema_id TEXT NOT NULL,
        object_kind TEXT NOT NULL,
        grantee_id TEXT NOT NULL,
        privileges TEXT NOT NULL,
        PRIMARY KEY (role_id, database_id, schema_id, object_kind, grantee_id)
    ) STRICT""",
    """INSERT INTO object_grants
        SELECT 'database', id,
            '[["p", "u1", ["USAGE"]], ["u1", "u1", ["CREATE", "USAGE"]]]'
        FROM database WHERE owner_id = 'u1' AND id = 'u1'""",
    """INSERT INTO object_grants
        SELECT 'schema', id,
            '[["p", "u1", ["USAGE"]], ["u1", "u1", ["CREATE", "USAGE"]]]'
        FROM schema WHERE owner_id = 'u1' AND id = 'u1'""",
    """INSERT INTO object_grants
        SELECT 'cluster', id,
            '[["p", "u1", ["USAGE"]], ["u1", "u1", ["CREATE", "USAGE"]]]'
        FROM cluster WHERE owner_id = 'u1' AND id = 'u1'""",
)
