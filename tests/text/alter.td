# Renaming, swapping, options, comments.

> CREATE TABLE t (a int);

> INSERT INTO t VALUES (1);

> CREATE VIEW v AS SELECT t.a, x.a AS b FROM t JOIN t AS x ON true;

> CREATE VIEW w AS SELECT a FROM v;

# Dependents' SQL follows.
= ALTER TABLE t RENAME TO u;
ALTER TABLE

! SELECT * FROM t;
42P01: unknown catalog item 't'

> SELECT * FROM w;
1

> SELECT create_sql FROM (SHOW CREATE VIEW v);
CREATE VIEW materialize.$schema.v\nAS SELECT t.a, x.a AS b FROM materialize.$schema.u AS t JOIN materialize.$schema.u AS x ON true;

> SELECT create_sql FROM (SHOW CREATE TABLE u);
CREATE TABLE materialize.$schema.u (a pg_catalog.int4);

= ALTER VIEW v RENAME TO "Odd Name";
ALTER VIEW

> SELECT * FROM w;
1

! ALTER TABLE u RENAME TO w;
42P07: catalog item 'w' already exists

! ALTER TABLE nothing RENAME TO x;
42P01: unknown catalog item 'nothing'

= ALTER TABLE IF EXISTS nothing RENAME TO x;
ALTER TABLE
NOTICE: table "nothing" does not exist, skipping

! ALTER TABLE u RENAME TO a.b;
42601: Expected an unqualified name, found dot

> CREATE SOURCE s FROM LOAD GENERATOR AUCTION (UP TO 0);

> CREATE TABLE users FROM SOURCE s (REFERENCE users);

= ALTER SOURCE s RENAME TO auction;
ALTER SOURCE

> SELECT create_sql FROM (SHOW CREATE TABLE users);
CREATE TABLE materialize.$schema.users\nFROM SOURCE materialize.$schema.auction (REFERENCE = mz_load_generators.auction.users);

# Swapping tables: each name now means the other, to views as well; these keep their columns.
> CREATE TABLE old (a int);

> CREATE TABLE new (a int, more text);

> INSERT INTO old VALUES (1);

> INSERT INTO new VALUES (2, 'new');

> CREATE VIEW on_old AS SELECT * FROM old;

> CREATE VIEW on_that AS SELECT sum(a) AS s FROM on_old;

> CREATE VIEW on_new AS SELECT more FROM new;

! ALTER TABLE old SWAP WITH new;
2BP01: cannot swap table "old" with "new": view "materialize.$schema.on_new" uses column "more" of "materialize.$schema.new", which would not have it

> DROP VIEW on_new;

! ALTER TABLE old SWAP WITH old;
22023: cannot swap table "old" with itself

= ALTER TABLE old SWAP WITH new;
ALTER TABLE

> SELECT * FROM old;
2 | new

> SELECT * FROM new;
1

> SELECT * FROM on_old;
2

> SELECT * FROM on_that;
2

> SELECT create_sql FROM (SHOW CREATE VIEW on_old);
CREATE VIEW materialize.$schema.on_old\nAS SELECT * FROM (SELECT a FROM materialize.$schema.old) AS old;

= DROP TABLE new;
DROP TABLE

> SELECT create_sql FROM (SHOW CREATE TABLE old);
CREATE TABLE materialize.$schema.old (a pg_catalog.int4, more pg_catalog.text);

> CREATE VIEW v1 AS SELECT 'one' AS x;

> CREATE VIEW v2 AS SELECT 'two' AS x;

= ALTER VIEW v1 SWAP WITH v2;
ALTER VIEW

> SELECT * FROM v1;
two

! ALTER TABLE old SWAP WITH v1;
42809: v1 is a view not a table

! ALTER SOURCE auction SWAP WITH auction;
0A000: ALTER SOURCE .. SWAP WITH ... not yet supported

# Schemas: everything in them moves.
> CREATE SCHEMA $schema_blue;

> CREATE SCHEMA $schema_green;

> CREATE TABLE $schema_blue.t (a text);

> CREATE TABLE $schema_green.t (a text);

> INSERT INTO $schema_blue.t VALUES ('blue');

> INSERT INTO $schema_green.t VALUES ('green');

> CREATE VIEW $schema_blue.v AS SELECT * FROM $schema_blue.t;

> CREATE VIEW $schema_blue.q AS SELECT $schema_blue.t.a, $schema_green.t.a AS b FROM $schema_blue.t, $schema_green.t;

= ALTER SCHEMA $schema_blue SWAP WITH $schema_green;
ALTER SCHEMA

> SELECT * FROM $schema_blue.t;
green

> SELECT * FROM $schema_green.v;
blue

> SELECT create_sql FROM (SHOW CREATE VIEW $schema_green.v);
CREATE VIEW materialize.$schema_green.v\nAS SELECT * FROM materialize.$schema_green.t;

= ALTER SCHEMA $schema_green RENAME TO $schema_red;
ALTER SCHEMA

# Columns qualified by more than the relation's name, too.
> SELECT * FROM $schema_red.q;
blue | green

= ALTER TABLE $schema_red.t RENAME TO u;
ALTER TABLE

> SELECT * FROM $schema_red.q;
blue | green

> SELECT create_sql FROM (SHOW CREATE VIEW $schema_red.q);
CREATE VIEW materialize.$schema_red.q\nAS SELECT t_1.a, materialize.$schema_blue.t.a AS b FROM materialize.$schema_red.u AS t_1, materialize.$schema_blue.t;

> SELECT * FROM $schema_red.v;
blue

! ALTER SCHEMA $schema_red RENAME TO $schema_blue;
42P06: schema '$schema_blue' already exists

! ALTER SCHEMA $schema_red SWAP WITH $schema_red;
22023: cannot swap schema "$schema_red" with itself

! ALTER SCHEMA $schema_red SWAP WITH nothing;
3F000: unknown schema 'nothing'

= DROP SCHEMA $schema_red, $schema_blue CASCADE;
DROP SCHEMA

= ALTER CLUSTER IF EXISTS nothing RENAME TO x;
ALTER CLUSTER
NOTICE: cluster "nothing" does not exist, skipping

# Options.
= ALTER TABLE u SET (RETAIN HISTORY FOR '1 hour');
ALTER TABLE

> SELECT create_sql FROM (SHOW CREATE TABLE u);
CREATE TABLE materialize.$schema.u (a pg_catalog.int4)\nWITH (RETAIN HISTORY = FOR '1 hour');

= ALTER TABLE u RESET (RETAIN HISTORY);
ALTER TABLE

= ALTER SOURCE auction SET (TIMESTAMP INTERVAL '2s');
ALTER SOURCE

> SELECT create_sql FROM (SHOW CREATE SOURCE auction);
CREATE SOURCE materialize.$schema.auction\nIN CLUSTER quickstart\nFROM LOAD GENERATOR AUCTION (UP TO = 0)\nWITH (TIMESTAMP INTERVAL = '2s');

= ALTER SOURCE auction RESET (TIMESTAMP INTERVAL);
ALTER SOURCE

! ALTER SOURCE auction SET (TIMESTAMP INTERVAL '1us');
22023: invalid timestamp interval of 0ms, must be in the range [...ms, ...ms]

! ALTER SOURCE auction SET (NONSENSE = 1);
...

! ALTER SOURCE auction SET CLUSTER quickstart;
0A000: ALTER SOURCE SET CLUSTER not yet supported

! ALTER SOURCE auction DROP SUBSOURCE users;
42809: source materialize.$schema.auction has no subsources: tables are created from it
HINT: CREATE TABLE .. FROM SOURCE materialize.$schema.auction (REFERENCE ..), and DROP TABLE, do what is wanted.

! ALTER SOURCE auction ADD SUBSOURCE bids;
42809: source materialize.$schema.auction has no subsources: tables are created from it

= ALTER SOURCE auction REFRESH REFERENCES;
ALTER SOURCE

! ALTER SOURCE auction RESYNC;
0A000: cannot resync multi-output load generator sources
DETAIL: Source "materialize.$schema.auction" continues from where it is, or fails for good.
HINT: If it has failed, drop it and create it again.

= ALTER SOURCE IF EXISTS nothing RESYNC;
ALTER SOURCE
NOTICE: source "nothing" does not exist, skipping

# Comments.
= COMMENT ON TABLE u IS 'a table''s comment';
COMMENT

= COMMENT ON COLUMN u.a IS 'a column';
COMMENT

= COMMENT ON VIEW w IS 'a view';
COMMENT

= COMMENT ON SOURCE auction IS 'a source';
COMMENT

= COMMENT ON SCHEMA $schema IS 'a schema';
COMMENT

! COMMENT ON COLUMN u.nothing IS 'x';
42703: column "nothing" of relation "u" does not exist

> SHOW TABLES LIKE 'u';
u | a table's comment

> SELECT comment FROM (SHOW COLUMNS FROM u);
a column

> SELECT name, comment FROM (SHOW SOURCES);
auction | a source

> SELECT comment FROM (SHOW SCHEMAS) WHERE name = '$schema';
a schema

> SELECT c.object_type, c.object_sub_id, c.comment FROM mz_internal.mz_comments c JOIN mz_catalog.mz_objects o ON o.id = c.id AND o.type = c.object_type WHERE o.name = 'u' AND c.comment LIKE 'a %';
table | <null> | a table's comment
table | 1 | a column

> SELECT obj_description('u'::regclass, 'pg_class'), col_description('u'::regclass, 1);
a table's comment | a column

= COMMENT ON TABLE u IS NULL;
COMMENT

> SHOW TABLES LIKE 'u';
u | 

# ALTER SYSTEM is the operator's.
! ALTER SYSTEM SET force_source_table_syntax = on;
42501: permission denied to alter system
HINT: Connect to the operator's address, which the server was given by --internal-sql-address.

! ALTER SYSTEM RESET ALL;
42501: permission denied to alter system

operator! ALTER SYSTEM SET nothing = 1;
42704: unrecognized configuration parameter "nothing"

# So is what a new environment begins with.
! DROP CLUSTER quickstart CASCADE;
42501: cluster 'quickstart' cannot be dropped

! DROP DATABASE materialize CASCADE;
42501: database 'materialize' cannot be dropped

! DROP SCHEMA materialize.public CASCADE;
42501: schema 'public' cannot be dropped
DETAIL: A new environment begins with it, and sessions that name no other use it.
HINT: Drop what is in it, object by object. To have the schema itself dropped: connect to the operator's address, which the server was given by --internal-sql-address.

operator! DROP VIEW mz_catalog.mz_tables;
42501: system item 'mz_catalog.mz_tables' cannot be modified

! SET force_source_table_syntax = on;
55P02: parameter "force_source_table_syntax" cannot be changed by a session

! SET enable_create_table_from_source = off;
55P02: parameter "enable_create_table_from_source" cannot be changed by a session
