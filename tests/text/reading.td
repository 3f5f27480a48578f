# At which moment a query reads: AS OF, EXPLAIN TIMESTAMP, and which engine.

> CREATE TABLE t (a int) WITH (RETAIN HISTORY FOR '1 hour');

> INSERT INTO t VALUES (1);

> CREATE TABLE remembered (ts text);

> INSERT INTO remembered SELECT mz_now()::text FROM t;

> INSERT INTO t VALUES (2);

> SELECT count(*) FROM t;
2

! SELECT * FROM t AS OF 1;
22000: could not find a valid timestamp for the query
DETAIL: "materialize.$schema.t" can be read from ... on; the query asks for 1.

> SELECT count(*) FROM t AS OF AT LEAST 1;
0

> SELECT count(*) FROM t AS OF AT LEAST now();
2

> SELECT count(*) FROM t AS OF now();
2

# A year that programs of few digits do not have.
> SELECT 1 AS OF '20000-01-01 00:00:00+00';
1

! SELECT * FROM t AS OF 'nonsense';
22023: AS OF or UP TO should be castable to a (non-null) mz_timestamp value

! SELECT * FROM t AS OF NULL;
22023: AS OF or UP TO should be castable to a (non-null) mz_timestamp value

! SELECT * FROM t AS OF a;
22023: AS OF or UP TO should be castable to a (non-null) mz_timestamp value

> SELECT 1 AS OF 5;
1

> CREATE SOURCE s FROM LOAD GENERATOR COUNTER (TICK INTERVAL '50ms');

> CREATE TABLE c FROM SOURCE s;

> SELECT count(*) > 0 FROM c;
t

# What a read sees is on record: the same moment shows the same rows, the next one no fewer.
> BEGIN;

> SELECT count(*) = (SELECT max(counter) FROM c) FROM c;
t

> SELECT s."offset" = (SELECT max(counter) FROM c) FROM s;
t

> COMMIT;

# As recent as the upstream, or as a client says.
> SET real_time_recency = on;

> SELECT count(*) > 0 FROM c;
t

> RESET real_time_recency;

> SELECT max(counter) >= 3 FROM c AS OF AT LEAST POSITION 3;
t

> SELECT max(counter) >= 3 FROM c AS OF AT LEAST POSITION '3' OF s;
t

! SELECT max(counter) FROM c AS OF AT LEAST POSITION 'x';
22023: invalid position of source "materialize.$schema.s": "x"
HINT: It takes a count of offsets, as the source's own relation has it.

> EXPLAIN TIMESTAMP FOR SELECT * FROM c;
...query timestamp: ...oracle read timestamp: ...can respond immediately: ...source materialize.$schema.c (u..., storage):...read frontier:[...write frontier:[...

> EXPLAIN TIMESTAMP AS JSON FOR SELECT * FROM c;
{..."query_timestamp": ...

> EXPLAIN SELECT a FROM t WHERE a > 1;
...$schema.t...

> EXPLAIN (ENGINE duckdb) SELECT a FROM t WHERE a > 1;
Engine: duckdb...

> EXPLAIN (ENGINE spark) SELECT a FROM t WHERE a > 1;
Engine: spark...

# It runs the query, and says what that took.
> EXPLAIN (ANALYZE, ENGINE duckdb) SELECT a FROM t WHERE a > 1 ORDER BY a;
Output ...
...
...
...
...
Engine: duckdb
Timestamp: ... UTC)
Read: materialize.$schema.t (files=... bytes=...)
Actual Rows: 1 (bytes=...)
Planning Time: ... ms
Timestamp Time: ... ms
First Rows Time: ... ms
Execution Time: ... ms

! EXPLAIN ANALYZE INSERT INTO t VALUES (9);
0A000: EXPLAIN ANALYZE INSERT not yet supported
HINT: It runs the statement, so it takes queries alone.

# Both engines answer alike.
> SET read_engine = spark;

> SELECT a, a * 2 FROM t;
1 | 2
2 | 4

> SELECT sum(a)::text || '!' FROM t;
3!

= SELECT FROM t;
SELECT 2

! SELECT 1 / (a - 1) FROM t;
22012: division by zero

> SELECT count(*) FROM mz_catalog.mz_databases WHERE name = 'materialize';
1

> SET read_engine = duckdb;

> SELECT a, a * 2 FROM t;
1 | 2
2 | 4

# Rows may have no columns; so many come all the same.
= SELECT FROM t;
SELECT 2

= SELECT;
SELECT 1

! SET read_engine = nonsense;
22023: parameter "read_engine" cannot have value "nonsense"

> RESET read_engine;

> SET transaction_isolation = 'serializable';

> SELECT count(*) > 0 FROM c;
t

> RESET transaction_isolation;

! SELECT mz_sleep(1);
42883: function mz_sleep(integer) does not exist

# A statement that takes too long.
> SET statement_timeout = '100ms';

! SELECT count(*) FROM generate_series(1, 100000) AS a, generate_series(1, 100000) AS b WHERE a + b < 0;
57014: canceling statement due to statement timeout

> SET statement_timeout = '60s';

> SET emit_timestamp_notice = on;

> SELECT count(*) FROM t;
2
NOTICE: query timestamp: ...

> RESET emit_timestamp_notice;
