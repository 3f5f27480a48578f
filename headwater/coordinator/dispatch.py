"""Which file does what: statements to their `describe` and `run`.

`describe` says what a statement takes and returns without doing it; `run` does it.
A kind of statement is one line in one of the tables below.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headwater.coordinator.api import ParsedStatement, Prepared, Result
from headwater.coordinator.ddl import DdlScope, Outcome, Question
from headwater.coordinator.owning import owned
from headwater.coordinator.patience import patiently
from headwater.coordinator.rights import check_statement
from headwater.coordinator.sequence import (
    add_column,
    alter,
    comment_on,
    connections,
    copy,
    create_namespaces,
    create_source,
    create_table,
    create_table_from_source,
    create_table_from_webhook,
    create_view,
    cursors,
    drop,
    explain,
    explain_migration,
    grants,
    prepared,
    roles,
    secrets,
    select,
    subscribe,
    subsources,
    swap,
    transactions,
    variables,
    verify_table,
    write,
)
from headwater.core.errors import InvariantViolation
from headwater.core.types import SqlType
from headwater.sql.statements.alter_cluster import AlterCluster
from headwater.sql.statements.alter_connection import AlterConnection
from headwater.sql.statements.alter_default_privileges import AlterDefaultPrivileges
from headwater.sql.statements.alter_owner import AlterOwner
from headwater.sql.statements.alter_rename import AlterRename
from headwater.sql.statements.alter_role import AlterRole
from headwater.sql.statements.alter_secret import AlterSecret
from headwater.sql.statements.alter_source import AlterSource
from headwater.sql.statements.alter_source_add import AlterSourceAdd
from headwater.sql.statements.alter_source_drop import AlterSourceDrop
from headwater.sql.statements.alter_swap import AlterSwap
from headwater.sql.statements.alter_system import AlterSystem
from headwater.sql.statements.alter_table import AlterTable
from headwater.sql.statements.alter_table_add_column import AlterTableAddColumn
from headwater.sql.statements.begin import Begin
from headwater.sql.statements.close import Close
from headwater.sql.statements.comment_on import CommentOn
from headwater.sql.statements.commit import Commit
from headwater.sql.statements.copy_from import CopyFrom
from headwater.sql.statements.copy_to import CopyTo
from headwater.sql.statements.create_cluster import CreateCluster
from headwater.sql.statements.create_connection import CreateConnection
from headwater.sql.statements.create_database import CreateDatabase
from headwater.sql.statements.create_role import CreateRole
from headwater.sql.statements.create_schema import CreateSchema
from headwater.sql.statements.create_secret import CreateSecret
from headwater.sql.statements.create_source import CreateSource
from headwater.sql.statements.create_subsource import CreateSubsource
from headwater.sql.statements.create_table import CreateTable
from headwater.sql.statements.create_table_from_source import CreateTableFromSource
from headwater.sql.statements.create_table_from_webhook import CreateTableFromWebhook
from headwater.sql.statements.create_view import CreateView
from headwater.sql.statements.deallocate import Deallocate
from headwater.sql.statements.declare import Declare
from headwater.sql.statements.delete import Delete
from headwater.sql.statements.discard import Discard
from headwater.sql.statements.drop import Drop
from headwater.sql.statements.drop_owned import DropOwned
from headwater.sql.statements.execute import Execute
from headwater.sql.statements.explain import Explain
from headwater.sql.statements.explain_migration import ExplainMigration
from headwater.sql.statements.fetch import Fetch
from headwater.sql.statements.grant_privileges import GrantPrivileges
from headwater.sql.statements.grant_role import GrantRole
from headwater.sql.statements.insert import Insert
from headwater.sql.statements.lock_table import LockTable
from headwater.sql.statements.prepare import Prepare
from headwater.sql.statements.reassign_owned import ReassignOwned
from headwater.sql.statements.release_savepoint import ReleaseSavepoint
from headwater.sql.statements.reset import Reset
from headwater.sql.statements.revoke_privileges import RevokePrivileges
from headwater.sql.statements.revoke_role import RevokeRole
from headwater.sql.statements.rollback import Rollback
from headwater.sql.statements.rollback_to import RollbackTo
from headwater.sql.statements.savepoint import Savepoint
from headwater.sql.statements.select import Select
from headwater.sql.statements.set_transaction import SetTransaction
from headwater.sql.statements.set_variable import SetVariable
from headwater.sql.statements.show_columns import ShowColumns
from headwater.sql.statements.show_create import ShowCreate
from headwater.sql.statements.show_objects import ShowObjects
from headwater.sql.statements.show_privileges import ShowPrivileges
from headwater.sql.statements.show_variable import ShowVariable
from headwater.sql.statements.subscribe import Subscribe
from headwater.sql.statements.unlisten import Unlisten
from headwater.sql.statements.update import Update
from headwater.sql.statements.validate_connection import ValidateConnection
from headwater.sql.statements.verify_table import VerifyTable

if TYPE_CHECKING:
    from headwater.coordinator.session import SqlSession

DDL: dict[type, Callable[[DdlScope, Any], Outcome]] = {
    CreateDatabase: create_namespaces.plan_database,
    CreateSchema: create_namespaces.plan_schema,
    CreateCluster: create_namespaces.plan_cluster,
    AlterCluster: create_namespaces.plan_alter_cluster,
    CreateSource: create_source.plan,
    CreateTableFromSource: create_table_from_source.plan,
    CreateTable: create_table.plan,
    CreateTableFromWebhook: create_table_from_webhook.plan,
    CreateView: create_view.plan,
    Drop: drop.plan,
    AlterRename: alter.plan_rename,
    AlterSwap: swap.plan,
    AlterSource: alter.plan_source,
    AlterSourceAdd: subsources.plan_add,
    AlterSourceDrop: subsources.plan_drop,
    CreateSubsource: subsources.refuse_subsource,
    AlterTable: alter.plan_table,
    AlterTableAddColumn: add_column.plan,
    AlterSystem: alter.plan_system,
    CommentOn: comment_on.plan,
    CreateRole: roles.plan_create,
    AlterRole: roles.plan_alter,
    GrantRole: roles.plan_grant,
    RevokeRole: roles.plan_revoke,
    GrantPrivileges: grants.plan_grant,
    RevokePrivileges: grants.plan_revoke,
    AlterOwner: grants.plan_owner,
    AlterDefaultPrivileges: grants.plan_default,
    DropOwned: grants.plan_drop_owned,
    ReassignOwned: grants.plan_reassign,
    CreateSecret: secrets.plan_create,
    AlterSecret: secrets.plan_alter,
    CreateConnection: connections.plan_create,
    AlterConnection: connections.plan_alter,
}

QUESTIONS: dict[type, Callable[[DdlScope, Any], Question | None]] = {
    CreateSource: create_source.question,
    CreateTableFromSource: create_table_from_source.question,
    AlterSource: alter.source_question,
    AlterSourceAdd: subsources.question,
    AlterTableAddColumn: add_column.question,
    CreateConnection: connections.create_question,
    AlterConnection: connections.alter_question,
}
"""What must be asked of an upstream before a statement can be planned."""

EVALUATED: dict[type, Callable[[SqlSession, Any], Awaitable[Any]]] = {
    CreateSecret: secrets.value,
    AlterSecret: secrets.value,
    CreateRole: roles.verifier,
    AlterRole: roles.verifier,
}
"""What must be computed before a statement can be planned."""

Describe = Callable[["SqlSession", Any, tuple[SqlType | None, ...]], Prepared]
Run = Callable[["SqlSession", Prepared, tuple[str | None, ...]], Awaitable[Result]]

WITH_ROWS: dict[type, tuple[Describe, Run]] = {
    Select: (select.describe, select.run),
    ShowObjects: (select.describe, select.run),
    ShowPrivileges: (select.describe, select.run),
    ShowColumns: (select.describe, select.run),
    ShowCreate: (select.describe, select.run),
    ShowVariable: (variables.describe_show, variables.run_show),
    Subscribe: (subscribe.describe, subscribe.run),
    Explain: (explain.describe, explain.run),
    ExplainMigration: (explain_migration.describe, explain_migration.run),
    Declare: (cursors.describe_declare, cursors.run_declare),
    Fetch: (cursors.describe_fetch, cursors.run_fetch),
    Execute: (prepared.describe_execute, prepared.run_execute),
    Insert: (write.describe_insert, write.run_insert),
    Update: (write.describe_update, write.run_update),
    Delete: (write.describe_delete, write.run_delete),
    CopyTo: (copy.describe_to, copy.run_to),
    VerifyTable: (verify_table.describe, verify_table.run),
}

WITHOUT_ROWS: dict[type, Run] = {
    CopyFrom: copy.run_from,
    Close: cursors.run_close,
    Prepare: prepared.run_prepare,
    Deallocate: prepared.run_deallocate,
    SetVariable: variables.run_set,
    SetTransaction: variables.run_set_transaction,
    Reset: variables.run_reset,
    Discard: variables.run_discard,
    Begin: transactions.run_begin,
    Commit: transactions.run_commit,
    Rollback: transactions.run_rollback,
    RollbackTo: transactions.run_savepoint,
    Savepoint: transactions.run_savepoint,
    ReleaseSavepoint: transactions.run_savepoint,
    LockTable: transactions.run_lock,
    Unlisten: variables.run_unlisten,
    ValidateConnection: connections.run_validate,
}


def describe(
    session: SqlSession, parsed: ParsedStatement, parameter_types: tuple[SqlType | None, ...]
) -> Prepared:
    """Parameters and columns of a statement."""
    entry = WITH_ROWS.get(type(parsed.statement))
    if entry is not None:
        return entry[0](session, parsed, parameter_types)
    return Prepared(parsed, (), None)


async def run(session: SqlSession, statement: Prepared, arguments: tuple[str | None, ...]) -> Result:
    """Carry a statement out, if the session may."""
    kind = type(statement.parsed.statement)
    check_statement(session, statement.parsed.statement)
    if kind in WITH_ROWS:
        return await WITH_ROWS[kind][1](session, statement, arguments)
    if kind in WITHOUT_ROWS:
        return await WITHOUT_ROWS[kind](session, statement, arguments)
    if kind not in DDL:
        raise InvariantViolation(f"no sequence for {kind.__name__}")
    session.enter("ddl")
    answer = await _ask(session, statement.parsed.statement)
    session.ddl_scope()  # in a block, its own copy of the catalog begins here

    def plan() -> Outcome:
        check_statement(session, statement.parsed.statement)  # with the catalog that it is planned for
        scope = replace(session.ddl_scope(), answer=answer)
        return owned(scope, DDL[kind](scope, statement.parsed.statement))

    async def carried_out() -> Outcome:
        outcome = await session.planned(plan)
        await session.coordinator.carry_out(session, outcome)
        return outcome

    outcome = await patiently(carried_out)
    session.notify(*outcome.notices)
    if outcome.until is not None and not session.staging:
        await outcome.until(session.coordinator)
    return Result(lambda _: outcome.tag)


async def _ask(session: SqlSession, statement: object) -> Any:
    """What an upstream says to a statement; planning comes afterwards, with the catalog of then."""
    if type(statement) in EVALUATED:
        return await EVALUATED[type(statement)](session, statement)
    if type(statement) not in QUESTIONS:
        return None
    question = QUESTIONS[type(statement)](session.ddl_scope(), statement)
    return (
        None if question is None else await session.coordinator.upstreams.ask(question, session.secret_value)
    )
