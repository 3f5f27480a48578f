# DROP: what depends on it, several at once, IF EXISTS.

> CREATE TABLE t (a int);

> CREATE VIEW v AS SELECT a FROM t;

> CREATE VIEW w AS SELECT a FROM v;

> CREATE SOURCE s FROM LOAD GENERATOR AUCTION (UP TO 0);

> CREATE TABLE bids FROM SOURCE s (REFERENCE bids);

! DROP TABLE t;
2BP01: cannot drop table "t": still depended upon by view "v"
HINT: Use DROP ... CASCADE to drop the dependent objects too.

! DROP TABLE t RESTRICT;
2BP01: cannot drop table "t": still depended upon by view "v"

! DROP VIEW v;
2BP01: cannot drop view "v": still depended upon by view "w"

! DROP SOURCE s;
2BP01: cannot drop source "s": still depended upon by table "bids"

! DROP TABLE t CASCADE RESTRICT;
42601: ...

# Objects of one statement do not block one another, and a name may repeat.
= DROP VIEW v, w, v;
DROP VIEW

> SHOW VIEWS;

> CREATE VIEW v AS SELECT a FROM t;

> CREATE VIEW w AS SELECT a FROM v;

= DROP TABLE t CASCADE;
DROP TABLE
NOTICE: drop cascades to 2 other objects

> SHOW OBJECTS;
s | source | 
bids | table | 

= DROP SOURCE s CASCADE;
DROP SOURCE
NOTICE: drop cascades to table materialize.$schema.bids

> SHOW OBJECTS;

= DROP TABLE IF EXISTS t;
DROP TABLE
NOTICE: table "t" does not exist, skipping

= DROP VIEW IF EXISTS v, no_schema.w;
DROP VIEW
NOTICE: view "v" does not exist, skipping
NOTICE: view "no_schema.w" does not exist, skipping

= DROP SOURCE IF EXISTS s;
DROP SOURCE
NOTICE: source "s" does not exist, skipping

= DROP SCHEMA IF EXISTS no_schema;
DROP SCHEMA
NOTICE: schema "no_schema" does not exist, skipping

= DROP DATABASE IF EXISTS no_database;
DROP DATABASE
NOTICE: database "no_database" does not exist, skipping

= DROP CLUSTER IF EXISTS no_cluster;
DROP CLUSTER
NOTICE: cluster "no_cluster" does not exist, skipping

# If one of several cannot be dropped, none is.
> CREATE TABLE a (x int);

! DROP TABLE a, nothing;
42P01: unknown catalog item 'nothing'

> SHOW TABLES;
a | 

> CREATE SCHEMA $schema_inner;

> CREATE TABLE $schema_inner.t (a int);

! DROP SCHEMA $schema_inner;
2BP01: schema 'materialize.$schema_inner' cannot be dropped without CASCADE while it contains objects

> CREATE VIEW outside AS SELECT * FROM $schema_inner.t;

# CASCADE of a schema takes what depends on its objects from outside.
= DROP SCHEMA $schema_inner CASCADE;
DROP SCHEMA
NOTICE: drop cascades to 2 other objects

> SHOW OBJECTS;
a | table | 

> CREATE DATABASE $schema_db;

! DROP DATABASE $schema_db RESTRICT;
2BP01: database '$schema_db' cannot be dropped with RESTRICT while it contains schemas

= DROP DATABASE $schema_db;
DROP DATABASE
NOTICE: drop cascades to schema $schema_db.public

> CREATE CLUSTER $schema_cluster SIZE 'x';

> CREATE SOURCE s IN CLUSTER $schema_cluster FROM LOAD GENERATOR COUNTER;

! DROP CLUSTER $schema_cluster;
2BP01: cannot drop cluster "$schema_cluster": still depended upon by source "s"

= DROP CLUSTER $schema_cluster CASCADE;
DROP CLUSTER
NOTICE: drop cascades to source materialize.$schema.s

> SHOW SOURCES;

# What was dropped is in the history.
> SELECT event_type, object_type, details->>'item' FROM mz_catalog.mz_audit_events
  WHERE event_type = 'drop' AND details->>'schema' = '$schema' AND details->>'item' = 'bids';
drop | table | bids

! DROP INDEX nothing;
42704: unknown catalog item 'nothing'

! DROP MATERIALIZED VIEW a;
42809: a is a table not a materialized view
