"""mz_catalog: relations that have only a shape, because nobody can make what they would list."""

from __future__ import annotations

from typing import Final

from headwater.catalog.builtin.table import BuiltinTable, empty

RELATIONS: Final[tuple[BuiltinTable, ...]] = empty(
    "mz_catalog",
    """
    mz_aws_privatelink_connections (119): Facts of PrivateLink connections.
        id text
        principal text

    mz_cluster_replica_sizes (123): The sizes clusters have.
        size text
        processes uint8
        workers uint8
        cpu_nano_cores uint8
        memory_bytes uint8
        disk_bytes uint8?
        credits_per_hour numeric

    mz_egress_ips (140): Addresses that connections to upstreams come from, where they are fixed.
        egress_ip text
        prefix_length int4
        cidr text

    mz_index_columns (112): The columns and expressions of indexes.
        index_id text
        index_position uint8
        on_position uint8?
        on_expression text?
        nullable bool

    mz_indexes (111): The indexes.
        id text
        oid oid
        name text
        on_id text
        cluster_id text
        owner_id text
        create_sql text
        redacted_create_sql text

    mz_kafka_sinks (117): Facts of Kafka sinks.
        id text
        topic text

    mz_list_types (133): The named list types.
        id text
        element_id text
        element_modifiers uint8 list?

    mz_map_types (134): The named map types.
        id text
        key_id text
        value_id text
        key_modifiers uint8 list?
        value_modifiers uint8 list?

    mz_materialized_views (109): The materialized views.
        id text
        oid oid
        schema_id text
        name text
        cluster_id text
        definition text
        owner_id text
        privileges mz_aclitem[]
        create_sql text
        redacted_create_sql text

    mz_sinks (110): The sinks.
        id text
        oid oid
        schema_id text
        name text
        type text
        connection_id text?
        size text?
        envelope_type text?
        format text?
        key_format text?
        value_format text?
        cluster_id text
        owner_id text
        create_sql text
        redacted_create_sql text

    mz_ssh_tunnel_connections (118): The public keys of SSH tunnels.
        id text
        public_key_1 text
        public_key_2 text
    """,
)
