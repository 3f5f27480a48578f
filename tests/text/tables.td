# Plain tables: columns, defaults, INSERT, UPDATE, DELETE, COPY.

! CREATE TABLE k (a int PRIMARY KEY);
0A000: CREATE TABLE with a primary key or unique constraint is not supported

! CREATE TABLE k (a int, UNIQUE (a));
0A000: CREATE TABLE with a primary key or unique constraint is not supported

! CREATE TABLE k (a int CHECK (a > 0));
0A000: CREATE TABLE with column constraint: CHECK...not yet supported

! CREATE TABLE k (a int, a text);
42701: column "a" specified more than once

! CREATE TABLE k (a nonsense);
42704: type "nonsense" does not exist

! CREATE TABLE k (a int DEFAULT 'x');
22P02: invalid input syntax for type integer: "x"

! CREATE TABLE k (a int DEFAULT b);
42703: ...

! CREATE TABLE k (a int, "A" int);
...

> CREATE TABLE t (
    id int NOT NULL,
    name text DEFAULT 'no' || 'body',
    price numeric(10, 2) DEFAULT 1.005,
    at timestamptz DEFAULT now(),
    flag bool
  );

> SHOW COLUMNS FROM t;
id | f | integer | 
name | t | text | 
price | t | numeric | 
at | t | timestamp with time zone | 
flag | t | boolean | 

> SELECT create_sql FROM (SHOW CREATE TABLE t);
CREATE TABLE materialize.$schema.t (...id pg_catalog.int4 NOT NULL...name pg_catalog.text DEFAULT 'no' || 'body'...);

# INSERT.
= INSERT INTO t (id) VALUES (1);
INSERT 0 1

= INSERT INTO t VALUES (2, 'two'), (3, DEFAULT);
INSERT 0 2

> SELECT id, name, price, at > now() - interval '1 hour', flag FROM t;
1 | nobody | 1.01 | t | <null>
2 | two | 1.01 | t | <null>
3 | nobody | 1.01 | t | <null>

! INSERT INTO t VALUES (1, 'a', 1, now(), true, 5);
42601: INSERT has more expressions than target columns

! INSERT INTO t (id, name) VALUES (1);
42601: INSERT has more target columns than expressions

! INSERT INTO t (id, name) VALUES (1, 'a', 3);
42601: INSERT has more expressions than target columns

! INSERT INTO t (id, nothing) VALUES (1, 2);
42703: column "nothing" of relation "t" does not exist

! INSERT INTO t (id, id) VALUES (1, 2);
42701: column "id" specified more than once

! INSERT INTO t VALUES (NULL);
23502: null value in column "id" of relation "t" violates not-null constraint

! INSERT INTO t (name) VALUES ('x');
23502: null value in column "id" of relation "t" violates not-null constraint

! INSERT INTO t VALUES ('x');
22P02: invalid input syntax for type integer: "x"
POSITION: 23

! INSERT INTO t VALUES (1, 2, 'three');
22P02: invalid input syntax for type numeric: "three"

! INSERT INTO t (id, flag) VALUES (1, 5);
42804: column "flag" is of type boolean but expression is of type integer

! INSERT INTO t VALUES (1/0);
22012: division by zero

= INSERT INTO t (flag, id) SELECT true, id + 10 FROM t WHERE id < 3;
INSERT 0 2

= INSERT INTO t (id) SELECT generate_series(100, 102);
INSERT 0 3

> SELECT id, flag FROM t WHERE id > 3;
11 | t
12 | t
100 | <null>
101 | <null>
102 | <null>

> CREATE TABLE d (a int DEFAULT 4, b text DEFAULT 'x');

= INSERT INTO d DEFAULT VALUES;
INSERT 0 1

> SELECT * FROM d;
4 | x

> INSERT INTO d VALUES (5, 'five') RETURNING a + 1 AS b, d.b, (a, b);
6 | five | (5,five)

> DELETE FROM d WHERE a = 5;

! INSERT INTO d VALUES (6, 'six') RETURNING nothing;
42703: column "nothing" does not exist
POSITION: 43

# UPDATE.
= UPDATE t SET name = name || '!', price = id WHERE id = 2;
UPDATE 1

= UPDATE t SET name = DEFAULT WHERE id = 12;
UPDATE 1

= UPDATE t AS x SET flag = x.id > 50;
UPDATE 8

= UPDATE t SET price = (SELECT sum(id) FROM t) WHERE id IN (SELECT a - 3 FROM d);
UPDATE 1

> SELECT id, name, price, flag FROM t WHERE id IN (1, 2, 12, 100) ORDER BY id;
1 | nobody | 332 | f
2 | two! | 2 | f
12 | nobody | 1.01 | f
100 | nobody | 1.01 | t

! UPDATE t SET nothing = 1;
42703: column "nothing" of relation "t" does not exist

! UPDATE t SET id = 1, id = 2;
42601: multiple assignments to same column "id"

! UPDATE t SET id = NULL WHERE id = 1;
23502: null value in column "id" of relation "t" violates not-null constraint

! UPDATE t SET id = 'x';
22P02: invalid input syntax for type integer: "x"
POSITION: 19

! UPDATE t SET id = 1 FROM d;
0A000: UPDATE ... FROM not yet supported

# DELETE.
= DELETE FROM t WHERE id >= 100;
DELETE 3

= DELETE FROM t USING d WHERE t.id = d.a - 1;
DELETE 1

= DELETE FROM t WHERE EXISTS (SELECT 1 FROM d WHERE d.a + 7 = t.id);
DELETE 1

! DELETE FROM t WHERE nothing;
42703: column "nothing" does not exist
POSITION: 21

> SELECT id FROM t;
1
2
12

= DELETE FROM t;
DELETE 3

= DELETE FROM t;
DELETE 0

# Rows that are equal are counted.
> CREATE TABLE m (a int);

> INSERT INTO m VALUES (1), (1), (1), (2);

= UPDATE m SET a = 3 WHERE a = 1;
UPDATE 3

> SELECT a, count(*) FROM m GROUP BY a;
2 | 1
3 | 3

# COPY in and out.
= COPY d FROM STDIN;
< 1\tone
< 2\t\N
< 3\tthree
COPY 3

> COPY d TO STDOUT;
1 | one
2 | \N
3 | three
4 | x

= COPY d (b) FROM STDIN WITH (FORMAT csv, HEADER);
< b
< "a ""quoted"", text"
COPY 1

> COPY (SELECT * FROM d ORDER BY a, b) TO STDOUT WITH (FORMAT csv);
1,one
2,
3,three
4,"a ""quoted"", text"
4,x

! COPY d FROM STDIN;
< 1\tone
< x\ttwo
22P02: invalid input syntax for type integer: "x"
CONTEXT: COPY d, line 2, column a: "x"

! COPY d FROM STDIN;
< 1\tone\tmore
22P04: extra data after last expected column
CONTEXT: COPY d, line 1: ...

! COPY d FROM STDIN;
< 1
22P04: missing data for column "b"
CONTEXT: COPY d, line 1: ...

! COPY t (name) FROM STDIN;
< x
23502: null value in column "id" of relation "t" violates not-null constraint

! COPY d (nothing) FROM STDIN;
42703: column "nothing" of relation "d" does not exist

! COPY nothing FROM STDIN;
42P01: unknown catalog item 'nothing'

> SELECT count(*) FROM d;
5

# Statements of one text are one transaction.
! INSERT INTO m VALUES (10); INSERT INTO m VALUES (1/0);
22012: division by zero

> SELECT count(*) FROM m WHERE a = 10;
0

> INSERT INTO m VALUES (20); INSERT INTO m VALUES (21);

> SELECT a FROM m WHERE a > 19;
20
21

! DELETE FROM m; SELECT 1/0;
25000: this transaction can only execute a single statement

> SELECT count(*) FROM m;
6

# Not here yet.
! ALTER TABLE t ADD COLUMN c int;
0A000: ALTER TABLE ... ADD COLUMN with a type not yet supported
POSITION: 28

! ALTER TABLE t ADD COLUMN c;
0A000: cannot add a column to table "t": it is not fed by a source

! TRUNCATE t;
0A000: TRUNCATE not yet supported

! INSERT INTO m VALUES (1) ON CONFLICT DO NOTHING;
0A000: ...

# A temporary table is the session's own, hides others, and goes with it.
temp> CREATE TEMPORARY TABLE m (x text);

temp> INSERT INTO m VALUES ('mine');

temp> SELECT * FROM m;
mine

> SELECT count(*) FROM m WHERE a = 20;
1

temp> CREATE VIEW on_temporary AS SELECT x FROM m;

! SELECT * FROM on_temporary;
42P01: unknown catalog item 'on_temporary'

temp- end

? SELECT count(*) FROM mz_catalog.mz_tables t JOIN mz_catalog.mz_schemas s ON s.id = t.schema_id WHERE s.name = 'mz_temp';
0
