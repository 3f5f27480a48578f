# The session's time zone: setting it, and what follows it.  What is computed in it: select/zones.slt.

> SHOW timezone;
UTC

> SET TIME ZONE 'europe/berlin';

> SHOW TIME ZONE;
Europe/Berlin

> SELECT current_setting('TimeZone'), '2026-07-01 12:00'::timestamptz, timestamptz '2026-07-01 12:00+00';
Europe/Berlin | 2026-07-01 12:00:00+02 | 2026-07-01 14:00:00+02

# All the ways to write one.

> SET timezone = 'UTC+3';

> SHOW timezone;
UTC+3

> SELECT '2026-07-01 12:00+00'::timestamptz;
2026-07-01 09:00:00-03

> SET TIME ZONE INTERVAL '+02:00' HOUR TO MINUTE;

> SHOW timezone;
<+02>-02

> SELECT '2026-07-01 12:00+00'::timestamptz;
2026-07-01 14:00:00+02

> SET TIME ZONE INTERVAL '-8' HOUR;

> SHOW timezone;
<-08>+08

> SET TIME ZONE -3.5;

> SHOW timezone;
<-03:30>+03:30

> SET TIME ZONE 5;

> SHOW timezone;
<+05>-05

> SET timezone TO 'est5edt';

> SHOW timezone;
EST5EDT

> SET TIME ZONE '+05:30';

> SELECT current_setting('timezone'), '2026-07-01 12:00+00'::timestamptz;
+05:30 | 2026-07-01 06:30:00-05:30

! SET TIME ZONE 'Europe/Nowhere';
22023: invalid value for parameter "TimeZone": "Europe/Nowhere"
HINT: SELECT name FROM pg_timezone_names lists the zones that have names.

! SET TIME ZONE 168;
22023: invalid value for parameter "TimeZone": "168"
DETAIL: UTC timezone offset is out of range.

! SET TIME ZONE INTERVAL '1 month';
22023: invalid value for parameter "TimeZone": "INTERVAL '1 month'"
DETAIL: Cannot specify months in time zone interval.

> SET TIME ZONE LOCAL;

> SHOW timezone;
UTC

> SET TIME ZONE 'Asia/Tokyo';

> SET TIME ZONE DEFAULT;

> SHOW timezone;
UTC

# As every setting: for a transaction alone, undone by a rollback.

> BEGIN;

> SET LOCAL TIME ZONE 'Asia/Kolkata';

> SELECT '2026-07-01 12:00+00'::timestamptz;
2026-07-01 17:30:00+05:30

> COMMIT;

> SHOW timezone;
UTC

> BEGIN;

> SET TIME ZONE 'America/New_York';

> SAVEPOINT a;

> SET TIME ZONE 'Asia/Tokyo';

> ROLLBACK TO a;

> SELECT '2026-07-01 12:00+00'::timestamptz;
2026-07-01 08:00:00-04

> ROLLBACK;

> SHOW timezone;
UTC

# Stored data does not depend on it: a text is read in the zone of who writes, shown in that of who reads.

> CREATE TABLE moments (id int, at timestamptz, t timestamp, d date, ats timestamptz[]);

> SET TIME ZONE 'Europe/Berlin';

= INSERT INTO moments VALUES (1, '2026-07-01 12:00', '2026-07-01 12:00', '2026-07-01', '{2026-07-01 12:00,2026-01-01}');
INSERT 0 1

> COPY moments (id, at, ats) FROM STDIN;
< 2	2026-10-25 02:30	{2026-01-01 12:00:00+00}
< 3	1890-01-01 12:00	\N

> INSERT INTO moments (id, at) SELECT 4, timestamp '2026-03-29 02:30';

> SELECT id, at, t, d, ats FROM moments ORDER BY id;
1 | 2026-07-01 12:00:00+02 | 2026-07-01 12:00:00 | 2026-07-01 | {"2026-07-01 12:00:00+02","2026-01-01 00:00:00+01"}
2 | 2026-10-25 02:30:00+01 | <null> | <null> | {"2026-01-01 13:00:00+01"}
3 | 1890-01-01 12:00:00+00:53:28 | <null> | <null> | <null>
4 | 2026-03-29 03:30:00+02 | <null> | <null> | <null>

other> SELECT id, at FROM moments ORDER BY id;
1 | 2026-07-01 10:00:00+00
2 | 2026-10-25 01:30:00+00
3 | 1890-01-01 11:06:32+00
4 | 2026-03-29 01:30:00+00

> SET read_engine = spark;

> SELECT id, at, at::date, at::text, date_trunc('day', at) FROM moments WHERE at::date = '2026-07-01';
1 | 2026-07-01 12:00:00+02 | 2026-07-01 | 2026-07-01 12:00:00+02 | 2026-07-01 00:00:00+02

> RESET read_engine;

> UPDATE moments SET at = '2026-07-01 00:30' WHERE id = 4;

> SELECT id, at, at::date FROM moments WHERE at < '2026-07-01 01:00' AND at >= '2026-07-01';
4 | 2026-07-01 00:30:00+02 | 2026-07-01

> DELETE FROM moments WHERE at::date = '2026-07-01' AND id = 1;

# A view goes by the clocks of whoever reads it.

> CREATE VIEW days AS SELECT id, at::date AS day, at::text AS shown FROM moments WHERE at > '2026-01-01 00:00';

> SELECT * FROM days ORDER BY id;
2 | 2026-10-25 | 2026-10-25 02:30:00+01
4 | 2026-07-01 | 2026-07-01 00:30:00+02

other> SELECT * FROM days ORDER BY id;
2 | 2026-10-25 | 2026-10-25 01:30:00+00
4 | 2026-06-30 | 2026-06-30 22:30:00+00

# But a constant in it, or in a column's default, means what it meant to who made it, as in PostgreSQL.

> CREATE VIEW later AS SELECT id FROM moments WHERE at >= '2026-07-01 00:30' AND 'x' <> timestamptz '2026-07-01 00:30+02'::text;

> CREATE VIEW shown AS SELECT timestamptz '2026-07-01 12:00', '2026-07-01 12:00+00'::timestamptz AS b, '2026-07-01 12:00' AS c, date '2026-07-01' AS d, '[2026-07-01,)'::tstzrange AS e;

> SELECT * FROM later ORDER BY id;
2
4

other> SELECT * FROM later ORDER BY id;
2
4

other> SELECT * FROM shown;
2026-07-01 10:00:00+00 | 2026-07-01 12:00:00+00 | 2026-07-01 12:00 | 2026-07-01 | ["2026-06-30 22:00:00+00",)

> CREATE TABLE stamped (id int, since timestamptz DEFAULT '2026-01-01', until timestamptz NOT NULL DEFAULT timestamptz '2027-01-01 00:00');

> INSERT INTO stamped (id) VALUES (1);

other> INSERT INTO stamped (id) VALUES (2);

other> INSERT INTO stamped VALUES (3, DEFAULT, DEFAULT);

> SELECT * FROM stamped ORDER BY id;
1 | 2026-01-01 00:00:00+01 | 2027-01-01 00:00:00+01
2 | 2026-01-01 00:00:00+01 | 2027-01-01 00:00:00+01
3 | 2026-01-01 00:00:00+01 | 2027-01-01 00:00:00+01

# A prepared statement is planned again for another zone.

> PREPARE p (timestamptz) AS SELECT $1, $1::date, id, at::date FROM moments WHERE id = 4;

> EXECUTE p ('2026-07-01 12:00');
2026-07-01 12:00:00+02 | 2026-07-01 | 4 | 2026-07-01

> SET TIME ZONE 'UTC';

> EXECUTE p ('2026-07-01 12:00');
2026-07-01 12:00:00+00 | 2026-07-01 | 4 | 2026-06-30

> SET TIME ZONE 'Asia/Tokyo';

> EXECUTE p ('2026-07-01 12:00');
2026-07-01 12:00:00+09 | 2026-07-01 | 4 | 2026-07-01

# What happens now, by the clocks of the session.

> SELECT now()::timestamp = localtimestamp, now()::date = current_date, current_date::timestamptz <= now(), localtime = localtimestamp::time, 'today'::timestamptz = current_date, 'now'::timestamptz = now(), age(now()) <= '00:00', date_trunc('day', now()) = 'today', now()::text LIKE '%+09';
t | t | t | t | t | t | t | t | t

> BEGIN;

> DECLARE c CURSOR FOR SELECT at, at::date FROM moments WHERE id = 4;

> SET LOCAL TIME ZONE 'UTC';

> FETCH c;
2026-06-30 22:30:00+00 | 2026-07-01

> COMMIT;

# Subscriptions show moments and compute days by the clocks of who subscribes.

> SET TIME ZONE 'Europe/Berlin';

> BEGIN;

> DECLARE s CURSOR FOR SUBSCRIBE (SELECT at, at::date FROM moments WHERE id = 4);

> FETCH 1 s;
... | 1 | 2026-07-01 00:30:00+02 | 2026-07-01

other> BEGIN;

other> DECLARE s CURSOR FOR SUBSCRIBE (SELECT at, at::date FROM moments WHERE id = 4);

other> FETCH 1 s;
... | 1 | 2026-06-30 22:30:00+00 | 2026-06-30

third> INSERT INTO moments (id, at) VALUES (4, '2026-12-31 23:30');

> FETCH 1 s WITH (timeout = '10s');
... | 1 | 2027-01-01 00:30:00+01 | 2027-01-01

other> FETCH 1 s WITH (timeout = '10s');
... | 1 | 2026-12-31 23:30:00+00 | 2026-12-31

> COMMIT;

other> COMMIT;

# The operator's default is for sessions that begin later.

operator= ALTER SYSTEM SET timezone = 'america/new_york';
ALTER SYSTEM

later> SHOW timezone;
America/New_York

later> SET TIME ZONE 'UTC';

later> RESET timezone;

later> SHOW timezone;
America/New_York

operator= ALTER SYSTEM RESET timezone;
ALTER SYSTEM

# A plan says by whose clocks, where it matters.

> SET TIME ZONE 'Asia/Tokyo';

> EXPLAIN SELECT at::date AS day FROM moments WHERE at > '2026-07-01 09:00';
Output c6 := day date\n  Project c6 := c2::date@Asia/Tokyo\n    Filter (c2 > '2026-07-01 00:00:00+00'::timestamp with time zone)\n      Scan materialize.$schema.moments [c2 := at]
