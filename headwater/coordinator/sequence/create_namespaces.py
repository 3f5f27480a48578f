"""CREATE DATABASE, CREATE SCHEMA, CREATE CLUSTER, ALTER CLUSTER."""

from __future__ import annotations

from headwater.catalog import updates
from headwater.catalog.state import Cluster, Database, Schema
from headwater.coordinator.ddl import DdlScope, Outcome, already_exists, does_not_exist
from headwater.core.errors import UserError, not_supported
from headwater.core.limits import CLUSTER_REPLICAS_MAX
from headwater.sql.cluster_options import ClusterOptions
from headwater.sql.statements.alter_cluster import AlterCluster
from headwater.sql.statements.create_cluster import CreateCluster
from headwater.sql.statements.create_database import CreateDatabase
from headwater.sql.statements.create_schema import CreateSchema

SIZE_DEFAULT = "default"


def plan_database(scope: DdlScope, statement: CreateDatabase) -> Outcome:
    """A database comes with a schema `public`."""
    tag = "CREATE DATABASE"
    if scope.state.database_named(statement.name) is not None and statement.if_not_exists:
        return Outcome(tag, notices=(already_exists("database", statement.name),))
    database = Database(scope.new_id("database"), scope.new_oid(), statement.name)
    public = Schema(scope.new_id("schema"), scope.new_oid(), database.id, "public")
    return Outcome(
        tag,
        (updates.CreateDatabase(database), updates.CreateSchema(public)),
        (updates.DatabaseNameFree(statement.name),),
    )


def plan_schema(scope: DdlScope, statement: CreateSchema) -> Outcome:
    """In the named database, or the current one."""
    tag = "CREATE SCHEMA"
    parts = statement.name.parts
    database = scope.names.resolve_database(parts[0] if len(parts) == 2 else scope.facts.database)
    name = parts[-1]
    if name.startswith(("mz_", "pg_")):
        raise UserError(
            f"unacceptable schema name '{name}'",
            "42939",
            detail='The prefixes "mz_" and "pg_" are reserved for system schemas.',
        )
    if scope.state.schema_named(database.id, name) is not None and statement.if_not_exists:
        return Outcome(tag, notices=(already_exists("schema", name),))
    schema = Schema(scope.new_id("schema"), scope.new_oid(), database.id, name)
    return Outcome(
        tag,
        (updates.CreateSchema(schema),),
        (updates.SchemaNameFree(database.id, name), updates.DatabaseExists(database.id, database.name)),
    )


def plan_cluster(scope: DdlScope, statement: CreateCluster) -> Outcome:
    """Name, size and replication factor are kept; a factor of 0 pauses what runs on it."""
    tag = "CREATE CLUSTER"
    if scope.state.cluster_named(statement.name) is not None and statement.if_not_exists:
        return Outcome(tag, notices=(already_exists("cluster", statement.name),))
    if statement.name.startswith(("mz_", "pg_")):
        raise UserError(f"unacceptable cluster name '{statement.name}'", "42939")
    options = statement.options
    _check_managed(options)
    factor = 1 if options.replication_factor is None else _factor(options.replication_factor)
    cluster = Cluster(scope.new_id("cluster"), statement.name, options.size or SIZE_DEFAULT, factor)
    return Outcome(tag, (updates.CreateCluster(cluster),), (updates.ClusterNameFree(statement.name),))


def _check_managed(options: ClusterOptions) -> None:
    """Replicas come and go with the replication factor; there is no other way to make one."""
    if options.managed is False:
        raise not_supported("clusters with MANAGED = false")


def _factor(wanted: int) -> int:
    """A replication factor that is so when it is shown."""
    if wanted > CLUSTER_REPLICAS_MAX:
        raise UserError(
            f"a cluster cannot have a REPLICATION FACTOR of {wanted}",
            "0A000",
            detail="All clusters are pools of one process, which is started again if it ends.",
            hint="Use REPLICATION FACTOR 1, or 0 to pause the sources of the cluster.",
        )
    return wanted


def plan_alter_cluster(scope: DdlScope, statement: AlterCluster) -> Outcome:
    """New values, or defaults again."""
    tag = "ALTER CLUSTER"
    if statement.if_exists and scope.state.cluster_named(statement.name) is None:
        return Outcome(tag, notices=(does_not_exist("cluster", statement.name),))
    cluster = scope.names.resolve_cluster(statement.name)
    _check_managed(statement.options)
    size, factor = statement.options.size, statement.options.replication_factor
    if "SIZE" in statement.reset:
        size = SIZE_DEFAULT
    if "REPLICATION FACTOR" in statement.reset:
        factor = 1
    if factor is not None:
        factor = _factor(factor)
    return Outcome(tag, (updates.AlterCluster(cluster.id, size, factor),))
