# Secrets: set, set again, renamed, commented, dropped; never read back.

= CREATE SECRET plain AS 'hunter2';
CREATE SECRET

= CREATE SECRET decoded AS decode('aHVudGVyMg==', 'base64');
CREATE SECRET

= CREATE SECRET built AS 'hun' || 'ter2';
CREATE SECRET

= create secret if not exists "Odd Name" as '';
CREATE SECRET

! CREATE SECRET plain AS 'other';
42710: catalog item 'plain' already exists

= CREATE SECRET IF NOT EXISTS plain AS 'other';
CREATE SECRET
NOTICE: secret "plain" already exists, skipping

> SHOW SECRETS;
Odd Name | 
built | 
decoded | 
plain | 

> SHOW SECRETS LIKE 'd%';
decoded | 

> SHOW SECRETS WHERE name = 'plain';
plain | 

# What a value may be.
! CREATE SECRET s AS NULL;
22004: secret value can not be null

! CREATE SECRET s AS 42;
42804: the value of a secret must be of type text or bytea, not integer
POSITION: 20

! CREATE SECRET s AS (SELECT name FROM mz_catalog.mz_databases LIMIT 1);
0A000: the value of a secret cannot depend on relations

! CREATE SECRET s AS a_column;
42703: column "a_column" does not exist
POSITION: 20

! CREATE SECRET s AS $1;
42P02: there is no parameter $1

! CREATE SECRET s AS repeat('x', 512 * 1024 + 1);
54000: secrets can not be bigger than 512KiB

= CREATE SECRET large AS repeat('x', 512 * 1024);
CREATE SECRET

! CREATE SECRET s;
42601: Expected AS, found semicolon

! CREATE SECRET nothing.s AS 'x';
3F000: unknown schema 'nothing'

# Errors do not repeat what was typed.
! CREATE SECRET s AS 'hunter2'::int;
22P02: invalid input syntax for type integer: "********"

! CREATE SECRET s 'hunter2';
42601: Expected AS, found string literal "********"

! CREATE SECRET s AS 'hunter2' 'hunter3';
42601: ...

# Another value.
= ALTER SECRET plain AS 'hunter3';
ALTER SECRET

= ALTER SECRET IF EXISTS nothing AS 'x';
ALTER SECRET
NOTICE: secret "nothing" does not exist, skipping

! ALTER SECRET nothing AS 'x';
42704: unknown catalog item 'nothing'

> CREATE TABLE t (a int);

! ALTER SECRET t AS 'x';
42809: t is a table not a secret

! ALTER SECRET plain;
42601: ...

= ALTER SECRET plain OWNER TO materialize;
ALTER SECRET

= ALTER SECRET decoded RENAME TO renamed;
ALTER SECRET

! ALTER SECRET renamed RENAME TO plain;
42710: catalog item 'plain' already exists

! ALTER TABLE plain RENAME TO x;
42809: plain is a secret not a table

= COMMENT ON SECRET plain IS 'of the warehouse';
COMMENT

> SHOW SECRETS LIKE 'plain';
plain | of the warehouse

> SELECT c.object_type, c.object_sub_id, c.comment FROM mz_internal.mz_comments c JOIN mz_catalog.mz_secrets s ON s.id = c.id AND c.object_type = 'secret' JOIN mz_catalog.mz_schemas sc ON sc.id = s.schema_id WHERE sc.name = '$schema';
secret | <null> | of the warehouse

# A secret is no relation.
! SELECT * FROM plain;
42809: catalog item 'materialize.$schema.plain' is a secret and so cannot be depended upon

! SHOW COLUMNS FROM plain;
42809: materialize.$schema.plain is a secret and so does not have columns

! SUBSCRIBE plain;
42809: 'materialize.$schema.plain' cannot be subscribed to because it is a secret

! SUBSCRIBE (SELECT * FROM plain);
42809: catalog item 'materialize.$schema.plain' is a secret and so cannot be depended upon

! SHOW CREATE SECRET plain;
42601: ...

! SHOW CREATE TABLE plain;
42809: plain is not a table

! CREATE VIEW v AS SELECT * FROM plain;
42809: catalog item 'materialize.$schema.plain' is a secret and so cannot be depended upon

! COMMENT ON COLUMN plain.a IS 'x';
42703: ...

# What the catalog shows.
> SELECT s.name, s.oid = o.oid, o.type, o.cluster_id, s.privileges::text LIKE '%=U/%' FROM mz_catalog.mz_secrets s JOIN mz_catalog.mz_objects o USING (id) JOIN mz_catalog.mz_schemas sc ON sc.id = s.schema_id WHERE sc.name = '$schema' AND s.name = 'plain';
plain | t | secret | <null> | t

> SELECT count(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = '$schema' AND c.relname = 'plain';
0

> SELECT e.event_type, e.details->>'item' FROM mz_catalog.mz_audit_events e WHERE e.object_type = 'secret' AND e.details->>'schema' = '$schema' AND e.details->>'item' = 'plain' ORDER BY e.id;
create | plain
alter | plain

> SELECT count(*) FROM mz_catalog.mz_audit_events WHERE details::text LIKE '%hunter%';
0

# Statements that others see have no value in them.
> SELECT query FROM pg_catalog.pg_stat_activity WHERE query LIKE '%hun' || 'ter%';

# A transaction has them all or none.
> BEGIN; CREATE SECRET together AS 'a'; ALTER SECRET together AS 'b'; COMMENT ON SECRET together IS 'x'; COMMIT;

> BEGIN; CREATE SECRET undone AS 'a'; ALTER SECRET plain AS 'c'; ROLLBACK;

> SHOW SECRETS WHERE name IN ('together', 'undone');
together | x

# Drop.
! DROP SECRET nothing;
42704: unknown catalog item 'nothing'

= DROP SECRET IF EXISTS nothing;
DROP SECRET
NOTICE: secret "nothing" does not exist, skipping

! DROP SECRET t;
42809: t is a table not a secret

! DROP TABLE plain;
42809: plain is a secret not a table

= DROP SECRET plain, renamed, "Odd Name" RESTRICT;
DROP SECRET

> SHOW SECRETS;
built | 
large | 
together | x
