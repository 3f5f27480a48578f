# Subscriptions go along when what they read by name is swapped or replaced: the difference at one timestamp.

> CREATE TABLE blue (a int, b text);

> CREATE TABLE green (c int, b text, a int);

> INSERT INTO blue VALUES (1, 'x'), (2, 'y');

> INSERT INTO green VALUES (0, 'x', 1), (0, 'z', 2);

> CREATE VIEW v AS SELECT a, b FROM blue;

> CREATE VIEW w AS SELECT count(*) AS n, max(b) AS last FROM v;

# A view on a view, the view, and the table itself by its name.
views> BEGIN;

views> DECLARE c CURSOR FOR SUBSCRIBE w;

views> FETCH 1 c;
... | 1 | 2 | y

by_view> BEGIN;

by_view> DECLARE c CURSOR FOR SUBSCRIBE v;

by_view> FETCH 2 c;
... | 1 | 1 | x
... | 1 | 2 | y

by_name> BEGIN;

by_name> DECLARE c CURSOR FOR SUBSCRIBE blue;

by_name> FETCH 2 c;
... | 1 | 1 | x
... | 1 | 2 | y

# Also one that takes its time.
later> BEGIN;

later> DECLARE c CURSOR FOR SUBSCRIBE v;

# All before the swap is told as it was.
> UPDATE blue SET b = 'q' WHERE a = 1;

> BEGIN;

> ALTER TABLE blue SWAP WITH green;

> DROP TABLE green;

> COMMIT;

> INSERT INTO blue VALUES (0, 'new', 3);

views> FETCH 4 c WITH (timeout = '10s');
... | -1 | 2 | y
... | 1 | 2 | z
... | -1 | 2 | z
... | 1 | 3 | z

by_view> FETCH 7 c WITH (timeout = '10s');
... | -1 | 1 | x
... | 1 | 1 | q
... | -1 | 1 | q
... | -1 | 2 | y
... | 1 | 1 | x
... | 1 | 2 | z
... | 1 | 3 | new

by_name> FETCH 7 c WITH (timeout = '10s');
... | -1 | 1 | x
... | 1 | 1 | q
... | -1 | 1 | q
... | -1 | 2 | y
... | 1 | 1 | x
... | 1 | 2 | z
... | 1 | 3 | new

later> FETCH 9 c WITH (timeout = '10s');
... | 1 | 1 | x
... | 1 | 2 | y
... | -1 | 1 | x
... | 1 | 1 | q
... | -1 | 1 | q
... | -1 | 2 | y
... | 1 | 1 | x
... | 1 | 2 | z
... | 1 | 3 | new

later> ROLLBACK;

# A view that is replaced.
> CREATE OR REPLACE VIEW v AS SELECT b || '!' AS b, a, c FROM blue WHERE a < 3;

by_view> FETCH 5 c WITH (timeout = '10s');
... | -1 | 1 | x
... | -1 | 2 | z
... | -1 | 3 | new
... | 1 | 1 | x!
... | 1 | 2 | z!

views> FETCH 2 c WITH (timeout = '10s');
... | -1 | 3 | z
... | 1 | 2 | z!

# Who reads the table goes on as if nothing had been.
by_name> FETCH 1 c WITH (timeout = '0s');

# Names that come and go and mean the same are nothing.
> ALTER TABLE blue RENAME TO cyan;

> ALTER VIEW v RENAME TO u;

> INSERT INTO cyan VALUES (0, 'more', 0);

by_view> FETCH 1 c WITH (timeout = '10s');
... | 1 | 0 | more!

by_name> FETCH 1 c WITH (timeout = '10s');
... | 1 | 0 | more

# There and back, before anybody looks.
> CREATE TABLE other (a int, b text, c int);

> INSERT INTO other VALUES (9, 'other', 9);

> ALTER TABLE cyan SWAP WITH other;

> ALTER TABLE cyan SWAP WITH other;

> INSERT INTO cyan VALUES (0, 'last', -1);

? SELECT a FROM u WHERE a < 0;
-1

by_view> ROLLBACK;

by_name> ROLLBACK;

views> ROLLBACK;

# The progress of a source, which is in no files.
> CREATE SOURCE running FROM LOAD GENERATOR COUNTER (TICK INTERVAL '50ms');

> CREATE VIEW one AS SELECT 'one' AS which, "offset" >= 0 AS ok FROM running;

> CREATE VIEW two AS SELECT "offset", "offset" >= 0 AS ok, 'two' AS which FROM running;

views> BEGIN;

views> DECLARE c CURSOR FOR SUBSCRIBE (SELECT * FROM one);

views> FETCH 1 c;
... | 1 | one | t

> ALTER VIEW one SWAP WITH two;

views> FETCH 2 c WITH (timeout = '10s');
... | -1 | one | t
... | 1 | two | t

views> ROLLBACK;

> DROP SOURCE running CASCADE;

# What cannot be given the columns any more ends.
> CREATE TABLE with_b (a int, b text);

> CREATE TABLE without_b (a int);

views> BEGIN;

views> DECLARE c CURSOR FOR SUBSCRIBE (SELECT a FROM with_b WHERE b IS NULL);

views> FETCH 1 c WITH (timeout = '0s');

> ALTER TABLE with_b SWAP WITH without_b;

views! FETCH 1 c WITH (timeout = '10s');
2BP01: the subscription cannot go on: its query uses column "b" of "materialize.$schema.with_b", which would not have it
HINT: SUBSCRIBE again, to what is there now.

views> ROLLBACK;
