# Views: on views, replaced, temporary; their stored SQL names everything in full.

> CREATE TABLE t (a int NOT NULL, b text);

> INSERT INTO t VALUES (1, 'x'), (2, 'y');

> CREATE VIEW v (one, two) AS SELECT a, upper(b) FROM t;

> CREATE VIEW w AS SELECT one + 1 AS n FROM v WHERE two = 'Y';

> SELECT * FROM w;
3

> SELECT create_sql FROM (SHOW CREATE VIEW v);
CREATE VIEW materialize.$schema.v (one, two)\nAS SELECT a, upper(b) FROM materialize.$schema.t;

> SHOW COLUMNS FROM v;
one | t | integer | 
two | t | text | 

! CREATE VIEW x AS SELECT nothing FROM t;
42703: column "nothing" does not exist
POSITION: 25

! CREATE VIEW x AS SELECT a, a FROM t;
42701: column "a" specified more than once

! CREATE VIEW x (p, q, r) AS SELECT a, b FROM t;
42601: ...

! CREATE VIEW x AS SELECT $1::int;
42P02: there is no parameter $1

! CREATE VIEW x AS SELECT 1 +;
42601: Expected an expression, found ...

! INSERT INTO v VALUES (1, 'x');
42809: cannot insert into view 'materialize.$schema.v'

! DELETE FROM v;
42809: cannot mutate view 'materialize.$schema.v'

# OR REPLACE.
! CREATE OR REPLACE VIEW v AS SELECT 1 AS z;
2BP01: cannot replace view "v": view "materialize.$schema.w" uses column "one" of "materialize.$schema.v", which would not have it

! CREATE OR REPLACE VIEW t AS SELECT 1 AS z;
42809: t is a table not a view

# With what reads it, as long as what that uses is there.
= CREATE OR REPLACE VIEW v AS SELECT b, 'Y' AS two, a AS one FROM t;
CREATE VIEW

> SELECT * FROM w;
2
3

> CREATE VIEW w2 AS SELECT b FROM v;

> SELECT * FROM w2;
x
y

> DROP VIEW w, w2;

= CREATE OR REPLACE VIEW v AS SELECT b FROM t;
CREATE VIEW

> SELECT * FROM v;
x
y

! CREATE OR REPLACE VIEW v AS SELECT * FROM v;
42P17: cannot replace view "v": the new query depends on it

= CREATE OR REPLACE VIEW brand_new AS SELECT 1 AS a;
CREATE VIEW

! CREATE OR REPLACE VIEW IF NOT EXISTS v AS SELECT 1 AS a;
42601: ...

# `*` is what it was when the view was made.
> CREATE VIEW star AS SELECT * FROM t;

> SELECT * FROM star WHERE a = 1;
1 | x

# An error in a row fails the whole read, through views too.
> CREATE VIEW bad AS SELECT 1 / (a - 1) AS q FROM t;

! SELECT * FROM bad;
22012: division by zero

! SELECT count(q) FROM bad;
22012: division by zero

# Constants, subqueries, WITH, VALUES.
> CREATE VIEW one AS VALUES (1, 'a'), (2, 'b');

> SELECT * FROM one;
1 | a
2 | b

> CREATE VIEW deep AS WITH c AS (SELECT a FROM t) SELECT (SELECT max(a) FROM c) AS m, x.a FROM c AS x;

> SELECT * FROM deep;
2 | 1
2 | 2

> SELECT definition FROM mz_catalog.mz_views WHERE name = 'deep' AND create_sql LIKE '%$schema%';
WITH c AS (SELECT a FROM materialize.$schema.t) SELECT (SELECT max(a) FROM c) AS m, x.a FROM c AS x;

! CREATE VIEW shown AS SELECT * FROM (SHOW TABLES);
0A000: SHOW in FROM not yet supported

! CREATE MATERIALIZED VIEW mv AS SELECT 1;
0A000: CREATE MATERIALIZED VIEW not yet supported

! CREATE INDEX i ON t (a);
0A000: CREATE INDEX not yet supported

# Temporary views.
temp> CREATE TEMPORARY VIEW v AS SELECT 'mine' AS who;

temp> SELECT * FROM v;
mine

temp> CREATE VIEW over_it AS SELECT who FROM v;

temp> SELECT who FROM over_it;
mine

temp> SELECT name FROM (SHOW VIEWS) WHERE name = 'over_it';

> SELECT * FROM v;
x
y

temp> DROP VIEW v CASCADE;

temp> SELECT * FROM v;
x
y

temp- end
