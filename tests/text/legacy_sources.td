# The legacy syntax of sources: subsources, rows of a source's own, its progress; what may be done with
# them, the flags that say which form may be written, and the migration to the newer one.

# Many outputs: a source, its progress, and a subsource for each reference.
= CREATE SOURCE auction FROM LOAD GENERATOR AUCTION (AS OF 300, UP TO 301) FOR ALL TABLES;
CREATE SOURCE

> SELECT count(*) FROM bids;
255

> SELECT count(*), min(id), max(id) FROM auctions;
45 | 1 | 45

> SELECT (SELECT count(*) FROM organizations), (SELECT count(*) FROM users), (SELECT count(*) FROM accounts);
100 | 2000 | 1000

> SELECT * FROM auction_progress;
<null>

> SHOW SOURCES;
accounts | subsource | quickstart | 
auction | load-generator | quickstart | 
auction_progress | progress | quickstart | 
auctions | subsource | quickstart | 
bids | subsource | quickstart | 
organizations | subsource | quickstart | 
users | subsource | quickstart | 

> SHOW SUBSOURCES ON auction;
accounts | subsource
auction_progress | progress
auctions | subsource
bids | subsource
organizations | subsource
users | subsource

> SHOW SUBSOURCES ON auction LIKE 'b%';
bids | subsource

> SHOW SUBSOURCES ON auction WHERE type = 'progress';
auction_progress | progress

> SHOW SUBSOURCES FROM $schema LIKE 'a%s';
accounts | subsource
auction_progress | progress
auctions | subsource

> SELECT name, type FROM (SHOW OBJECTS) WHERE name IN ('auction', 'bids', 'auction_progress');
auction | source
bids | source
auction_progress | source

> SHOW TABLES;

> SHOW TABLES ON auction;

> SHOW SUBSOURCES ON bids;

> SHOW COLUMNS FROM bids;
id | f | bigint | 
buyer | f | bigint | 
auction_id | f | bigint | 
amount | f | integer | 
bid_time | f | timestamp with time zone | 

> SHOW COLUMNS FROM auction;

> SHOW COLUMNS FROM auction_progress;
offset | t | uint8 | 

> SHOW CREATE SOURCE auction;
materialize.$schema.auction | CREATE SOURCE materialize.$schema.auction\nIN CLUSTER quickstart\nFROM LOAD GENERATOR AUCTION (AS OF = 300, UP TO = 301)\nFOR ALL TABLES\nEXPOSE PROGRESS AS materialize.$schema.auction_progress;

> SELECT create_sql FROM (SHOW CREATE SOURCE users);
CREATE SUBSOURCE materialize.$schema.users (id pg_catalog.int8 NOT NULL, org_id pg_catalog.int8 NOT NULL, name pg_catalog.text NOT NULL, PRIMARY KEY (id))\nOF SOURCE materialize.$schema.auction\nWITH (EXTERNAL REFERENCE = mz_load_generators.auction.users);

> SELECT create_sql FROM (SHOW CREATE SOURCE auction_progress);
CREATE SUBSOURCE materialize.$schema.auction_progress ("offset" mz_catalog.uint8)\nWITH (PROGRESS = TRUE);

> SELECT create_sql FROM (SHOW REDACTED CREATE SOURCE auction);
CREATE SOURCE materialize.$schema.auction\nIN CLUSTER quickstart\nFROM LOAD GENERATOR AUCTION (AS OF = '<REDACTED>', UP TO = '<REDACTED>')\nFOR ALL TABLES\nEXPOSE PROGRESS AS materialize.$schema.auction_progress;

# References belong to the source that was named.
> SHOW REFERENCES ON auction;
auction | accounts | {id,org_id,balance} | ...
auction | auctions | {id,seller,item,end_time} | ...
auction | bids | {id,buyer,auction_id,amount,bid_time} | ...
auction | organizations | {id,name} | ...
auction | users | {id,org_id,name} | ...

> SHOW REFERENCES ON materialize.$schema.auction LIKE 'b%';
auction | bids | {id,buyer,auction_id,amount,bid_time} | ...

> SELECT namespace, name FROM (SHOW REFERENCES ON auction WHERE name > 'bids');
auction | organizations
auction | users

> SHOW REFERENCES ON bids;

> SHOW REFERENCES ON auction_progress;

> SELECT DISTINCT s.name, s.type FROM mz_internal.mz_source_references r JOIN mz_catalog.mz_sources s ON s.id = r.source_id JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = s.id WHERE n.schema_name = '$schema';
auction | load-generator

= ALTER SOURCE auction REFRESH REFERENCES;
ALTER SOURCE

# What is said of each, and what was made from what.
? SELECT s.name, s.type, s.status, s.error FROM mz_internal.mz_source_statuses s JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = s.id WHERE n.schema_name = '$schema' AND s.name IN ('auction', 'auction_progress', 'bids', 'users');
auction | load-generator | running | <null>
auction_progress | progress | running | <null>
bids | subsource | running | <null>
users | subsource | running | <null>

? SELECT n.name, t.updates_committed, t.snapshot_committed FROM mz_internal.mz_source_statistics t JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = t.id WHERE n.schema_name = '$schema';
accounts | 1000 | t
auction | 3400 | t
auctions | 45 | t
bids | 255 | t
organizations | 100 | t
users | 2000 | t

> SELECT n.name, h.hydrated FROM mz_internal.mz_hydration_statuses h JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = h.object_id WHERE n.schema_name = '$schema' AND n.name IN ('auction', 'auction_progress', 'bids');
auction | t
auction_progress | t
bids | t

> SELECT n.name, f.write_frontier IS NULL FROM mz_internal.mz_frontiers f JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = f.object_id WHERE n.schema_name = '$schema' AND n.name IN ('auction', 'auction_progress', 'bids');
auction | t
auction_progress | t
bids | t

> SELECT a.name, b.name FROM mz_internal.mz_object_dependencies d JOIN mz_internal.mz_object_fully_qualified_names a ON a.id = d.object_id JOIN mz_catalog.mz_objects b ON b.id = d.referenced_object_id WHERE a.schema_name = '$schema';
accounts | auction
auction | auction_progress
auctions | auction
bids | auction
organizations | auction
users | auction

> SELECT s.name, s.type, c.name FROM mz_catalog.mz_sources s JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = s.id JOIN mz_catalog.mz_clusters c ON c.id = s.cluster_id WHERE n.schema_name = '$schema' AND s.name LIKE 'auction%';
auction | load-generator | quickstart
auction_progress | progress | quickstart
auctions | subsource | quickstart

# The source itself has no rows, and nothing of it can be written.
! SELECT * FROM auction;
42809: source "auction" has no rows of its own
HINT: Its subsources have: SHOW SUBSOURCES ON auction lists them, and its progress.
POSITION: 15

! SELECT 1 FROM bids JOIN auction ON true;
42809: source "auction" has no rows of its own
POSITION: 25

! SUBSCRIBE auction;
42809: source "auction" has no rows of its own

! COPY auction TO STDOUT;
42809: source "auction" has no rows of its own

! CREATE VIEW nothing AS SELECT * FROM auction;
42809: source "auction" has no rows of its own

! INSERT INTO auction VALUES (1);
42809: cannot insert into source 'materialize.$schema.auction'

! INSERT INTO organizations VALUES (1, 'a');
42809: cannot insert into source 'materialize.$schema.organizations'

! INSERT INTO auction_progress VALUES (1);
42809: cannot insert into source 'materialize.$schema.auction_progress'

! UPDATE bids SET amount = 1;
42809: cannot mutate source 'materialize.$schema.bids'

! DELETE FROM bids;
42809: cannot mutate source 'materialize.$schema.bids'

! COPY bids FROM STDIN;
42809: cannot insert into source 'materialize.$schema.bids'

# Tables can be made from it, too, as many as one likes.
> CREATE TABLE bids_table FROM SOURCE auction (REFERENCE bids);

> CREATE TABLE bids_again FROM SOURCE auction (REFERENCE mz_load_generators.auction.bids);

> SELECT count(*) FROM bids a JOIN bids_table b USING (id, buyer, auction_id, amount, bid_time) JOIN bids_again c USING (id, buyer, auction_id, amount, bid_time);
255

> SHOW TABLES ON auction;
bids_again | 
bids_table | 

> SELECT count(*) FROM (SHOW SUBSOURCES ON auction);
6

> SELECT create_sql FROM (SHOW CREATE TABLE bids_table);
CREATE TABLE materialize.$schema.bids_table\nFROM SOURCE materialize.$schema.auction (REFERENCE = mz_load_generators.auction.bids);

> SELECT t.name, s.name, s.type FROM mz_catalog.mz_tables t JOIN mz_catalog.mz_sources s ON s.id = t.source_id WHERE t.create_sql LIKE '%.$schema.%';
bids_table | auction | load-generator
bids_again | auction | load-generator

> SELECT a.name, b.name FROM mz_internal.mz_object_dependencies d JOIN mz_internal.mz_object_fully_qualified_names a ON a.id = d.object_id JOIN mz_catalog.mz_objects b ON b.id = d.referenced_object_id WHERE a.schema_name = '$schema' AND a.name LIKE 'bids_%';
bids_again | auction
bids_table | auction

! CREATE TABLE x FROM SOURCE auction;
42P09: reference  is ambiguous, consider specifying an additional layer of qualification

! CREATE TABLE x FROM SOURCE auction (REFERENCE nothing);
42P01: reference to nothing not found in source
HINT: ALTER SOURCE materialize.$schema.auction REFRESH REFERENCES, then SHOW REFERENCES ON materialize.$schema.auction lists them.
POSITION: 47

! CREATE TABLE x (a, b) FROM SOURCE auction (REFERENCE bids);
0A000: columns cannot be named for multi-output load generator sources

! CREATE TABLE users FROM SOURCE auction (REFERENCE bids);
42P07: catalog item 'users' already exists

! CREATE TABLE x (id int) FROM SOURCE auction (REFERENCE bids);
42601: CREATE TABLE .. FROM SOURCE column definitions cannot be specified directly

! CREATE TABLE x (id, PRIMARY KEY (id)) FROM SOURCE auction (REFERENCE bids);
42601: CREATE TABLE .. FROM SOURCE constraint definitions cannot be specified directly

! CREATE TABLE x (id, name text) FROM SOURCE auction (REFERENCE bids);
42601: cannot mix column definitions and column names

! CREATE TABLE x FROM SOURCE auction (REFERENCE bids) WITH (DETAILS = 'aa');
22023: DETAILS option cannot be explicitly set

! CREATE TEMPORARY TABLE x FROM SOURCE auction (REFERENCE bids);
0A000: temporary tables FROM SOURCE are not supported

# Columns of a generator are as they are.
! CREATE TABLE whole FROM SOURCE auction (REFERENCE organizations) WITH (TEXT COLUMNS (id));
0A000: TEXT COLUMNS is not supported with multi-output load generator sources
HINT: Their columns are taken as they are; leave it out.

! CREATE TABLE whole FROM SOURCE auction (REFERENCE organizations) WITH (EXCLUDE COLUMNS (name));
0A000: EXCLUDE COLUMNS is not supported with multi-output load generator sources
HINT: Their columns are taken as they are; leave it out.

! CREATE TABLE x FROM SOURCE bids;
42809: bids is a subsource of a source, not a source
HINT: Name the source itself: materialize.$schema.auction

! CREATE TABLE x FROM SOURCE auction_progress (REFERENCE bids);
HINT: Name the source itself: materialize.$schema.auction

# One output: the source itself has the rows.
> CREATE SOURCE counter (n) FROM LOAD GENERATOR COUNTER (AS OF 4, UP TO 5) EXPOSE PROGRESS AS counted WITH (RETAIN HISTORY FOR '1 hour');

> SELECT * FROM counter;
1
2
3
4
5

> SHOW COLUMNS FROM counter;
n | f | bigint | 

> SELECT * FROM counted;
<null>

> SHOW SUBSOURCES ON counter;
counted | progress

> SHOW REFERENCES ON counter;
counter | counter | {counter} | ...

> SELECT create_sql FROM (SHOW CREATE SOURCE counter);
CREATE SOURCE materialize.$schema.counter (n)\nIN CLUSTER quickstart\nFROM LOAD GENERATOR COUNTER (AS OF = 4, UP TO = 5)\nEXPOSE PROGRESS AS materialize.$schema.counted\nWITH (RETAIN HISTORY = FOR '1 hour');

> SELECT n.name, r.value FROM mz_internal.mz_history_retention_strategies r JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = r.id WHERE n.schema_name = '$schema' AND n.name IN ('counter', 'bids');
counter | 3600000
bids | 1000

? SELECT s.name, s.type, s.status FROM mz_internal.mz_source_statuses s JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = s.id WHERE n.schema_name = '$schema' AND s.name IN ('counter', 'counted');
counter | load-generator | running
counted | progress | running

? SELECT n.name, t.updates_committed, t.snapshot_committed FROM mz_internal.mz_source_statistics t JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = t.id WHERE n.schema_name = '$schema' AND n.name IN ('counter', 'counted');
counter | 5 | t

> SELECT a.name, b.name FROM mz_internal.mz_object_dependencies d JOIN mz_internal.mz_object_fully_qualified_names a ON a.id = d.object_id JOIN mz_catalog.mz_objects b ON b.id = d.referenced_object_id WHERE a.schema_name = '$schema' AND a.name = 'counter';
counter | counted

> CREATE TABLE counter_table FROM SOURCE counter;

> CREATE TABLE counter_named (m) FROM SOURCE counter (REFERENCE counter);

> SELECT m FROM counter JOIN counter_named ON m = n JOIN counter_table ON counter = n WHERE m > 3;
4
5

> CREATE SOURCE window_of_two FROM LOAD GENERATOR COUNTER (AS OF 4, UP TO 5, MAX CARDINALITY 2) ENVELOPE NONE;

> SELECT * FROM window_of_two;
4
5

> SELECT create_sql FROM (SHOW CREATE SOURCE window_of_two);
CREATE SOURCE materialize.$schema.window_of_two\nIN CLUSTER quickstart\nFROM LOAD GENERATOR COUNTER (AS OF = 4, UP TO = 5, MAX CARDINALITY = 2)\nENVELOPE NONE\nEXPOSE PROGRESS AS materialize.$schema.window_of_two_progress;

> CREATE SOURCE datums FROM LOAD GENERATOR DATUMS EXPOSE PROGRESS AS datums_way;

> SELECT count(*) FROM datums;
5

> CREATE SOURCE clock FROM LOAD GENERATOR CLOCK (UP TO 3) EXPOSE PROGRESS AS clock_way;

? SELECT count(*), (SELECT "offset" IS NULL FROM clock_way) FROM clock;
1 | t

= DROP SOURCE window_of_two, datums, clock;
DROP SOURCE

# INCLUDE: a column more.
> CREATE SOURCE kv FROM LOAD GENERATOR KEY VALUE (KEYS 4, PARTITIONS 2, BATCH SIZE 1, VALUE SIZE 2, SNAPSHOT ROUNDS 2, SEED 1, TRANSACTIONAL SNAPSHOT false) INCLUDE OFFSET;

? SELECT key, partition, length(value), "offset" FROM kv;
0 | 0 | 2 | 2
2 | 0 | 2 | 3
1 | 1 | 2 | 2
3 | 1 | 2 | 3

> SHOW COLUMNS FROM kv;
key | f | uint8 | 
partition | f | uint8 | 
value | f | bytea | 
offset | f | uint8 | 

> SELECT create_sql FROM (SHOW CREATE SOURCE kv);
CREATE SOURCE materialize.$schema.kv\nIN CLUSTER quickstart\nFROM LOAD GENERATOR KEY VALUE (KEYS = 4, SNAPSHOT ROUNDS = 2, TRANSACTIONAL SNAPSHOT = FALSE, VALUE SIZE = 2, SEED = 1, PARTITIONS = 2, BATCH SIZE = 1)\nINCLUDE OFFSET\nEXPOSE PROGRESS AS materialize.$schema.kv_progress;

> CREATE SOURCE kv_named (k, p, v, o) FROM LOAD GENERATOR KEY VALUE (KEYS 4, PARTITIONS 2, BATCH SIZE 1, VALUE SIZE 2, SNAPSHOT ROUNDS 2, SEED 1, TRANSACTIONAL SNAPSHOT false) INCLUDE OFFSET AS at;

> CREATE TABLE kv_plain FROM SOURCE kv;

> CREATE TABLE kv_at FROM SOURCE kv (REFERENCE key_value) INCLUDE OFFSET AS at ENVELOPE NONE;

? SELECT count(*) FROM kv JOIN kv_plain USING (key, partition, value) JOIN kv_at USING (key, partition, value) JOIN kv_named ON k = kv.key AND p = kv.partition AND v = kv.value AND o = "offset" WHERE at = "offset";
4

> SHOW COLUMNS FROM kv_plain;
key | f | uint8 | 
partition | f | uint8 | 
value | f | bytea | 

> SELECT create_sql FROM (SHOW CREATE TABLE kv_at);
CREATE TABLE materialize.$schema.kv_at\nFROM SOURCE materialize.$schema.kv (REFERENCE = mz_load_generators.key_value.key_value)\nINCLUDE OFFSET AS at\nENVELOPE NONE;

! CREATE TABLE x FROM SOURCE kv INCLUDE PARTITION;
0A000: INCLUDE PARTITION is not supported with load generator sources
HINT: There is OFFSET.

! CREATE TABLE x FROM SOURCE kv INCLUDE HEADER 'h' AS h;
0A000: INCLUDE HEADER 'h' AS h is not supported with load generator sources

! CREATE TABLE x FROM SOURCE counter INCLUDE OFFSET;
0A000: INCLUDE OFFSET is not supported with load generator sources
HINT: Leave it out.

! CREATE TABLE x FROM SOURCE kv FORMAT JSON;
0A000: FORMAT is not supported with load generator sources
HINT: Their columns have types already; leave it out.

! CREATE TABLE x FROM SOURCE kv KEY FORMAT TEXT VALUE FORMAT JSON;
0A000: FORMAT is not supported with load generator sources

! CREATE TABLE x FROM SOURCE kv ENVELOPE UPSERT;
0A000: ENVELOPE UPSERT is not supported with load generator sources

! CREATE TABLE x FROM SOURCE auction (REFERENCE bids) INCLUDE OFFSET;
0A000: INCLUDE OFFSET is not supported with multi-output load generator sources

! CREATE TABLE x FROM SOURCE kv INCLUDE OFFSET, OFFSET;
42701: column "offset" specified more than once

! CREATE TABLE x FROM SOURCE kv INCLUDE OFFSET AS key;
42701: column "key" specified more than once

! CREATE TABLE x (a, b, c) FROM SOURCE kv INCLUDE OFFSET;
42601: 3 column names were given, but the reference has 4 columns
HINT: It has key, partition, value, offset.

# Where things go: the source's schema, or the one that is named; a name of its own for the progress.
> CREATE SCHEMA $schema_other;

> CREATE SOURCE $schema_other.auction FROM LOAD GENERATOR AUCTION (UP TO 0) FOR ALL TABLES;

> SELECT name, type FROM (SHOW SOURCES FROM $schema_other);
accounts | subsource
auction | load-generator
auction_progress | progress
auctions | subsource
bids | subsource
organizations | subsource
users | subsource

> CREATE SOURCE far FROM LOAD GENERATOR COUNTER (UP TO 0) EXPOSE PROGRESS AS $schema_other.way;

> SHOW SUBSOURCES ON far;
way | progress

> CREATE TABLE taken_progress (a int);

> CREATE SOURCE taken FROM LOAD GENERATOR COUNTER (UP TO 0) ENVELOPE NONE;

> SHOW SUBSOURCES ON taken;
taken_progress_1 | progress

> CREATE SOURCE no_tables FROM LOAD GENERATOR AUCTION (UP TO 0) EXPOSE PROGRESS AS no_tables_way;

> SHOW SUBSOURCES ON no_tables;
no_tables_way | progress

> CREATE TABLE its_table FROM SOURCE no_tables (REFERENCE bids);

> SELECT count(*) FROM its_table;
0

# The schema of the progress takes the source with it.
= DROP SCHEMA $schema_other CASCADE;
DROP SCHEMA

! SELECT * FROM far;
42P01: unknown catalog item 'far'

= DROP SOURCE taken, no_tables CASCADE;
DROP SOURCE
NOTICE: drop cascades to 3 other objects

> CREATE SOURCE alone FROM LOAD GENERATOR COUNTER (UP TO 0) EXPOSE PROGRESS AS alone_way;

= DROP SOURCE alone CASCADE;
DROP SOURCE
NOTICE: drop cascades to source materialize.$schema.alone_way

= DROP TABLE taken_progress;
DROP TABLE

# All of it in one transaction, or nothing.
= BEGIN; CREATE SOURCE marketing FROM LOAD GENERATOR MARKETING (UP TO 1) FOR ALL TABLES; CREATE TABLE leads_table FROM SOURCE marketing (REFERENCE leads); COMMIT;
BEGIN
CREATE SOURCE
CREATE TABLE
COMMIT

> SELECT (SELECT count(*) FROM customers), (SELECT count(*) FROM leads), (SELECT count(*) FROM leads_table);
1000 | 0 | 0

= DROP SOURCE marketing CASCADE;
DROP SOURCE

= BEGIN; CREATE SOURCE gone FROM LOAD GENERATOR MARKETING (UP TO 1) FOR ALL TABLES; ROLLBACK;
BEGIN
CREATE SOURCE
ROLLBACK

! SHOW SUBSOURCES ON gone;
42P01: unknown catalog item 'gone'

# Options of a source and of its parts.
= ALTER SOURCE bids SET (RETAIN HISTORY FOR '2 hours');
ALTER SOURCE

> SELECT create_sql LIKE '%WITH (EXTERNAL REFERENCE = mz_load_generators.auction.bids, RETAIN HISTORY = FOR ''2 hours'');' FROM (SHOW CREATE SOURCE bids);
t

> SELECT n.name, r.value FROM mz_internal.mz_history_retention_strategies r JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = r.id WHERE n.schema_name = '$schema' AND n.name IN ('users', 'bids');
users | 1000
bids | 7200000

= ALTER SOURCE bids RESET (RETAIN HISTORY);
ALTER SOURCE

= ALTER SOURCE counter RESET (RETAIN HISTORY);
ALTER SOURCE

= ALTER SOURCE counter SET (TIMESTAMP INTERVAL '2s');
ALTER SOURCE

> SELECT create_sql FROM (SHOW CREATE SOURCE counter);
CREATE SOURCE materialize.$schema.counter (n)\nIN CLUSTER quickstart\nFROM LOAD GENERATOR COUNTER (AS OF = 4, UP TO = 5)\nEXPOSE PROGRESS AS materialize.$schema.counted\nWITH (TIMESTAMP INTERVAL = '2s');

= ALTER SOURCE counter RESET (TIMESTAMP INTERVAL);
ALTER SOURCE

! ALTER SOURCE bids SET (TIMESTAMP INTERVAL '2s');
42809: Cannot modify the TIMESTAMP INTERVAL of a SOURCE.
DETAIL: materialize.$schema.bids is a subsource of a source.

! ALTER SOURCE counted SET (TIMESTAMP INTERVAL '2s');
42809: Cannot modify the TIMESTAMP INTERVAL of a SOURCE.

! ALTER SOURCE bids REFRESH REFERENCES;
42809: bids is a subsource of a source, not a source
HINT: Name the source itself: materialize.$schema.auction

! ALTER SOURCE bids SET (RETAIN HISTORY FOR '1d', TIMESTAMP INTERVAL '1s');
42601: RETAIN HISTORY must be only option

! ALTER SOURCE auction SET CLUSTER quickstart;
0A000: ALTER SOURCE SET CLUSTER not yet supported

# Names: statements follow.
> CREATE VIEW most AS SELECT max(amount) AS most FROM bids;

> CREATE VIEW way AS SELECT a."offset" AS a, c."offset" AS c FROM auction_progress a, counted c;

= ALTER SOURCE auction RENAME TO house;
ALTER SOURCE

= ALTER SOURCE bids RENAME TO "Offers";
ALTER SOURCE

= ALTER SOURCE auction_progress RENAME TO house_way;
ALTER SOURCE

= ALTER SOURCE counter RENAME TO numbers;
ALTER SOURCE

> SELECT create_sql FROM (SHOW CREATE SOURCE house);
CREATE SOURCE materialize.$schema.house\nIN CLUSTER quickstart\nFROM LOAD GENERATOR AUCTION (AS OF = 300, UP TO = 301)\nFOR ALL TABLES\nEXPOSE PROGRESS AS materialize.$schema.house_way;

> SELECT create_sql FROM (SHOW CREATE SOURCE "Offers");
CREATE SUBSOURCE materialize.$schema."Offers" (...)\nOF SOURCE materialize.$schema.house\nWITH (EXTERNAL REFERENCE = mz_load_generators.auction.bids);

> SELECT create_sql FROM (SHOW CREATE SOURCE users);
CREATE SUBSOURCE materialize.$schema.users (...)\nOF SOURCE materialize.$schema.house\nWITH (EXTERNAL REFERENCE = mz_load_generators.auction.users);

> SELECT create_sql FROM (SHOW CREATE SOURCE house_way);
CREATE SUBSOURCE materialize.$schema.house_way ("offset" mz_catalog.uint8)\nWITH (PROGRESS = TRUE);

> SELECT create_sql FROM (SHOW CREATE TABLE bids_table);
CREATE TABLE materialize.$schema.bids_table\nFROM SOURCE materialize.$schema.house (REFERENCE = mz_load_generators.auction.bids);

> SELECT create_sql FROM (SHOW CREATE VIEW way);
CREATE VIEW materialize.$schema.way\nAS SELECT a."offset" AS a, c."offset" AS c FROM materialize.$schema.house_way a, materialize.$schema.counted c;

> SELECT create_sql FROM (SHOW CREATE TABLE counter_named);
CREATE TABLE materialize.$schema.counter_named (m)\nFROM SOURCE materialize.$schema.numbers (REFERENCE = mz_load_generators.counter.counter);

> SELECT count(*), (SELECT count(*) FROM most) FROM "Offers";
255 | 1

> SELECT count(*) FROM numbers;
5

! ALTER SOURCE users RENAME TO house;
42P07: catalog item 'house' already exists

! ALTER TABLE users RENAME TO people;
42809: users is a source not a table

! ALTER SOURCE users SWAP WITH accounts;
0A000: ALTER SOURCE .. SWAP WITH ... not yet supported

> CREATE SCHEMA $schema_blue;

> CREATE SCHEMA $schema_green;

> CREATE SOURCE $schema_blue.s FROM LOAD GENERATOR AUCTION (AS OF 300, UP TO 301) FOR ALL TABLES;

> CREATE SOURCE $schema_green.s FROM LOAD GENERATOR AUCTION (UP TO 0) FOR ALL TABLES;

> CREATE VIEW $schema_green.seen AS SELECT count(*) AS seen FROM $schema_green.bids;

> SELECT (SELECT count(*) FROM $schema_blue.bids), (SELECT count(*) FROM $schema_green.bids);
255 | 0

= ALTER SCHEMA $schema_blue SWAP WITH $schema_green;
ALTER SCHEMA

> SELECT (SELECT count(*) FROM $schema_blue.bids), (SELECT count(*) FROM $schema_green.bids), (SELECT seen FROM $schema_blue.seen);
0 | 255 | 0

> SELECT create_sql FROM (SHOW CREATE SOURCE $schema_green.s);
CREATE SOURCE materialize.$schema_green.s\nIN CLUSTER quickstart\nFROM LOAD GENERATOR AUCTION (AS OF = 300, UP TO = 301)\nFOR ALL TABLES\nEXPOSE PROGRESS AS materialize.$schema_green.s_progress;

> SELECT create_sql FROM (SHOW CREATE SOURCE $schema_green.bids);
CREATE SUBSOURCE materialize.$schema_green.bids (...)\nOF SOURCE materialize.$schema_green.s\nWITH (EXTERNAL REFERENCE = mz_load_generators.auction.bids);

= ALTER SCHEMA $schema_green RENAME TO $schema_red;
ALTER SCHEMA

> SELECT create_sql FROM (SHOW CREATE SOURCE $schema_red.users);
CREATE SUBSOURCE materialize.$schema_red.users (...)\nOF SOURCE materialize.$schema_red.s\nWITH (EXTERNAL REFERENCE = mz_load_generators.auction.users);

= DROP SCHEMA $schema_red, $schema_blue CASCADE;
DROP SCHEMA

# Clusters: the parts of a source are where it is.
> CREATE CLUSTER $schema_still (SIZE 'small', REPLICATION FACTOR 0);

> CREATE SOURCE paused IN CLUSTER $schema_still FROM LOAD GENERATOR COUNTER (AS OF 4, UP TO 5) EXPOSE PROGRESS AS paused_way;

> SHOW SOURCES IN CLUSTER $schema_still;
paused | load-generator | $schema_still | 
paused_way | progress | $schema_still | 

? SELECT s.name, s.type, s.status FROM mz_internal.mz_source_statuses s JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = s.id WHERE n.schema_name = '$schema' AND s.name = 'paused';
paused | load-generator | paused

= ALTER CLUSTER $schema_still RENAME TO $schema_halted;
ALTER CLUSTER

> SELECT create_sql FROM (SHOW CREATE SOURCE paused);
CREATE SOURCE materialize.$schema.paused\nIN CLUSTER $schema_halted\nFROM LOAD GENERATOR COUNTER (AS OF = 4, UP TO = 5)\nEXPOSE PROGRESS AS materialize.$schema.paused_way;

! DROP CLUSTER $schema_halted;
2BP01: cannot drop cluster "$schema_halted": still depended upon by source "paused"

= DROP CLUSTER $schema_halted CASCADE;
DROP CLUSTER

! SELECT * FROM paused_way;
42P01: unknown catalog item 'paused_way'

# Comments.
= COMMENT ON SOURCE house IS 'the source';
COMMENT

= COMMENT ON SOURCE house_way IS 'its progress';
COMMENT

= COMMENT ON SOURCE users IS 'a subsource';
COMMENT

= COMMENT ON COLUMN users.name IS 'a column of it';
COMMENT

= COMMENT ON COLUMN house_way."offset" IS 'how far it is';
COMMENT

! COMMENT ON TABLE users IS 'x';
42809: users is a source not a table

! COMMENT ON COLUMN house.nothing IS 'x';
42703: column "nothing" of relation "house" does not exist

> SELECT name, comment FROM (SHOW SOURCES) WHERE comment <> '';
house | the source
house_way | its progress
users | a subsource

> SELECT name, comment FROM (SHOW COLUMNS FROM users);
id | 
org_id | 
name | a column of it

> SELECT n.name, c.object_type, c.object_sub_id, c.comment FROM mz_internal.mz_comments c JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = c.id AND n.object_type = c.object_type WHERE n.schema_name = '$schema';
house | source | <null> | the source
house_way | source | <null> | its progress
house_way | source | 1 | how far it is
users | source | <null> | a subsource
users | source | 3 | a column of it

# What is refused when a source is made.
! CREATE SOURCE x FROM LOAD GENERATOR COUNTER FOR ALL TABLES;
0A000: FOR ALL TABLES is only valid for multi-output sources

! CREATE SOURCE x FROM LOAD GENERATOR AUCTION FOR TABLES (bids);
0A000: FOR TABLES (..) unsupported
HINT: Write FOR ALL TABLES.

! CREATE SOURCE x FROM LOAD GENERATOR AUCTION FOR SCHEMAS (auction);
0A000: FOR SCHEMAS (..) unsupported
HINT: Write FOR ALL TABLES.

! CREATE SOURCE x (a) FROM LOAD GENERATOR AUCTION;
42601: LOAD GENERATOR source validation: multi-output sources require a FOR TABLES (..) or FOR ALL TABLES statement
HINT: Write FOR ALL TABLES, and leave the other clauses out.

! CREATE SOURCE x FROM LOAD GENERATOR AUCTION ENVELOPE NONE;
42601: LOAD GENERATOR source validation: multi-output sources require a FOR TABLES (..) or FOR ALL TABLES statement

! CREATE SOURCE x (a, b) FROM LOAD GENERATOR COUNTER;
42601: 2 column names were given, but the reference has 1 columns
HINT: It has counter.

! CREATE SOURCE x (a, a, b) FROM LOAD GENERATOR KEY VALUE (KEYS 4, PARTITIONS 2, BATCH SIZE 2, VALUE SIZE 2, SNAPSHOT ROUNDS 1, SEED 1);
42701: column "a" specified more than once

! CREATE SOURCE x (a, PRIMARY KEY (a) NOT ENFORCED) FROM LOAD GENERATOR COUNTER;
0A000: PRIMARY KEY NOT ENFORCED for this kind of source not yet supported

! CREATE SOURCE x FROM LOAD GENERATOR COUNTER FORMAT TEXT;
0A000: FORMAT is not supported with load generator sources

! CREATE SOURCE x FROM LOAD GENERATOR COUNTER INCLUDE OFFSET;
0A000: INCLUDE OFFSET is not supported with load generator sources

! CREATE SOURCE x FROM LOAD GENERATOR COUNTER ENVELOPE UPSERT (VALUE DECODING ERRORS = INLINE);
0A000: ENVELOPE UPSERT (VALUE DECODING ERRORS = (INLINE)) is not supported with load generator sources

! CREATE SOURCE x FROM LOAD GENERATOR COUNTER (SCALE FACTOR 1) ENVELOPE NONE;
...: COUNTER load generators do not support SCALE FACTOR values

! CREATE SOURCE x FROM LOAD GENERATOR AUCTION (AS OF 5, UP TO 4) FOR ALL TABLES;
...: UP TO cannot be less than AS OF

! CREATE SOURCE x FROM LOAD GENERATOR KEY VALUE INCLUDE OFFSET;
...: LOAD GENERATOR KEY VALUE requires KEYS

! CREATE SOURCE x FROM LOAD GENERATOR KEY VALUE (KEYS 4, PARTITIONS 3, BATCH SIZE 1, VALUE SIZE 2, SNAPSHOT ROUNDS 1, SEED 1) INCLUDE OFFSET;
...: KEYS must be a multiple of PARTITIONS

! CREATE SOURCE x FROM LOAD GENERATOR KEY VALUE (KEYS 8, PARTITIONS 2, BATCH SIZE 3, VALUE SIZE 2, SNAPSHOT ROUNDS 1, SEED 1) INCLUDE OFFSET;
...: PARTITIONS * BATCH SIZE must be a divisor of KEYS

! CREATE SOURCE x FROM LOAD GENERATOR KEY VALUE (KEYS 2, PARTITIONS 1, BATCH SIZE 4, VALUE SIZE 2, SNAPSHOT ROUNDS 1, SEED 1) INCLUDE OFFSET;
...: KEYS must be larger than BATCH SIZE

! CREATE SOURCE x FROM LOAD GENERATOR KEY VALUE (KEYS 4, PARTITIONS 2, BATCH SIZE 1, VALUE SIZE 2, SNAPSHOT ROUNDS 0, SEED 1) INCLUDE OFFSET;
...: SNAPSHOT ROUNDS must be larger than 0

! CREATE SOURCE x FROM LOAD GENERATOR KEY VALUE (KEYS 0, PARTITIONS 2, BATCH SIZE 1, VALUE SIZE 2, SNAPSHOT ROUNDS 1, SEED 1) INCLUDE OFFSET;
...: KEYS must be larger than 0

! CREATE SOURCE x FROM LOAD GENERATOR KEY VALUE (KEYS 4, PARTITIONS 0, BATCH SIZE 1, VALUE SIZE 2, SNAPSHOT ROUNDS 1, SEED 1) INCLUDE OFFSET;
...: PARTITIONS must be larger than 0

! CREATE SOURCE x FROM LOAD GENERATOR KEY VALUE (KEYS 4, PARTITIONS 2, BATCH SIZE 0, VALUE SIZE 2, SNAPSHOT ROUNDS 1, SEED 1) INCLUDE OFFSET;
...: BATCH SIZE must be larger than 0

! CREATE SOURCE x FROM LOAD GENERATOR KEY VALUE (KEYS 4) INCLUDE OFFSET;
...: LOAD GENERATOR KEY VALUE requires SNAPSHOT ROUNDS

! CREATE SOURCE x FROM LOAD GENERATOR KEY VALUE (KEYS 4, PARTITIONS 2, BATCH SIZE 1, VALUE SIZE 2, SNAPSHOT ROUNDS 1) INCLUDE OFFSET;
...: LOAD GENERATOR KEY VALUE requires SEED

! CREATE SOURCE x FROM LOAD GENERATOR KEY VALUE (KEYS 4, PARTITIONS 2, BATCH SIZE 1, VALUE SIZE 2, SNAPSHOT ROUNDS 1, SEED 1, UP TO 4) INCLUDE OFFSET;
...: KEY VALUE load generators do not support UP TO values

! CREATE SOURCE x FROM LOAD GENERATOR MARKETING (MAX CARDINALITY 1) FOR ALL TABLES;
...: MARKETING load generators do not support MAX CARDINALITY values

! CREATE SOURCE x FROM LOAD GENERATOR MARKETING FOR ALL TABLES WITH (TIMESTAMP INTERVAL '1us');
22023: invalid timestamp interval of 0ms, must be in the range [...ms, ...ms]

! CREATE SOURCE x IN CLUSTER nothing FROM LOAD GENERATOR MARKETING FOR ALL TABLES;
42704: unknown cluster 'nothing'

! CREATE SOURCE x FROM LOAD GENERATOR AUCTION FOR ALL TABLES;
42P07: catalog item 'accounts' already exists

! CREATE SOURCE x FROM LOAD GENERATOR COUNTER EXPOSE PROGRESS AS users;
42P07: catalog item 'users' already exists

! CREATE SOURCE x FROM LOAD GENERATOR COUNTER EXPOSE PROGRESS AS nowhere.p;
3F000: unknown schema 'nowhere'

! CREATE SOURCE house FROM LOAD GENERATOR AUCTION FOR ALL TABLES;
42P07: source "materialize.$schema.house" already exists

# Names of one statement clash with each other as they do with others.
! CREATE SOURCE same FROM LOAD GENERATOR COUNTER EXPOSE PROGRESS AS same;
42P07: catalog item 'same' already exists

! CREATE SOURCE z FROM LOAD GENERATOR MARKETING FOR ALL TABLES EXPOSE PROGRESS AS clicks;
42P07: catalog item 'clicks' already exists

! CREATE SOURCE clicks FROM LOAD GENERATOR MARKETING FOR ALL TABLES;
42P07: catalog item 'clicks' already exists

! CREATE SOURCE z (a) FROM LOAD GENERATOR MARKETING FOR ALL TABLES;
0A000: columns cannot be named for multi-output load generator sources

! CREATE SOURCE z FROM LOAD GENERATOR MARKETING INCLUDE OFFSET FOR ALL TABLES;
0A000: ENVELOPE, FORMAT and INCLUDE are only valid for single-output sources

= CREATE SOURCE IF NOT EXISTS house FROM LOAD GENERATOR AUCTION FOR ALL TABLES;
CREATE SOURCE
NOTICE: source "house" already exists, skipping

! CREATE SUBSOURCE x (a int) OF SOURCE house WITH (EXTERNAL REFERENCE = bids);
0A000: CREATE SUBSOURCE statements are not supported
HINT: CREATE TABLE x FROM SOURCE .. (REFERENCE ..) creates a table from a source.

! CREATE SUBSOURCE x (a int) WITH (PROGRESS = true);
0A000: CREATE SUBSOURCE statements are not supported

! SHOW REFERENCES;
42601: SHOW REFERENCES needs ON and a source
HINT: SHOW REFERENCES ON a_source

! SHOW REFERENCES ON bids_table;
42809: bids_table is a table not a source

! SHOW REFERENCES ON nothing;
42P01: unknown catalog item 'nothing'

! SHOW SUBSOURCES ON bids_table;
42809: cannot show subsources on materialize.$schema.bids_table because it is a table

! SHOW SUBSOURCES FROM $schema ON house;
42601: Cannot specify both FROM and ON

! SHOW CREATE TABLE users;
42809: users is not a table

! SHOW CREATE SOURCE bids_table;
42809: bids_table is not a source

# Upstreams that are elsewhere, as far as nobody has to be asked.
> CREATE CONNECTION pg TO POSTGRES (HOST '127.0.0.1', PORT 1, DATABASE d, USER u) WITH (VALIDATE = false);

! CREATE SOURCE x FROM POSTGRES CONNECTION pg FOR ALL TABLES;
22023: POSTGRES source validation: CONNECTION must specify PUBLICATION

! CREATE SOURCE x FROM POSTGRES CONNECTION pg (PUBLICATION 'p', DETAILS = 'aa') FOR ALL TABLES;
22023: CREATE SOURCE specifies DETAILS option

! CREATE SOURCE x FROM POSTGRES CONNECTION pg (PUBLICATION 'p', TEXT COLUMNS (public.t.e));
22023: POSTGRES source validation: TEXT COLUMNS option is unnecessary when no tables are added
HINT: Write it where the table is created: CREATE TABLE .. FROM SOURCE .. WITH (TEXT COLUMNS (..))

! CREATE SOURCE x FROM POSTGRES CONNECTION pg (PUBLICATION 'p', EXCLUDE COLUMNS (t.e));
22023: POSTGRES source validation: EXCLUDE COLUMNS option is unnecessary when no tables are added

! CREATE SOURCE x FROM POSTGRES CONNECTION pg (PUBLICATION 'p') FOR ALL TABLES;
58030: error connecting to server: ...

! CREATE SOURCE x FROM POSTGRES CONNECTION nothing (PUBLICATION 'p') FOR ALL TABLES;
42704: unknown catalog item 'nothing'

! CREATE SOURCE x FROM POSTGRES CONNECTION house (PUBLICATION 'p') FOR ALL TABLES;
42809: house is a source not a connection

! CREATE SOURCE x FROM KAFKA CONNECTION nothing (TOPIC 't');
42704: unknown catalog item 'nothing'

! CREATE SOURCE x FROM KAFKA CONNECTION pg (TOPIC 't') KEY FORMAT TEXT VALUE FORMAT JSON ENVELOPE UPSERT;
42809: pg is not a KAFKA CONNECTION

! CREATE SOURCE x FROM MYSQL CONNECTION pg;
42809: pg is not a MYSQL CONNECTION

! CREATE SOURCE x FROM MYSQL CONNECTION pg (TEXT COLUMNS (d.t.e)) FOR TABLES (d.t AS t);
42809: pg is not a MYSQL CONNECTION

# Adding and dropping subsources.
! ALTER SOURCE house ADD SUBSOURCE bids;
42809: source house does not support ALTER SOURCE.
HINT: CREATE TABLE .. FROM SOURCE materialize.$schema.house (REFERENCE ..) adds a table.

! ALTER SOURCE numbers ADD SUBSOURCE counter;
42809: source numbers does not support ALTER SOURCE.
HINT: CREATE TABLE .. FROM SOURCE materialize.$schema.numbers (REFERENCE ..) adds a table.

! ALTER SOURCE users ADD TABLE bids AS x;
42809: users is a subsource of a source, not a source
HINT: Name the source itself: materialize.$schema.house

! ALTER SOURCE house_way ADD SUBSOURCE bids;
HINT: Name the source itself: materialize.$schema.house

! ALTER SOURCE bids_table ADD SUBSOURCE bids;
42809: bids_table is a table not a source

! ALTER SOURCE nothing ADD SUBSOURCE bids;
42P01: unknown catalog item 'nothing'

= ALTER SOURCE IF EXISTS nothing ADD SUBSOURCE bids;
ALTER SOURCE
NOTICE: source "nothing" does not exist, skipping

> CREATE SOURCE newer FROM LOAD GENERATOR AUCTION (UP TO 0);

> SHOW SUBSOURCES ON newer;

! ALTER SOURCE newer ADD SUBSOURCE bids;
42809: source materialize.$schema.newer has no subsources: tables are created from it
HINT: CREATE TABLE .. FROM SOURCE materialize.$schema.newer (REFERENCE ..), and DROP TABLE, do what is wanted.

! ALTER SOURCE newer DROP SUBSOURCE bids;
42809: source materialize.$schema.newer has no subsources: tables are created from it

! ALTER SOURCE house DROP SUBSOURCE "Offers";
2BP01: cannot drop source "Offers": still depended upon by view "most"
HINT: Use DROP ... CASCADE to drop the dependent objects too.

! ALTER SOURCE house DROP SUBSOURCE house_way;
2BP01: cannot drop source "house_way": still depended upon by source "house"

! ALTER SOURCE house DROP SUBSOURCE bids_table;
42809: bids_table is not a subsource of materialize.$schema.house
HINT: SHOW SUBSOURCES ON house lists them.

! ALTER SOURCE house DROP SUBSOURCE numbers;
42809: numbers is not a subsource of materialize.$schema.house

! ALTER SOURCE house DROP SUBSOURCE nothing;
42P01: unknown catalog item 'nothing'

= ALTER SOURCE house DROP SUBSOURCE IF EXISTS nothing;
ALTER SOURCE
NOTICE: source "nothing" does not exist, skipping

! ALTER SOURCE house DROP SUBSOURCE accounts, auctions, "Offers", organizations, users CASCADE;
2BP01: SOURCE materialize.$schema.house must retain at least one non-progress subsource
HINT: To drop all of it: DROP SOURCE materialize.$schema.house CASCADE

! ALTER SOURCE numbers DROP SUBSOURCE counted;
42809: source numbers does not support ALTER SOURCE.
HINT: CREATE TABLE .. FROM SOURCE materialize.$schema.numbers (REFERENCE ..) adds a table.

! ALTER SOURCE users DROP SUBSOURCE users;
42809: users is a subsource of a source, not a source

! ALTER SOURCE bids_table DROP SUBSOURCE users;
42809: bids_table is a table not a source

! ALTER SOURCE nothing DROP SUBSOURCE users;
42P01: unknown catalog item 'nothing'

= ALTER SOURCE IF EXISTS nothing DROP SUBSOURCE users;
ALTER SOURCE
NOTICE: source "nothing" does not exist, skipping

= ALTER SOURCE house DROP TABLE accounts, accounts RESTRICT;
ALTER SOURCE

= ALTER SOURCE house DROP SUBSOURCE "Offers" CASCADE;
ALTER SOURCE

! SELECT * FROM most;
42P01: unknown catalog item 'most'

> SHOW SUBSOURCES ON house;
auctions | subsource
house_way | progress
organizations | subsource
users | subsource

# The others and the tables go on.
> SELECT (SELECT count(*) FROM users), (SELECT count(*) FROM bids_table);
2000 | 255

# EXPLAIN MIGRATION: what would become of each, in order of creation.
> CREATE VIEW still AS SELECT id FROM users;

> EXPLAIN MIGRATION /* order by id */;
... | materialize.$schema.house_way | progress | materialize.$schema.house | source | CREATE SOURCE materialize.$schema.house\nIN CLUSTER quickstart\nFROM LOAD GENERATOR AUCTION (AS OF = 300, UP TO = 301); | <null>
... | materialize.$schema.house | load-generator | materialize.$schema.house_way | view | CREATE VIEW materialize.$schema.house_way\nAS SELECT "offset" FROM materialize.$schema.house; | <null>
... | materialize.$schema.auctions | subsource | materialize.$schema.auctions | table | CREATE TABLE materialize.$schema.auctions\nFROM SOURCE materialize.$schema.house (REFERENCE = mz_load_generators.auction.auctions); | <null>
... | materialize.$schema.organizations | subsource | materialize.$schema.organizations | table | CREATE TABLE materialize.$schema.organizations\nFROM SOURCE materialize.$schema.house (REFERENCE = mz_load_generators.auction.organizations); | <null>
... | materialize.$schema.users | subsource | materialize.$schema.users | table | CREATE TABLE materialize.$schema.users\nFROM SOURCE materialize.$schema.house (REFERENCE = mz_load_generators.auction.users); | <null>
... | materialize.$schema.bids_table | table | materialize.$schema.bids_table | table | CREATE TABLE materialize.$schema.bids_table\nFROM SOURCE materialize.$schema.house (REFERENCE = mz_load_generators.auction.bids); | <null>
... | materialize.$schema.bids_again | table | materialize.$schema.bids_again | table | CREATE TABLE materialize.$schema.bids_again\nFROM SOURCE materialize.$schema.house (REFERENCE = mz_load_generators.auction.bids); | <null>
... | materialize.$schema.counted | progress | materialize.$schema.counted | source | CREATE SOURCE materialize.$schema.counted\nIN CLUSTER quickstart\nFROM LOAD GENERATOR COUNTER (AS OF = 4, UP TO = 5); | <null>
... | materialize.$schema.numbers | load-generator | materialize.$schema.numbers | table | CREATE TABLE materialize.$schema.numbers (n)\nFROM SOURCE materialize.$schema.counted (REFERENCE = mz_load_generators.counter.counter); | <null>
... | materialize.$schema.counter_table | table | materialize.$schema.counter_table | table | CREATE TABLE materialize.$schema.counter_table\nFROM SOURCE materialize.$schema.counted (REFERENCE = mz_load_generators.counter.counter); | <null>
... | materialize.$schema.counter_named | table | materialize.$schema.counter_named | table | CREATE TABLE materialize.$schema.counter_named (m)\nFROM SOURCE materialize.$schema.counted (REFERENCE = mz_load_generators.counter.counter); | <null>
... | materialize.$schema.kv_progress | progress | materialize.$schema.kv_progress | source | CREATE SOURCE materialize.$schema.kv_progress\nIN CLUSTER quickstart\nFROM LOAD GENERATOR KEY VALUE (...); | <null>
... | materialize.$schema.kv | load-generator | materialize.$schema.kv | table | CREATE TABLE materialize.$schema.kv\nFROM SOURCE materialize.$schema.kv_progress (REFERENCE = mz_load_generators.key_value.key_value)\nINCLUDE OFFSET; | <null>
... | materialize.$schema.kv_named_progress | progress | materialize.$schema.kv_named_progress | source | CREATE SOURCE materialize.$schema.kv_named_progress\nIN CLUSTER quickstart\nFROM LOAD GENERATOR KEY VALUE (...); | <null>
... | materialize.$schema.kv_named | load-generator | materialize.$schema.kv_named | table | CREATE TABLE materialize.$schema.kv_named (k, p, v, o)\nFROM SOURCE materialize.$schema.kv_named_progress (REFERENCE = mz_load_generators.key_value.key_value)\nINCLUDE OFFSET AS at; | <null>
... | materialize.$schema.kv_plain | table | materialize.$schema.kv_plain | table | CREATE TABLE materialize.$schema.kv_plain\nFROM SOURCE materialize.$schema.kv_progress (REFERENCE = mz_load_generators.key_value.key_value); | <null>
... | materialize.$schema.kv_at | table | materialize.$schema.kv_at | table | CREATE TABLE materialize.$schema.kv_at\nFROM SOURCE materialize.$schema.kv_progress (REFERENCE = mz_load_generators.key_value.key_value)\nINCLUDE OFFSET AS at\nENVELOPE NONE; | <null>
... | materialize.$schema.way | view | materialize.$schema.way | view | CREATE VIEW materialize.$schema.way\nAS SELECT a."offset" AS a, c."offset" AS c FROM materialize.$schema.house_way a, materialize.$schema.counted c; | <null>

# DROP: what depends on a source stays in the way, and its progress is part of it.
> CREATE TABLE gone (id text, name text);

= INSERT INTO gone SELECT id, name FROM mz_internal.mz_object_fully_qualified_names WHERE schema_name = '$schema' AND name IN ('users', 'numbers', 'bids_table');
INSERT 0 3

! DROP SOURCE house;
2BP01: cannot drop source "house": still depended upon by source "auctions"
HINT: Use DROP ... CASCADE to drop the dependent objects too.

! DROP SOURCE house, auctions, organizations RESTRICT;
2BP01: cannot drop source "house": still depended upon by source "users"

! DROP SOURCE house_way;
2BP01: cannot drop source "house_way": still depended upon by source "house"

! DROP SOURCE users;
2BP01: cannot drop source "users": still depended upon by view "still"

! DROP TABLE users;
42809: users is a source not a table

! DROP SOURCE bids_table;
42809: bids_table is a table not a source

! DROP SOURCE numbers;
2BP01: cannot drop source "numbers": still depended upon by table "counter_table"

! DROP SOURCE counted;
2BP01: cannot drop source "counted": still depended upon by source "numbers"

= DROP SOURCE IF EXISTS nothing, organizations;
DROP SOURCE
NOTICE: source "nothing" does not exist, skipping

= DROP VIEW still;
DROP VIEW

= ALTER SOURCE house DROP SUBSOURCE auctions;
ALTER SOURCE

! ALTER SOURCE house DROP SUBSOURCE users;
2BP01: SOURCE materialize.$schema.house must retain at least one non-progress subsource

# DROP SOURCE may take the last one.
= DROP SOURCE users;
DROP SOURCE

> SELECT create_sql FROM (SHOW CREATE SOURCE house);
CREATE SOURCE materialize.$schema.house\nIN CLUSTER quickstart\nFROM LOAD GENERATOR AUCTION (AS OF = 300, UP TO = 301)\nEXPOSE PROGRESS AS materialize.$schema.house_way;

! DROP SOURCE house;
2BP01: cannot drop source "house": still depended upon by table "bids_table"

= DROP TABLE bids_table, bids_again;
DROP TABLE

# A view of the progress is in the way, too, since the progress goes with the source.
! DROP SOURCE house;
2BP01: cannot drop source "house": still depended upon by view "way"

= DROP VIEW way;
DROP VIEW

= DROP SOURCE house;
DROP SOURCE

! SELECT * FROM house_way;
42P01: unknown catalog item 'house_way'

= DROP SOURCE counted CASCADE;
DROP SOURCE

! SELECT * FROM numbers;
42P01: unknown catalog item 'numbers'

! SELECT * FROM counter_named;
42P01: unknown catalog item 'counter_named'

> SELECT name, type FROM (SHOW OBJECTS);
gone | table
kv | source
kv_at | table
kv_named | source
kv_named_progress | source
kv_plain | table
kv_progress | source
newer | source
pg | connection

= DROP SOURCE kv_named;
DROP SOURCE

= DROP SOURCE kv CASCADE;
DROP SOURCE

> EXPLAIN MIGRATION;

> SELECT count(*) FROM mz_internal.mz_source_statistics t LEFT JOIN mz_catalog.mz_objects o ON o.id = t.id WHERE o.id IS NULL;
0

? SELECT g.name, h.status FROM gone g JOIN mz_internal.mz_source_status_history h ON h.source_id = g.id WHERE h.status = 'dropped';
users | dropped
numbers | dropped
bids_table | dropped

> SELECT g.name, l.object_type FROM gone g JOIN mz_internal.mz_object_lifetimes l ON l.id = g.id WHERE l.event_type = 'drop' AND l.object_type <> 'cluster-replica';
users | source
numbers | source
bids_table | table

= DROP TABLE gone;
DROP TABLE

# Only the legacy syntax: a source without any clause of it is one of it all the same.
> CREATE TABLE newer_bids FROM SOURCE newer (REFERENCE bids);

operator= ALTER SYSTEM SET enable_create_table_from_source = off;
ALTER SYSTEM

> SELECT count(*) FROM newer_bids;
0

> SHOW enable_create_table_from_source;
off

! CREATE TABLE x FROM SOURCE newer (REFERENCE bids);
0A000: CREATE TABLE ... FROM SOURCE is not supported
HINT: ALTER SYSTEM SET enable_create_table_from_source = on allows it.

! CREATE SOURCE x FROM LOAD GENERATOR AUCTION;
42601: LOAD GENERATOR source validation: multi-output sources require a FOR TABLES (..) or FOR ALL TABLES statement
HINT: Write FOR ALL TABLES, FOR SCHEMAS (..) or FOR TABLES (..).

> CREATE SOURCE numbers FROM LOAD GENERATOR COUNTER (AS OF 4, UP TO 5);

> SELECT count(*), (SELECT "offset" FROM numbers_progress) FROM numbers;
5 | <null>

> SELECT create_sql FROM (SHOW CREATE SOURCE numbers);
CREATE SOURCE materialize.$schema.numbers\nIN CLUSTER quickstart\nFROM LOAD GENERATOR COUNTER (AS OF = 4, UP TO = 5)\nEXPOSE PROGRESS AS materialize.$schema.numbers_progress;

> CREATE SOURCE house FROM LOAD GENERATOR AUCTION (AS OF 300, UP TO 301) FOR ALL TABLES;

> SELECT count(*) FROM bids;
255

# Only the current syntax, without tables: the two flags are better not set both.
operator= ALTER SYSTEM SET force_source_table_syntax = on;
ALTER SYSTEM

> CREATE SOURCE bare FROM LOAD GENERATOR COUNTER (AS OF 4, UP TO 5);

> SELECT create_sql FROM (SHOW CREATE SOURCE bare);
CREATE SOURCE materialize.$schema.bare\nIN CLUSTER quickstart\nFROM LOAD GENERATOR COUNTER (AS OF = 4, UP TO = 5);

! CREATE TABLE x FROM SOURCE bare;
0A000: CREATE TABLE ... FROM SOURCE is not supported

! CREATE SOURCE x FROM LOAD GENERATOR COUNTER ENVELOPE NONE;
0A000: CREATE SOURCE (ENVELOPE|FORMAT|INCLUDE) not supported; use CREATE TABLE .. FROM SOURCE instead

operator= ALTER SYSTEM RESET enable_create_table_from_source;
ALTER SYSTEM

> SHOW enable_create_table_from_source;
on

# Only the current syntax: the refusal has what to write instead.
> SHOW force_source_table_syntax;
on

! CREATE SOURCE x FROM LOAD GENERATOR AUCTION (UP TO 0) FOR ALL TABLES;
0A000: FOR ALL TABLES not supported; use CREATE TABLE .. FROM SOURCE instead
HINT: Type: CREATE SOURCE x FROM LOAD GENERATOR AUCTION (UP TO = 0); CREATE TABLE t FROM SOURCE x (REFERENCE schema.t), for each that SHOW REFERENCES ON x lists

! CREATE SOURCE x FROM POSTGRES CONNECTION pg (PUBLICATION 'p') FOR SCHEMAS (public);
0A000: FOR SCHEMAS (..) not supported; use CREATE TABLE .. FROM SOURCE instead
HINT: Type: CREATE SOURCE x FROM POSTGRES CONNECTION pg (PUBLICATION = 'p'); CREATE TABLE t FROM SOURCE x (REFERENCE schema.t), for each that SHOW REFERENCES ON x lists

! CREATE SOURCE x IN CLUSTER quickstart FROM POSTGRES CONNECTION pg (PUBLICATION 'p', TEXT COLUMNS (public.t.e, u.f), EXCLUDE COLUMNS (t.x)) FOR TABLES (public.t AS t_alias, u) EXPOSE PROGRESS AS way WITH (TIMESTAMP INTERVAL '2s');
0A000: FOR TABLES (..) not supported; use CREATE TABLE .. FROM SOURCE instead
HINT: Type: CREATE SOURCE x IN CLUSTER quickstart FROM POSTGRES CONNECTION pg (PUBLICATION = 'p') WITH (TIMESTAMP INTERVAL = '2s'); CREATE TABLE t_alias FROM SOURCE x (REFERENCE = public.t) WITH (TEXT COLUMNS = (e), EXCLUDE COLUMNS = (x)); CREATE TABLE u FROM SOURCE x (REFERENCE = u) WITH (TEXT COLUMNS = (f));

! CREATE SOURCE x FROM LOAD GENERATOR COUNTER (UP TO 0) ENVELOPE NONE;
0A000: CREATE SOURCE (ENVELOPE|FORMAT|INCLUDE) not supported; use CREATE TABLE .. FROM SOURCE instead
HINT: Type: CREATE SOURCE x_source FROM LOAD GENERATOR COUNTER (UP TO = 0); CREATE TABLE x FROM SOURCE x_source ENVELOPE NONE;

! CREATE SOURCE x FROM LOAD GENERATOR KEY VALUE (KEYS 4) INCLUDE OFFSET AS o;
0A000: CREATE SOURCE (ENVELOPE|FORMAT|INCLUDE) not supported; use CREATE TABLE .. FROM SOURCE instead
HINT: Type: CREATE SOURCE x_source FROM LOAD GENERATOR KEY VALUE (KEYS = 4); CREATE TABLE x FROM SOURCE x_source INCLUDE OFFSET AS o;

! CREATE SOURCE x FROM KAFKA CONNECTION k (TOPIC 't') FORMAT JSON;
0A000: CREATE SOURCE (ENVELOPE|FORMAT|INCLUDE) not supported; use CREATE TABLE .. FROM SOURCE instead
HINT: Type: CREATE SOURCE x_source FROM KAFKA CONNECTION k (TOPIC = 't'); CREATE TABLE x FROM SOURCE x_source FORMAT JSON;

! CREATE SOURCE x FROM MYSQL CONNECTION m FOR ALL TABLES;
0A000: FOR ALL TABLES not supported; use CREATE TABLE .. FROM SOURCE instead

! CREATE SOURCE $schema.x (n) FROM LOAD GENERATOR COUNTER (UP TO 0);
0A000: columns in CREATE SOURCE not supported; use CREATE TABLE .. FROM SOURCE instead
HINT: Type: CREATE SOURCE $schema.x_source FROM LOAD GENERATOR COUNTER (UP TO = 0); CREATE TABLE $schema.x (n) FROM SOURCE $schema.x_source;

! CREATE SOURCE x FROM LOAD GENERATOR COUNTER EXPOSE PROGRESS AS way;
0A000: EXPOSE PROGRESS AS not supported; use CREATE TABLE .. FROM SOURCE instead

! CREATE SUBSOURCE x (a int) WITH (PROGRESS = true);
0A000: CREATE SUBSOURCE statements are not supported

! ALTER SOURCE house ADD SUBSOURCE auction.bids AS more;
0A000: ALTER SOURCE .. ADD SUBSOURCES .. not supported; use CREATE TABLE .. FROM SOURCE instead
HINT: CREATE TABLE more FROM SOURCE house (REFERENCE auction.bids)

= CREATE SOURCE IF NOT EXISTS house FROM LOAD GENERATOR AUCTION FOR ALL TABLES;
CREATE SOURCE
NOTICE: source "house" already exists, skipping

# What a hint says can be typed.
= CREATE SOURCE x_source FROM LOAD GENERATOR COUNTER (UP TO = 0); CREATE TABLE x (n) FROM SOURCE x_source ENVELOPE NONE;
CREATE SOURCE
CREATE TABLE

= CREATE TABLE more FROM SOURCE house (REFERENCE auction.bids);
CREATE TABLE

# What is there stays until the next start, and may go.
> SELECT (SELECT count(*) FROM more), (SELECT count(*) FROM bids);
255 | 255

= ALTER SOURCE house DROP SUBSOURCE bids;
ALTER SOURCE

operator= ALTER SYSTEM RESET force_source_table_syntax;
ALTER SYSTEM

> SHOW force_source_table_syntax;
off

! SET force_source_table_syntax = on;
55P02: parameter "force_source_table_syntax" cannot be changed by a session
HINT: ALTER SYSTEM SET force_source_table_syntax = ... changes it for the server.

operator! ALTER SYSTEM SET force_source_table_syntax = maybe;
22023: parameter "force_source_table_syntax" cannot have value "maybe"

# Either form again.
> CREATE SOURCE again FROM LOAD GENERATOR COUNTER (AS OF 4, UP TO 5) ENVELOPE NONE;

> SELECT count(*) FROM again;
5

# What other versions of the dialect had is refused by its name.
! CREATE SOURCE x FROM FILE '/tmp/rows' FORMAT TEXT;
0A000: FILE sources not supported

! TAIL auction;
0A000: TAIL not supported, its name is SUBSCRIBE

! ALTER SOURCE again SET (PUBLICATION 'other');
0A000: ALTER SOURCE ... SET (PUBLICATION ...) not yet supported
HINT: Make a source with the other publication and tables from it, then swap the tables.
