# Transactions: what may stand together, what is seen, what is undone.

> CREATE TABLE t (a int);

> CREATE TABLE u (a int);

> INSERT INTO t VALUES (1);

# Reads see one moment.
> BEGIN;

> SELECT count(*) FROM t;
1

other> INSERT INTO t VALUES (2);

> SELECT count(*) FROM t;
1

> SELECT count(*) FROM u;
0

= COMMIT;
COMMIT

> SELECT count(*) FROM t;
2

# Reads, then a write.
> BEGIN;

> SELECT 1;
1

! INSERT INTO t VALUES (3);
25000: transaction in read-only mode

! SELECT 1;
25P02: current transaction is aborted, commands ignored until end of transaction block

= COMMIT;
ROLLBACK

# Writes: only VALUES, committed together.
> BEGIN;

= INSERT INTO t VALUES (10);
INSERT 0 1

= INSERT INTO u VALUES (10), (11);
INSERT 0 2

other> SELECT (SELECT count(*) FROM t WHERE a = 10), (SELECT count(*) FROM u);
0 | 0

= COMMIT;
COMMIT

other> SELECT (SELECT count(*) FROM t WHERE a = 10), (SELECT count(*) FROM u);
1 | 2

> BEGIN;

> INSERT INTO t VALUES (20);

! SELECT * FROM t;
25000: transaction in write-only mode

> ROLLBACK;

> SELECT count(*) FROM t WHERE a = 20;
0

# Statements that must be alone.
> BEGIN;

= UPDATE t SET a = a + 100;
UPDATE 3

! INSERT INTO t VALUES (1);
25000: this transaction can only execute a single statement

= ROLLBACK;
ROLLBACK

> SELECT a FROM t;
1
2
10

> BEGIN;

= DELETE FROM t WHERE a = 10;
DELETE 1

other> SELECT count(*) FROM t;
3

= COMMIT;
COMMIT

> SELECT a FROM t;
1
2

> BEGIN;

> INSERT INTO t VALUES (5);

! INSERT INTO t SELECT a FROM u;
25000: this transaction can only execute a single statement

> ROLLBACK;

# Two that change the same table: the second to commit is refused.
> BEGIN;

> UPDATE t SET a = 7 WHERE a = 1;

other> DELETE FROM t WHERE a = 1;

! COMMIT;
40001: could not serialize access due to concurrent update of table "t"

> SELECT a FROM t;
2

# Two that read what the other writes: the same.
> BEGIN;

> INSERT INTO u SELECT max(a) + 1 FROM t;

other> INSERT INTO t SELECT max(a) + 1 FROM u;

! COMMIT;
40001: could not serialize access due to concurrent update of table "t"

> DELETE FROM t WHERE a <> 2;

> DELETE FROM u WHERE a > 11;

# Objects: several together, nothing else among them, nothing visible before COMMIT.
> BEGIN;

= CREATE SOURCE s FROM LOAD GENERATOR AUCTION (UP TO 1);
CREATE SOURCE

= CREATE TABLE users FROM SOURCE s (REFERENCE users);
CREATE TABLE

= CREATE TABLE accounts FROM SOURCE s (REFERENCE accounts);
CREATE TABLE

other> SHOW SOURCES;

! SELECT 1;
25000: transactions which modify objects are restricted to just modifying objects

= ROLLBACK;
ROLLBACK

> SHOW SOURCES;

> BEGIN;

> CREATE SOURCE s FROM LOAD GENERATOR AUCTION (UP TO 1);

> CREATE TABLE users FROM SOURCE s (REFERENCE users);

> CREATE TABLE accounts FROM SOURCE s (REFERENCE accounts);

> ALTER TABLE accounts RENAME TO money;

= COMMIT;
COMMIT

# Never one without the other.
> SELECT (SELECT count(*) FROM users) > 0, (SELECT count(*) FROM money) > 0;
t | t

> BEGIN;

> CREATE TABLE in_block FROM SOURCE s (REFERENCE bids);

other> CREATE TABLE elsewhere (a int);

! COMMIT;
40001: another session modified the catalog while this DDL transaction was open

> SHOW TABLES LIKE 'in_block';

> BEGIN;

> INSERT INTO t VALUES (1);

! CREATE TABLE late (a int);
25000: transactions which modify objects are restricted to just modifying objects

> ROLLBACK;

> BEGIN;

> CREATE TABLE x FROM SOURCE s (REFERENCE bids);

! CREATE TABLE x FROM SOURCE s (REFERENCE bids);
42P07: catalog item 'x' already exists

= COMMIT;
ROLLBACK

> SHOW TABLES LIKE 'x';

# Several statements in one text are one transaction.
> INSERT INTO u VALUES (1); INSERT INTO u VALUES (2);

! CREATE TABLE half (a int); SELECT 1;
25000: transactions which modify objects are restricted to just modifying objects

> SHOW TABLES LIKE 'half';

! INSERT INTO u VALUES (77); SELECT * FROM nothing;
42P01: unknown catalog item 'nothing'
POSITION: 42

> SELECT count(*) FROM u WHERE a = 77;
0

> SELECT 1; SELECT 2;
1
2

= INSERT INTO u VALUES (90); COMMIT; INSERT INTO u VALUES (91); ROLLBACK;
INSERT 0 1
COMMIT
INSERT 0 1
ROLLBACK
WARNING: there is no transaction in progress

> SELECT a FROM u WHERE a >= 90;
90

> BEGIN; INSERT INTO u VALUES (95); COMMIT; SELECT count(*) FROM u WHERE a = 95;
1

# Commands of blocks.
> BEGIN;

= BEGIN;
BEGIN
WARNING: there is already a transaction in progress

> COMMIT;

= COMMIT;
COMMIT
WARNING: there is no transaction in progress

= ROLLBACK;
ROLLBACK
WARNING: there is no transaction in progress

> BEGIN READ ONLY;

! INSERT INTO t VALUES (1);
25006: transaction in read-only mode

> ROLLBACK;

# What transactions begin with, and each one's own modes.
> SET default_transaction_read_only = on;

> SHOW transaction_read_only;
on

! INSERT INTO t VALUES (1);
25006: transaction in read-only mode

! CREATE TABLE nothing (a int);
25006: transaction in read-only mode

! UPDATE t SET a = 1;
25006: transaction in read-only mode

> BEGIN;

! INSERT INTO t VALUES (1);
25006: transaction in read-only mode

> ROLLBACK;

> BEGIN READ WRITE;

= INSERT INTO t VALUES (1001);
INSERT 0 1

> SET default_transaction_read_only = off; SHOW transaction_read_only;
off

> COMMIT;

= DELETE FROM t WHERE a = 1001;
DELETE 1

> SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY;

> BEGIN; SHOW transaction_read_only;
on

! INSERT INTO t VALUES (1);
25006: transaction in read-only mode

> ROLLBACK;

! INSERT INTO t VALUES (1);
25006: transaction in read-only mode

> SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE;

> SET transaction_read_only = on;

> SHOW transaction_read_only;
off

> BEGIN; SET transaction_read_only = on; SAVEPOINT s; SET default_transaction_read_only = off;

! INSERT INTO t VALUES (1);
25006: transaction in read-only mode

> ROLLBACK TO s; SHOW transaction_read_only;
on

> SELECT 1;
1

! SET TRANSACTION READ WRITE;
25001: transaction read-write mode must be set before any query

> ROLLBACK;

> BEGIN; SET TRANSACTION READ ONLY; SET TRANSACTION READ WRITE; COMMIT;

> SET default_transaction_isolation = 'serializable';

> SHOW transaction_isolation;
serializable

> BEGIN; SHOW transaction_isolation;
serializable

> SET default_transaction_isolation = 'strict serializable'; SHOW transaction_isolation;
serializable

> COMMIT; SHOW transaction_isolation;
strict serializable

= START TRANSACTION ISOLATION LEVEL SERIALIZABLE;
BEGIN

> SHOW transaction_isolation;
serializable

> END;

> SHOW transaction_isolation;
strict serializable

> BEGIN;

> SET LOCAL statement_timeout = '5s';

> SET application_name = 'kept';

> COMMIT;

> SELECT current_setting('statement_timeout'), current_setting('application_name');
60 s | kept

> BEGIN;

> SET application_name = 'undone';

> ROLLBACK;

> SHOW application_name;
kept

# Savepoints.
! SAVEPOINT a;
25P01: SAVEPOINT can only be used in transaction blocks

> BEGIN;

> INSERT INTO u VALUES (200);

= SAVEPOINT a;
SAVEPOINT

> INSERT INTO u VALUES (201);

! INSERT INTO u VALUES (1 / 0);
22012: division by zero

! SAVEPOINT b;
25P02: current transaction is aborted, commands ignored until end of transaction block

= ROLLBACK TO SAVEPOINT a;
ROLLBACK

> INSERT INTO u VALUES (202);

= RELEASE a;
RELEASE

! ROLLBACK TO a;
3B001: savepoint "a" does not exist

= COMMIT;
ROLLBACK

> BEGIN; INSERT INTO u VALUES (200); SAVEPOINT a; INSERT INTO u VALUES (201); ROLLBACK TO a; COMMIT;

> SELECT a FROM u WHERE a BETWEEN 200 AND 209;
200

# A read that failed goes on at the moment it began at.
> BEGIN;

> SELECT count(*) FROM u WHERE a BETWEEN 200 AND 209;
1

> SAVEPOINT a;

! SELECT 1 / 0;
22012: division by zero

other> INSERT INTO u VALUES (205);

> ROLLBACK TO a;

> SELECT count(*) FROM u WHERE a BETWEEN 200 AND 209;
1

> COMMIT;

> BEGIN; CREATE TABLE kept FROM SOURCE s (REFERENCE bids); SAVEPOINT a; CREATE TABLE not_kept FROM SOURCE s (REFERENCE bids); ROLLBACK TO a; COMMIT;

> SELECT name FROM (SHOW TABLES) WHERE name LIKE '%kept';
kept

# Prepared statements.
= PREPARE p AS SELECT $1::int + 1, $2;
PREPARE

> EXECUTE p (1 + 1, 'x');
3 | x

! EXECUTE p (1);
42601: wrong number of parameters for prepared statement "p"

! PREPARE p AS SELECT 1;
42P05: prepared statement "p" already exists

! EXECUTE nothing;
26000: prepared statement "nothing" does not exist

= DEALLOCATE p;
DEALLOCATE

! DEALLOCATE p;
26000: prepared statement "p" does not exist

> PREPARE q (int, int) AS INSERT INTO u VALUES ($1), ($2);

= EXECUTE q (1001, 1002);
INSERT 0 2

= DEALLOCATE ALL;
DEALLOCATE ALL

# Cursors.
! DECLARE c CURSOR FOR SELECT 1;
25P01: DECLARE CURSOR can only be used in transaction blocks

> BEGIN;

= DECLARE c CURSOR FOR SELECT * FROM generate_series(1, 5) AS g ORDER BY g;
DECLARE CURSOR

> FETCH 2 c;
1
2

> FETCH FORWARD 2 FROM c;
3
4

= FETCH ALL c;
FETCH 1

> FETCH c;

! DECLARE c CURSOR FOR SELECT 1;
42P03: cursor "c" already exists

> ROLLBACK;

> BEGIN;

! FETCH 1 c;
34000: cursor "c" does not exist

> ROLLBACK;

> BEGIN;

> DECLARE c CURSOR FOR SELECT 1;

= CLOSE c;
CLOSE CURSOR

! CLOSE c;
34000: cursor "c" does not exist

> ROLLBACK;

# Read at the moment it was declared, though rows change and the table goes.
> CREATE TABLE going (a int);

> INSERT INTO going VALUES (1), (2);

> BEGIN;

> DECLARE c CURSOR FOR SELECT a FROM going ORDER BY a;

> FETCH 1 c;
1

other> INSERT INTO going VALUES (3);

other> DROP TABLE going;

> FETCH ALL c;
2

> COMMIT;

# Rows that were written to a table by its name do not go where nobody reads them by that name any more.
> CREATE TABLE placed (a int);

> CREATE TABLE taken (a int);

> BEGIN;

> INSERT INTO placed VALUES (1);

other> ALTER TABLE placed SWAP WITH taken;

! COMMIT;
40001: could not serialize access: table "materialize.$schema.placed" was renamed or swapped after this transaction wrote to it
DETAIL: It is called "materialize.$schema.taken" now.
HINT: Run the transaction again.

# Nor do rows of one block go under one name to two tables.
> BEGIN;

> INSERT INTO placed VALUES (1);

other> BEGIN;

other> ALTER TABLE placed RENAME TO aside;

other> ALTER TABLE taken RENAME TO placed;

other> ALTER TABLE aside RENAME TO taken;

other> COMMIT;

> INSERT INTO placed VALUES (2);

! COMMIT;
40001: could not serialize access: table "materialize.$schema.placed" was renamed or swapped after this transaction wrote to it
DETAIL: It is called "materialize.$schema.taken" now.
HINT: Run the transaction again.

> SELECT * FROM placed;

> SELECT * FROM taken;

> BEGIN;

> INSERT INTO placed VALUES (2);

> COMMIT;

> SELECT * FROM placed;
2

> SELECT * FROM taken;

# A read in a block goes on with what it began with.
> BEGIN;

> SELECT * FROM taken;

other> ALTER TABLE placed SWAP WITH taken;

> SELECT * FROM placed;
2

> COMMIT;

> SELECT * FROM taken;
2

# set_config() is SET in a query: it obeys transactions, and of several calls all count or none.
> SELECT set_config('application_name', 'a', false);
a

> SELECT set_config('application_name', 'b', true), set_config('timezone', 'UTC', true);
b | UTC

> SHOW application_name;
a

> BEGIN;

> SELECT set_config('application_name', 'c', true);
c

> SHOW application_name;
c

= COMMIT;
COMMIT

> SHOW application_name;
a

> BEGIN;

> SELECT set_config('application_name', 'd', false);
d

= ROLLBACK;
ROLLBACK

> SHOW application_name;
a

! SELECT set_config('application_name', 'e', false), set_config('nonsense', 'f', false);
42704: unrecognized configuration parameter "nonsense"

> SELECT set_config(name, 'g', false) FROM pg_settings WHERE name IN ('application_name', 'nonsense');
g

> SHOW application_name;
g

! SELECT 1 WHERE set_config('application_name', 'h', false) = 'h';
0A000: set_config inside an expression, a subquery or a condition not yet supported
HINT: Call it as a column of the outermost SELECT.

> SHOW application_name;
g
