# SHOW: columns, filters, as a relation, of what there is none.

> CREATE TABLE alpha (a int);

> CREATE TABLE beta (a int);

> CREATE VIEW gamma AS SELECT a FROM alpha;

> SHOW TABLES;
alpha | 
beta | 

> SHOW TABLES LIKE 'a%';
alpha | 

> SHOW TABLES WHERE name > 'alpha';
beta | 

> SHOW TABLES FROM $schema;
alpha | 
beta | 

> SHOW TABLES FROM materialize.$schema LIKE 'b%';
beta | 

> SHOW VIEWS;
gamma | 

> SHOW OBJECTS;
alpha | table | 
beta | table | 
gamma | view | 

> SHOW SCHEMAS LIKE '$schema';
$schema | 

> SHOW SCHEMAS FROM materialize WHERE name = 'public';
public | 

> SHOW DATABASES LIKE 'materialize';
materialize | 

> SHOW CLUSTERS LIKE 'quickstart';
quickstart | r1 (...) | active | 

? SHOW CLUSTER REPLICAS WHERE cluster = 'quickstart';
quickstart | r1 | ... | t | 

> SHOW ROLES LIKE 'materialize';
materialize | 

> SHOW CONNECTIONS;

> SHOW SECRETS;

> SHOW SINKS;

> SHOW MATERIALIZED VIEWS;

> SHOW INDEXES;

> SHOW INDEXES ON alpha;

> SHOW SUBSOURCES;

> SHOW TYPES;

> SHOW SOURCES IN CLUSTER quickstart;

> SHOW COLUMNS FROM gamma;
a | t | integer | 

> SHOW COLUMNS FROM gamma WHERE type = 'text';

> SHOW COLUMNS FROM mz_catalog.mz_secrets LIKE 'o%';
oid | f | oid | ...
owner_id | f | text | ...

# As a relation.
> SELECT count(*) FROM (SHOW TABLES) AS t JOIN (SHOW OBJECTS) AS o ON o.name = t.name;
2

> SELECT name FROM (SHOW TABLES LIKE 'a%');
alpha

> SELECT * FROM (SHOW cluster);
quickstart

> SELECT setting FROM (SHOW ALL) WHERE name = 'database';
materialize

! SELECT * FROM (SHOW TABLES FROM nowhere);
3F000: unknown schema 'nowhere'

! SELECT * FROM (SHOW TABLES NONSENSE);
42601: ...
POSITION: 28

# Errors.
! SHOW TABLES FROM nowhere;
3F000: unknown schema 'nowhere'

! SHOW COLUMNS FROM nothing;
42P01: unknown catalog item 'nothing'

! SHOW TABLES ON alpha;
42809: cannot show tables on materialize.$schema.alpha because it is a table

! SHOW SUBSOURCES ON alpha;
42809: cannot show subsources on materialize.$schema.alpha because it is a table

! SHOW REFERENCES ON alpha;
42809: alpha is a table not a source

! SHOW REFERENCES;
42601: SHOW REFERENCES needs ON and a source

! SHOW TABLES FROM $schema ON alpha;
42601: Cannot specify both FROM and ON

! SHOW CREATE TABLE gamma;
42809: gamma is not a table

! SHOW CREATE VIEW alpha;
42809: alpha is not a view

! SHOW CREATE TABLE mz_catalog.mz_tables;
42809: cannot show create for system object mz_catalog.mz_tables

! SHOW CREATE TABLE nothing;
42P01: unknown catalog item 'nothing'

! SHOW nothing;
42704: unrecognized configuration parameter "nothing"

> SHOW CREATE TABLE alpha;
materialize.$schema.alpha | CREATE TABLE materialize.$schema.alpha (a pg_catalog.int4);

> SHOW REDACTED CREATE VIEW gamma;
materialize.$schema.gamma | CREATE VIEW materialize.$schema.gamma\nAS SELECT a FROM materialize.$schema.alpha;

> SHOW CREATE CLUSTER quickstart;
quickstart | CREATE CLUSTER quickstart (REPLICATION FACTOR = 1, SIZE = '...');

# Variables.
> SHOW transaction_isolation;
strict serializable

= SET transaction_isolation = 'serializable';
SET

> SHOW transaction_isolation;
serializable

= SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL STRICT SERIALIZABLE;
SET

> SHOW transaction_isolation;
strict serializable

! SET transaction_isolation = 'nonsense';
22023: parameter "transaction_isolation" cannot have value "nonsense"

! SET nothing = 1;
42704: unrecognized configuration parameter "nothing"

! SET server_version = '16';
55P02: parameter "server_version" cannot be changed

> SET TIME ZONE 'UTC';

> SHOW TIME ZONE;
UTC

> SET application_name = 'script';

> SELECT current_setting('application_name');
script

> RESET application_name;

> SELECT '<' || application_name || '>' FROM (SHOW application_name);
<>

> SET cluster = nowhere;
NOTICE: cluster "nowhere" does not exist

> RESET cluster;

= DISCARD ALL;
DISCARD ALL

> SHOW search_path;
public

> SET search_path = $schema;

> SELECT mz_version_num() >= 2603000, mz_version() LIKE 'v26.%', version() LIKE 'PostgreSQL 1%';
t | t | t

# Names of objects that functions are given.
> SELECT to_regtype('int'), to_regtype('varchar(5)'), to_regtype('int[]'), to_regtype('nothing');
integer | character varying | integer[] | <null>

> SELECT to_regclass('PG_CLASS'), to_regclass('"PG_CLASS"'), to_regclass('nothing.x'), to_regnamespace('PG_CATALOG')::oid;
pg_class | <null> | <null> | 11

> SELECT to_regclass(x) FROM (VALUES ('Pg_Class')) AS v (x);
pg_class

# Casts look a name up as the functions do, but one that means nothing is an error.
> SELECT x, x::regclass::text AS y, to_regclass(x)::text AS z
  FROM (VALUES ('pg_class'), ('PG_CATALOG.pg_class'), ('mz_tables'), ('mz_catalog.mz_tables')) AS v (x) ORDER BY x;
PG_CATALOG.pg_class | pg_class | pg_class
mz_catalog.mz_tables | mz_tables | mz_tables
mz_tables | mz_tables | mz_tables
pg_class | pg_class | pg_class

> SELECT x::regclass::oid FROM (VALUES ('1259'), ('-'), (NULL)) AS v (x) ORDER BY 1;
0
1259
<null>

> SELECT 'none', 0::regclass, 0::regtype, 0::regproc, 0::oid::regnamespace::text, '-'::regclass::text;
none | - | - | - | - | -

! SELECT x::regclass FROM (VALUES ('pg_class'), ('nothing')) AS v (x);
42P01: relation "nothing" does not exist

> SELECT CASE WHEN x = 'pg_class' THEN x::regclass END FROM (VALUES ('pg_class'), ('nothing')) AS v (x) ORDER BY 1;
pg_class
<null>

! SELECT ARRAY[x]::regclass[] FROM (VALUES ('nothing')) AS v (x);
42P01: relation "nothing" does not exist

> SELECT x::regtype::text AS y, to_regtype(x)::text AS z FROM (VALUES ('int'), ('varchar(5)'), ('text[]')) AS v (x) ORDER BY x;
integer | integer
text[] | text[]
character varying | character varying

! SELECT x::regtype FROM (VALUES ('int'), ('nothing')) AS v (x);
42704: type "nothing" does not exist

> SELECT x::regnamespace::oid FROM (VALUES ('PG_CATALOG'), ('11')) AS v (x);
11
11

! SELECT x::regnamespace FROM (VALUES ('public'), ('nothing')) AS v (x);
3F000: schema "nothing" does not exist

! SELECT 'nothing'::regnamespace;
3F000: schema "nothing" does not exist

# Clients compare with functions of PostgreSQL that are not here.
> SELECT 'lower'::regproc::text, 'pg_catalog.lower(text)'::regproc::text, 'array_recv'::regproc;
lower | lower | <null>

! SELECT has_table_privilege('nothing', 'SELECT');
42P01: relation "nothing" does not exist
POSITION: 8

! SELECT has_table_privilege('nobody', 'pg_class', 'SELECT');
42704: role "nobody" does not exist
POSITION: 8

! SELECT has_schema_privilege('nothing', 'USAGE');
3F000: schema "nothing" does not exist
POSITION: 8

! SELECT has_database_privilege('nothing', 'CONNECT');
3D000: database "nothing" does not exist
POSITION: 8

! SELECT pg_has_role('nobody', 'USAGE');
42704: role "nobody" does not exist
POSITION: 8

! SELECT has_table_privilege(x, 'SELECT') FROM (VALUES ('pg_class'), ('nothing')) AS v (x);
42P01: relation "nothing" does not exist

! SELECT has_column_privilege(x, 'relname', 'SELECT') FROM (VALUES ('pg_class'), ('nothing')) AS v (x);
42P01: relation "nothing" does not exist

! SELECT has_table_privilege(x, 'pg_class', 'SELECT') FROM (VALUES ('materialize'), ('nobody')) AS v (x);
42704: role "nobody" does not exist

! SELECT has_schema_privilege(x, 'USAGE') FROM (VALUES ('public'), ('nothing')) AS v (x);
3F000: schema "nothing" does not exist

! SELECT has_database_privilege(x, 'CONNECT') FROM (VALUES ('materialize'), ('nothing')) AS v (x);
3D000: database "nothing" does not exist

! SELECT has_table_privilege('pg_class', x) FROM (VALUES ('SELECT'), ('USAGE')) AS v (x);
22023: unrecognized privilege type: "USAGE"

> SELECT x, has_table_privilege(x, 'insert, SELECT WITH GRANT OPTION') FROM (VALUES ('pg_class'), ('pg_catalog.pg_class'), ('materialize.pg_catalog.pg_class'), (NULL)) AS v (x) ORDER BY 1 NULLS LAST;
materialize.pg_catalog.pg_class | t
pg_catalog.pg_class | t
pg_class | t
<null> | <null>

> SELECT has_table_privilege(4000000::oid, 'SELECT'), has_schema_privilege(4000000::oid, 'USAGE'), has_table_privilege('public', x, 'SELECT') FROM (VALUES ('pg_class')) AS v (x);
<null> | <null> | t

> SELECT has_table_privilege('materialize', 'pg_class', 'SELECT'), has_table_privilege('public', 'pg_class', 'SELECT'), pg_has_role('mz_system', 'USAGE');
t | t | t

> CREATE TABLE measured (a int);

> INSERT INTO measured SELECT * FROM generate_series(1, 1000);

> SELECT pg_relation_size('measured') > 1000, pg_total_relation_size('measured'::regclass) = pg_relation_size('measured'), pg_table_size('pg_class'), pg_relation_size(999999999::oid);
t | t | 0 | <null>

> SELECT pg_database_size(current_database()) >= pg_relation_size('measured'), pg_database_size(1::oid);
t | <null>

! SELECT pg_database_size('nothing');
3D000: database "nothing" does not exist
POSITION: 8

> SELECT setting, unit, vartype, current_setting(name) FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout';
120000 | ms | integer | 120 s

> SET search_path = nowhere; SELECT current_schema IS NULL, current_schemas(false), current_schemas(true);
t | {} | {mz_catalog,pg_catalog}

> SET search_path = $schema;

# A session that does nothing.
other> BEGIN; SELECT 1;
1

> SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT 1' AND state = 'idle in transaction' AND xact_start <= query_start AND query_start <= state_change AND client_addr = '127.0.0.1' AND client_port > 0;
1

other! SELECT 1 / 0;
22012: division by zero

> SELECT query FROM pg_stat_activity WHERE state = 'idle in transaction (aborted)';
SELECT 1 / 0

other> ROLLBACK;
