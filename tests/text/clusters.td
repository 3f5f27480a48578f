# Clusters: pools for sources; without a replica what runs there is paused.

= CREATE CLUSTER $schema_pool (SIZE 'small', REPLICATION FACTOR 1);
CREATE CLUSTER

> SELECT name, size, replication_factor, managed FROM mz_catalog.mz_clusters WHERE name = '$schema_pool';
$schema_pool | small | 1 | t

> CREATE SOURCE s IN CLUSTER $schema_pool FROM LOAD GENERATOR COUNTER (TICK INTERVAL '50ms');

> CREATE TABLE c FROM SOURCE s;

> SELECT count(*) > 0 FROM c;
t

> SHOW SOURCES IN CLUSTER $schema_pool;
s | load-generator | $schema_pool | 

= ALTER CLUSTER $schema_pool SET (REPLICATION FACTOR 0);
ALTER CLUSTER

? SELECT s.name, s.status, s.details->'hints'->>0 FROM mz_internal.mz_source_statuses s JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = s.id WHERE n.schema_name = '$schema';
s | paused | There is currently no replica running this source
c | paused | There is currently no replica running this source

? SELECT n.name, h.status FROM mz_internal.mz_source_status_history h JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = h.source_id WHERE n.schema_name = '$schema' ORDER BY n.name, h.occurred_at, h.status DESC;
c | starting
c | running
c | paused
s | starting
s | running
s | paused

> SELECT count(*) FROM mz_catalog.mz_cluster_replicas r JOIN mz_catalog.mz_clusters c ON c.id = r.cluster_id WHERE c.name = '$schema_pool';
0

# What was ingested can be read, without waiting for more.
> SET transaction_isolation = 'serializable';

> SELECT count(*) > 0 FROM c;
t

> CREATE TABLE seen (n bigint);

> INSERT INTO seen SELECT max(counter) FROM c;

= ALTER CLUSTER $schema_pool SET (REPLICATION FACTOR 1);
ALTER CLUSTER

? SELECT s.name, s.status, s.details->'hints'->>0 FROM mz_internal.mz_source_statuses s JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = s.id WHERE n.schema_name = '$schema';
s | running | <null>
c | running | <null>

? SELECT max(counter) > (SELECT n FROM seen) FROM c;
t

? SELECT count(*) FROM mz_internal.mz_source_status_history h JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = h.source_id WHERE n.schema_name = '$schema' AND n.name = 's' AND h.status = 'paused';
1

? SELECT count(*) FROM mz_internal.mz_source_status_history h JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = h.source_id WHERE n.schema_name = '$schema' AND n.name = 's' AND h.status = 'starting';
2

> RESET transaction_isolation;

= ALTER CLUSTER $schema_pool RENAME TO $schema_other;
ALTER CLUSTER

> SHOW SOURCES IN CLUSTER $schema_other;
s | load-generator | $schema_other | 

> SELECT create_sql FROM (SHOW CREATE SOURCE s);
CREATE SOURCE materialize.$schema.s\nIN CLUSTER $schema_other\nFROM LOAD GENERATOR COUNTER (TICK INTERVAL = '50ms');

! ALTER CLUSTER $schema_other SET (REPLICATION FACTOR -1);
...

! ALTER CLUSTER $schema_other SET (REPLICATION FACTOR 3);
0A000: a cluster cannot have a REPLICATION FACTOR of 3
HINT: Use REPLICATION FACTOR 1, or 0 to pause the sources of the cluster.

! CREATE CLUSTER x (SIZE 'small', REPLICATION FACTOR 2);
0A000: a cluster cannot have a REPLICATION FACTOR of 2

! CREATE CLUSTER x (SIZE 'small', MANAGED = false);
0A000: clusters with MANAGED = false not yet supported

! CREATE CLUSTER x (NONSENSE 1);
42601: Expected one of ...

> CREATE CLUSTER $schema_empty (SIZE 'small', REPLICATION FACTOR 0);

> CREATE SOURCE waiting IN CLUSTER $schema_empty FROM LOAD GENERATOR COUNTER;

? SELECT s.status FROM mz_internal.mz_source_statuses s JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = s.id WHERE n.schema_name = '$schema' AND n.name = 'waiting';
paused

> SELECT h.status FROM mz_internal.mz_source_status_history h JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = h.source_id WHERE n.schema_name = '$schema' AND n.name = 'waiting';
paused

> SET cluster = $schema_empty;

> CREATE SOURCE by_setting FROM LOAD GENERATOR COUNTER;

> SHOW SOURCES IN CLUSTER $schema_empty;
by_setting | load-generator | $schema_empty | 
waiting | load-generator | $schema_empty | 

> RESET cluster;

> DROP CLUSTER $schema_empty CASCADE;

> SHOW SOURCES;
s | load-generator | $schema_other | 

> DROP CLUSTER $schema_other CASCADE;
