"""Statements: one file for each, and the one table of them.

A statement file has a frozen dataclass that renders itself, the first words it is
found by (`PHRASES`, in the notation of `words.expand`), and `parse`, which is called
with the cursor on the first of those words.  Files do not import each other; what two
of them need stands one level up.

Where phrases overlap the longest one wins: `SHOW TABLES` before `SHOW`.
"""

from __future__ import annotations

from typing import Final, Protocol

from headwater.sql.cursor import Cursor
from headwater.sql.statement import Statement
from headwater.sql.statements import (
    alter_cluster,
    alter_connection,
    alter_default_privileges,
    alter_owner,
    alter_rename,
    alter_role,
    alter_secret,
    alter_source,
    alter_source_add,
    alter_source_drop,
    alter_swap,
    alter_system,
    alter_table,
    alter_table_add_column,
    begin,
    close,
    comment_on,
    commit,
    copy_from,
    copy_to,
    create_cluster,
    create_connection,
    create_database,
    create_role,
    create_schema,
    create_secret,
    create_source,
    create_subsource,
    create_table,
    create_table_from_source,
    create_table_from_webhook,
    create_view,
    deallocate,
    declare,
    delete,
    discard,
    drop,
    drop_owned,
    execute,
    explain,
    explain_migration,
    fetch,
    grant_privileges,
    grant_role,
    insert,
    lock_table,
    prepare,
    reassign_owned,
    release_savepoint,
    reset,
    revoke_privileges,
    revoke_role,
    rollback,
    rollback_to,
    savepoint,
    select,
    set_transaction,
    set_variable,
    show_columns,
    show_create,
    show_objects,
    show_privileges,
    show_variable,
    subscribe,
    unlisten,
    update,
    validate_connection,
    verify_table,
)


class StatementFile(Protocol):
    """What a module of this folder offers."""

    @property
    def PHRASES(self) -> tuple[str, ...]:
        """First words."""

    def parse(self, cursor: Cursor) -> Statement:
        """The statement under the cursor."""


STATEMENT_FILES: Final[tuple[StatementFile, ...]] = (
    create_database,
    create_schema,
    create_cluster,
    create_secret,
    create_connection,
    create_source,
    create_subsource,
    create_table,
    create_table_from_source,
    create_table_from_webhook,
    create_view,
    drop,
    alter_rename,
    alter_swap,
    alter_cluster,
    alter_secret,
    alter_connection,
    alter_source,
    alter_source_add,
    alter_source_drop,
    alter_table,
    alter_table_add_column,
    alter_system,
    validate_connection,
    verify_table,
    comment_on,
    create_role,
    alter_role,
    grant_role,
    revoke_role,
    grant_privileges,
    revoke_privileges,
    alter_owner,
    alter_default_privileges,
    drop_owned,
    reassign_owned,
    insert,
    update,
    delete,
    copy_from,
    copy_to,
    select,
    subscribe,
    declare,
    fetch,
    close,
    explain,
    explain_migration,
    show_objects,
    show_privileges,
    show_columns,
    show_create,
    show_variable,
    set_variable,
    set_transaction,
    reset,
    discard,
    begin,
    commit,
    rollback,
    rollback_to,
    savepoint,
    release_savepoint,
    lock_table,
    prepare,
    execute,
    deallocate,
    unlisten,
)
