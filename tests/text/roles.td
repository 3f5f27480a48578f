# Roles, memberships, privileges: what statements answer, and how they refuse.

= CREATE ROLE td_readers;
CREATE ROLE

! CREATE ROLE td_readers;
42710: role 'td_readers' already exists

= CREATE ROLE IF NOT EXISTS td_readers;
CREATE ROLE
NOTICE: role "td_readers" already exists, skipping

= CREATE USER td_ann WITH PASSWORD 'a' CONNECTION LIMIT 2 IN ROLE td_readers;
CREATE ROLE

! CREATE ROLE pg_x;
42939: role name "pg_x" is reserved

! CREATE ROLE public;
42939: role name "public" is reserved

! CREATE ROLE x NOINHERIT;
0A000: roles that do not inherit not yet supported

! CREATE ROLE x LOGIN NOLOGIN;
42601: conflicting or redundant options

! CREATE ROLE x CONNECTION LIMIT -2;
22023: invalid connection limit: -2

! ALTER ROLE mz_system NOLOGIN;
42939: role name "mz_system" is reserved

! ALTER ROLE nobody LOGIN;
42704: role "nobody" does not exist

> SELECT name, rolcanlogin, rolsuper FROM mz_roles WHERE name LIKE 'td%' ORDER BY name;
td_ann | t | f
td_readers | f | f

> SHOW ROLES LIKE 'td_a%';
td_ann | ...

> SHOW ROLE MEMBERSHIP FOR td_ann;
td_readers | td_ann | materialize

! GRANT td_ann TO td_readers;
0LP01: role "td_ann" is a member of role "td_readers"

= GRANT td_readers TO td_ann;
GRANT ROLE
NOTICE: role "td_ann" is already a member of role "td_readers", granted by "materialize"

= CREATE TABLE t (a int);
CREATE TABLE

= GRANT SELECT, INSERT ON t TO td_readers;
GRANT

! GRANT USAGE ON t TO td_readers;
0LP01: invalid privilege type USAGE for table

! GRANT SELECT ON t TO nobody;
42704: role "nobody" does not exist

! GRANT SELECT ON t TO td_ann WITH GRANT OPTION;
0A000: WITH GRANT OPTION not yet supported

! GRANT SELECT ON pg_class TO td_ann;
42501: system item 'pg_catalog.pg_class' cannot be modified

> SELECT grantee, privilege_type FROM (SHOW PRIVILEGES ON TABLES FOR td_ann) AS shown WHERE name = 't' AND schema = '$schema' ORDER BY 2;
td_readers | INSERT
td_readers | SELECT

> SELECT array_to_string(relacl, ' ') FROM pg_class WHERE oid = 't'::regclass;
materialize=arwd/materialize td_readers=ar/materialize

= REVOKE INSERT ON t FROM td_readers;
REVOKE

> SELECT has_table_privilege('td_ann', 't', 'SELECT'), has_table_privilege('td_ann', 't', 'INSERT'), pg_has_role('td_ann', 'td_readers', 'USAGE');
t | f | t

= ALTER DEFAULT PRIVILEGES IN SCHEMA $schema GRANT SELECT ON TABLES TO td_ann;
ALTER DEFAULT PRIVILEGES

= CREATE VIEW v AS SELECT a FROM t;
CREATE VIEW

> SELECT has_table_privilege('td_ann', 'v', 'SELECT');
t

! ALTER DEFAULT PRIVILEGES IN SCHEMA $schema GRANT USAGE ON SCHEMAS TO td_ann;
0LP01: cannot use IN SCHEMA when default privileges are on SCHEMAS

! DROP ROLE td_ann;
2BP01: role "td_ann" cannot be dropped because some objects depend on it

! DROP ROLE materialize;
55006: current role cannot be dropped

= ALTER TABLE t OWNER TO td_ann;
ALTER TABLE

= ALTER TABLE IF EXISTS nothing OWNER TO td_ann;
ALTER TABLE
NOTICE: table "nothing" does not exist, skipping

! DROP OWNED BY td_ann;
2BP01: cannot drop what the role owns: view "v" of another role depends on it

= REASSIGN OWNED BY td_ann TO materialize;
REASSIGN OWNED

= DROP OWNED BY td_ann, td_readers;
DROP OWNED

= REVOKE td_readers FROM td_ann;
REVOKE ROLE

= DROP ROLE td_ann, td_readers, td_ann;
DROP ROLE

! SET ROLE materialize;
0A000: SET ROLE not yet supported

! GRANT SELECT ON;
42601: ...
