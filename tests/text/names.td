# Names: what is unknown, what is taken, what is of another kind.

! SELECT * FROM nothing;
42P01: unknown catalog item 'nothing'
POSITION: 15

! SELECT * FROM
  nothing_at_all;
42P01: unknown catalog item 'nothing_at_all'
POSITION: 17

! SELECT * FROM no_schema.t;
42P01: unknown schema 'no_schema'

! INSERT INTO no_schema.t VALUES (1);
42P01: unknown schema 'no_schema'

! DROP TABLE no_schema.t;
3F000: unknown schema 'no_schema'

! SELECT * FROM no_database.public.t;
3D000: unknown database 'no_database'

! CREATE TABLE no_schema.t (a int);
3F000: unknown schema 'no_schema'

! CREATE SOURCE s IN CLUSTER no_cluster FROM LOAD GENERATOR COUNTER;
42704: unknown cluster 'no_cluster'

> CREATE TABLE t (a int);

> CREATE VIEW v AS SELECT a FROM t;

> CREATE SOURCE s FROM LOAD GENERATOR COUNTER;

# Tables and views are checked by the catalog, sources while planning.
! CREATE TABLE t (a int);
42P07: catalog item 't' already exists

! CREATE TABLE v (a int);
42P07: catalog item 'v' already exists

! CREATE TABLE s FROM SOURCE s;
42P07: catalog item 's' already exists

! CREATE VIEW t AS SELECT 1 AS a;
42P07: catalog item 't' already exists

! CREATE SOURCE s FROM LOAD GENERATOR COUNTER;
42P07: source "materialize.$schema.s" already exists

! CREATE SOURCE t FROM LOAD GENERATOR COUNTER;
42P07: table "materialize.$schema.t" already exists

! CREATE SOURCE v FROM LOAD GENERATOR COUNTER;
42P07: view "materialize.$schema.v" already exists

# IF NOT EXISTS says so and does nothing.
= CREATE TABLE IF NOT EXISTS t (b text);
CREATE TABLE
NOTICE: table "t" already exists, skipping

= CREATE VIEW IF NOT EXISTS v AS SELECT 2 AS b;
CREATE VIEW
NOTICE: view "v" already exists, skipping

# ... unless that is not wanted.
= SET client_min_messages = warning;
SET

= CREATE TABLE IF NOT EXISTS t (b text);
CREATE TABLE

= RESET client_min_messages;
RESET

# A name that is a keyword is shown in quotes, so that what is shown can be written.
> CREATE TABLE "order" (a int);

> SELECT '"order"'::regclass, quote_ident('order');
"order" | "order"

! CREATE SOURCE "order" FROM LOAD GENERATOR COUNTER;
42P07: table "materialize.$schema."order"" already exists

# What stands for a name is shown as one.
> SELECT 't'::regclass, 'pg_class'::regclass, 'mz_catalog.mz_tables'::regclass, 'int'::regtype,
         'text[]'::regtype, NULL::regclass, 4000000000::oid::regclass;
t | pg_class | mz_catalog.mz_tables | integer | text[] | <null> | 4000000000

= CREATE SOURCE IF NOT EXISTS s FROM LOAD GENERATOR COUNTER;
CREATE SOURCE
NOTICE: source "s" already exists, skipping

= CREATE TABLE IF NOT EXISTS t FROM SOURCE s;
CREATE TABLE
NOTICE: table "t" already exists, skipping

= CREATE SCHEMA IF NOT EXISTS $schema;
CREATE SCHEMA
NOTICE: schema "$schema" already exists, skipping

! CREATE SCHEMA $schema;
42P06: schema '$schema' already exists

! CREATE SCHEMA mz_mine;
42939: unacceptable schema name 'mz_mine'

! CREATE SCHEMA pg_mine;
42939: unacceptable schema name 'pg_mine'

! CREATE DATABASE materialize;
42P04: database 'materialize' already exists

= CREATE DATABASE IF NOT EXISTS materialize;
CREATE DATABASE
NOTICE: database "materialize" already exists, skipping

! CREATE CLUSTER quickstart SIZE 'x';
42710: cluster 'quickstart' already exists

! CREATE CLUSTER mz_mine SIZE 'x';
42939: unacceptable cluster name 'mz_mine'

# Of another kind.
! DROP SOURCE t;
42809: t is a table not a source

! DROP TABLE v;
42809: v is a view not a table

! DROP VIEW IF EXISTS t;
42809: t is a table not a view

! ALTER SOURCE t SET (RETAIN HISTORY FOR '1m');
42809: t is a table not a source

! CREATE TABLE u FROM SOURCE t;
42809: t is a table not a source

! ALTER TABLE s RENAME TO r;
42809: s is a source not a table

! COMMENT ON VIEW t IS 'x';
42809: t is a table not a view

! DROP TABLE nothing;
42P01: unknown catalog item 'nothing'

# The system's own.
! DROP TABLE pg_catalog.pg_class;
42501: system item 'pg_catalog.pg_class' cannot be modified

! CREATE TABLE mz_catalog.t (a int);
42501: system schema 'mz_catalog' cannot be modified

! DROP SCHEMA mz_catalog;
42501: cannot drop system schema 'mz_catalog'

! INSERT INTO mz_catalog.mz_tables VALUES (1);
42809: cannot insert into system table 'mz_catalog.mz_tables'

! DELETE FROM mz_catalog.mz_tables;
42809: cannot mutate system table 'mz_catalog.mz_tables'

# Names in quotes, in other databases, of every length.
> CREATE TABLE "Wei rd""name" ("A b" int, "select" text);

> INSERT INTO "Wei rd""name" VALUES (1, 'x');

> SELECT "A b", "select" FROM $schema."Wei rd""name";
1 | x

> SELECT create_sql FROM (SHOW CREATE TABLE "Wei rd""name");
CREATE TABLE materialize.$schema."Wei rd""name" ("A b" pg_catalog.int4, "select" pg_catalog.text);

> DROP TABLE "Wei rd""name";

> CREATE DATABASE $schema_db;

> CREATE TABLE $schema_db.public.t (a int);

> INSERT INTO $schema_db.public.t VALUES (7);

> SELECT a FROM $schema_db.public.t;
7

other> SET database = $schema_db;

other> SET search_path = public;

other> SELECT a FROM t;
7

other> SHOW database;
$schema_db

> SET database = nowhere;
NOTICE: database "nowhere" does not exist

> RESET database;

> DROP DATABASE $schema_db CASCADE;

! CREATE TABLE aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa (a int);
42622: ...255 bytes...

! SELECT * FROM a.b.c.d;
...

! SET search_path = nowhere; CREATE TABLE t2 (a int);
3F000: no schema has been selected to create in

> SHOW search_path;
$schema
