# SUBSCRIBE: bounds, options, cursors; what ends it.

> CREATE TABLE t (a int, b text);

> INSERT INTO t VALUES (1, 'x'), (1, 'x'), (2, 'y');

> BEGIN;

> DECLARE c CURSOR FOR SUBSCRIBE t;

# Equal rows are counted.
> FETCH ALL c;
... | 1 | 2 | y
... | 2 | 1 | x

other> INSERT INTO t VALUES (3, 'z');

other> UPDATE t SET b = 'w' WHERE a = 2;

> FETCH 3 c WITH (timeout = '10s');
... | 1 | 3 | z
... | -1 | 2 | y
... | 1 | 2 | w

> FETCH 1 c WITH (timeout = '0s');

> FETCH 0 c;

> FETCH 10 c WITH (timeout = '100ms');

# A change and its undoing at one moment are nothing.
other> UPDATE t SET b = b;

> FETCH 10 c WITH (timeout = '100ms');

> COMMIT;

> BEGIN;

> DECLARE c CURSOR FOR SUBSCRIBE t WITH (SNAPSHOT = false);

> FETCH ALL c WITH (timeout = '0s');

other> DELETE FROM t WHERE a = 3;

> FETCH 1 c;
... | -1 | 3 | z

> ROLLBACK;

# From a moment on that can still be read, nothing is left out.
> CREATE TABLE remembered (a int) WITH (RETAIN HISTORY FOR '1 hour');

> INSERT INTO remembered VALUES (1);

> INSERT INTO remembered VALUES (2);

> BEGIN;

> DECLARE c CURSOR FOR SUBSCRIBE remembered WITH (SNAPSHOT = false) AS OF AT LEAST 1;

> FETCH 2 c WITH (timeout = '10s');
... | 1 | 1
... | 1 | 2

> ROLLBACK;

# Progress.
> BEGIN;

> DECLARE c CURSOR FOR SUBSCRIBE (SELECT a FROM t WHERE a = 2) WITH (PROGRESS);

> FETCH 2 c WITH (timeout = '5s');
... | t | <null> | <null>
... | f | 1 | 2

other> INSERT INTO t VALUES (2, 'again');

# Progress may be told before the row as often as there is some.
? FETCH 1 c WITH (timeout = '10s');
... | f | 1 | 2

> ROLLBACK;

# A subscription is alone in its transaction.
> BEGIN;

> SELECT 1;
1

! DECLARE c CURSOR FOR SUBSCRIBE t;
25000: SUBSCRIBE in transactions must be the only read statement

> ROLLBACK;

> BEGIN;

> DECLARE c CURSOR FOR SUBSCRIBE t;

! SELECT 1;
25000: SUBSCRIBE in transactions must be the only read statement

> ROLLBACK;

# Bounds.
! SUBSCRIBE t AS OF 5 UP TO 3;
22000: subscription lower bound (`AS OF`) is greater than its upper bound (`UP TO`): 5 > 3

! SUBSCRIBE t AS OF 5;
22000: could not find a valid timestamp for the query

! SUBSCRIBE t UP TO 'nonsense';
22023: AS OF or UP TO should be castable to a (non-null) mz_timestamp value

! SUBSCRIBE t ENVELOPE UPSERT (KEY (a));
0A000: ENVELOPE and WITHIN TIMESTAMP in SUBSCRIBE not yet supported

! SUBSCRIBE nothing;
42P01: unknown catalog item 'nothing'

! SUBSCRIBE (SELECT nothing FROM t);
42703: column "nothing" does not exist
POSITION: 19

! SUBSCRIBE t WITH (NONSENSE);
42601: Expected one of ...

# It ends by itself when nothing can come any more.
> SUBSCRIBE (SELECT 1 AS a, 'x' AS b);
... | 1 | 1 | x

> CREATE SOURCE ended FROM LOAD GENERATOR COUNTER (AS OF 4, UP TO 5);

> CREATE TABLE five FROM SOURCE ended;

> SUBSCRIBE five;
... | 1 | 1
... | 1 | 2
... | 1 | 3
... | 1 | 4
... | 1 | 5

> COPY (SUBSCRIBE (SELECT counter * 2 FROM five WHERE counter > 3)) TO STDOUT;
... | 1 | 8
... | 1 | 10

# The progress of a source, as it comes.
> CREATE SOURCE running FROM LOAD GENERATOR COUNTER (TICK INTERVAL '20ms');

? SELECT "offset" > 0 FROM running;
t

> BEGIN;

> DECLARE c CURSOR FOR SUBSCRIBE running;

> FETCH 3 c;
... | 1 | ...

> FETCH 2 c WITH (timeout = '10s');
... | -1 | ...
... | 1 | ...

> ROLLBACK;

> CREATE TABLE counted FROM SOURCE running;

> SELECT count(*) > 0 FROM counted;
t

> BEGIN;

> DECLARE c CURSOR FOR SUBSCRIBE (SELECT count(*) FROM counted);

> FETCH 1 c;
... | 1 | ...

> FETCH 2 c WITH (timeout = '10s');
... | -1 | ...
... | 1 | ...

> ROLLBACK;

# Dropping the relation under it.
> CREATE TABLE dropped (a int);

> CREATE VIEW over_dropped AS SELECT a + 1 AS b FROM dropped;

> BEGIN;

> DECLARE c CURSOR FOR SUBSCRIBE over_dropped;

> FETCH ALL c WITH (timeout = '0s');

other> DROP TABLE dropped CASCADE;

! FETCH 1 c;
...: query could not complete because relation "materialize.$schema.dropped" was dropped

> ROLLBACK;

> BEGIN;

> DECLARE c CURSOR FOR SUBSCRIBE counted WITH (SNAPSHOT = false);

other> DROP SOURCE running CASCADE;

! FETCH ALL c WITH (timeout = '20s');
...: query could not complete because relation "materialize.$schema.counted" was dropped

> ROLLBACK;

# While it lasts it is listed.
> BEGIN;

> DECLARE c CURSOR FOR SUBSCRIBE t;

other> SELECT count(*) FROM mz_internal.mz_subscriptions s JOIN mz_catalog.mz_tables t ON t.id = ANY (s.referenced_object_ids::text[]) WHERE t.name = 't' AND t.create_sql LIKE '%.$schema.%';
1

> COMMIT;

? SELECT count(*) FROM mz_internal.mz_subscriptions s WHERE s.referenced_object_ids::text LIKE '%nothing%';
0
