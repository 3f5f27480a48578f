"""mz_internal: relations that have only a shape, because nobody can make what they would list."""

from __future__ import annotations

from typing import Final

from headwater.catalog.builtin.table import BuiltinTable, empty

RELATIONS: Final[tuple[BuiltinTable, ...]] = empty(
    "mz_internal",
    """
    mz_compute_hydration_statuses (220): Whether each maintained view or index is hydrated.
        object_id text
        replica_id text
        hydrated bool
        hydration_time interval?

    mz_materialization_dependencies (226): What materializations read.
        object_id text
        dependency_id text

    mz_materialization_lag (225): How far materializations are behind their inputs.
        object_id text
        local_lag interval?
        global_lag interval?
        slowest_local_input_id text
        slowest_global_input_id text

    mz_materialized_view_refresh_strategies (234): When materialized views are brought up to date.
        materialized_view_id text
        type text
        interval interval?
        aligned_to timestamptz?
        at timestamptz?

    mz_show_indexes (249): What SHOW INDEXES lists.
        id text
        name text
        on text
        cluster text
        key text[]
        on_id text
        schema_id text
        cluster_id text
        comment text

    mz_show_materialized_views (244): What SHOW MATERIALIZED VIEWS lists.
        id text
        name text
        cluster text
        schema_id text
        cluster_id text
        comment text

    mz_show_sinks (243): What SHOW SINKS lists.
        id text
        name text
        type text
        cluster text
        schema_id text
        cluster_id text
        comment text

    mz_sink_statistics (215): What sinks have written.
        id text
        replica_id text?
        messages_staged uint8
        messages_committed uint8
        bytes_staged uint8
        bytes_committed uint8

    mz_sink_statistics_raw (216): The counters of sinks as they are kept.
        id text
        replica_id text?
        messages_staged uint8
        messages_committed uint8
        bytes_staged uint8
        bytes_committed uint8

    mz_sink_status_history (214): How sinks were doing.
        occurred_at timestamptz
        sink_id text
        status text
        error text?
        details jsonb?
        replica_id text?

    mz_sink_statuses (213): How each sink is doing.
        id text
        name text
        type text
        last_status_change_at timestamptz?
        status text
        error text?
        details jsonb?

    mz_sql_server_source_tables (205): Which SQL Server table feeds which table.
        id text
        schema_name text
        table_name text
    """,
)
