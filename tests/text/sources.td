# Load generators: exact contents, many tables per reference, references, options, statuses.

> CREATE SOURCE auction FROM LOAD GENERATOR AUCTION (AS OF 300, UP TO 301);

> CREATE TABLE organizations FROM SOURCE auction (REFERENCE organizations);

> CREATE TABLE bids FROM SOURCE auction (REFERENCE auction.bids);

> CREATE TABLE bids_again FROM SOURCE auction (REFERENCE mz_load_generators.auction.bids);

> CREATE TABLE auctions FROM SOURCE auction (REFERENCE "auctions");

# A read waits until there is something to read.
> SELECT count(*) FROM bids;
255

> SELECT count(*), min(id), max(id) FROM auctions;
45 | 1 | 45

> SELECT count(*) FROM bids a JOIN bids_again b USING (id, buyer, auction_id, amount, bid_time);
255

> SELECT count(*) FROM bids b LEFT JOIN auctions a ON a.id = b.auction_id WHERE a.id IS NULL;
0

> CREATE SOURCE counter FROM LOAD GENERATOR COUNTER (AS OF 4, UP TO 5);

> CREATE TABLE counter_table FROM SOURCE counter;

> SELECT * FROM counter_table;
1
2
3
4
5

> CREATE TABLE renamed (n) FROM SOURCE counter (REFERENCE counter);

> SELECT n FROM renamed WHERE n > 3;
4
5

> SHOW COLUMNS FROM renamed;
n | f | bigint | 

> CREATE SOURCE tpch FROM LOAD GENERATOR TPCH (SCALE FACTOR 0.01);

> BEGIN; CREATE TABLE supplier FROM SOURCE tpch (REFERENCE supplier); CREATE TABLE part FROM SOURCE tpch (REFERENCE part); CREATE TABLE customer FROM SOURCE tpch (REFERENCE customer); CREATE TABLE orders FROM SOURCE tpch (REFERENCE orders); CREATE TABLE nation FROM SOURCE tpch (REFERENCE nation); CREATE TABLE region FROM SOURCE tpch (REFERENCE region); CREATE TABLE partsupp FROM SOURCE tpch (REFERENCE partsupp); COMMIT;

> SELECT (SELECT count(*) FROM supplier), (SELECT count(*) FROM part), (SELECT count(*) FROM customer), (SELECT count(*) FROM orders), (SELECT count(*) FROM nation), (SELECT count(*) FROM region), (SELECT count(*) FROM partsupp);
100 | 2000 | 1500 | 15000 | 25 | 5 | 8000

> SELECT count(*) FROM customer c JOIN nation n ON c.c_nationkey = n.n_nationkey JOIN region r ON n.n_regionkey = r.r_regionkey;
1500

# A source is its progress; one that has ended has none left to make.
> SELECT * FROM counter;
<null>

> SHOW COLUMNS FROM counter;
offset | t | uint8 | 

> CREATE SOURCE running FROM LOAD GENERATOR COUNTER (TICK INTERVAL '50ms');

? SELECT "offset" > 3 FROM running;
t

# What may be read from a source.
> SELECT r.name, r.namespace, r.columns FROM mz_internal.mz_source_references r JOIN mz_catalog.mz_sources s ON s.id = r.source_id WHERE s.name = 'auction' AND s.create_sql LIKE '%$schema%' AND r.name IN ('bids', 'users');
bids | auction | {id,buyer,auction_id,amount,bid_time}
users | auction | {id,org_id,name}

> SHOW TABLES ON auction;
auctions | 
bids | 
bids_again | 
organizations | 

> SELECT namespace, name, columns FROM (SHOW REFERENCES ON auction LIKE '%s') WHERE name <> 'organizations';
auction | accounts | {id,org_id,balance}
auction | auctions | {id,seller,item,end_time}
auction | bids | {id,buyer,auction_id,amount,bid_time}
auction | users | {id,org_id,name}

# Subsources are of the legacy syntax.
> SHOW SUBSOURCES;

> SHOW SUBSOURCES ON auction;

> SHOW SOURCES;
auction | load-generator | quickstart | 
counter | load-generator | quickstart | 
running | load-generator | quickstart | 
tpch | load-generator | quickstart | 

> SELECT create_sql FROM (SHOW CREATE SOURCE auction);
CREATE SOURCE materialize.$schema.auction\nIN CLUSTER quickstart\nFROM LOAD GENERATOR AUCTION (AS OF = 300, UP TO = 301);

> SELECT create_sql FROM (SHOW CREATE TABLE renamed);
CREATE TABLE materialize.$schema.renamed (n)\nFROM SOURCE materialize.$schema.counter (REFERENCE = mz_load_generators.counter.counter);

# Errors.
! CREATE TABLE x FROM SOURCE auction (REFERENCE nothing);
42P01: reference to nothing not found in source
POSITION: 47

! CREATE TABLE x FROM SOURCE auction (REFERENCE bid);
HINT: Did you mean "bids"?...

! CREATE TABLE x FROM SOURCE auction;
42P09: reference  is ambiguous, consider specifying an additional layer of qualification

! CREATE TABLE x (a, b) FROM SOURCE auction (REFERENCE bids);
0A000: columns cannot be named for multi-output load generator sources

! CREATE TABLE x (a, b) FROM SOURCE counter;
42601: 2 column names were given, but the reference has 1 columns

! CREATE TABLE x (a int) FROM SOURCE counter;
...: CREATE TABLE .. FROM SOURCE column definitions cannot be specified directly

! CREATE TABLE x (a, b int) FROM SOURCE counter;
...: cannot mix column definitions and column names

! CREATE TABLE x (PRIMARY KEY (a)) FROM SOURCE counter;
...: CREATE TABLE .. FROM SOURCE constraint definitions cannot be specified directly

! CREATE TEMPORARY TABLE x FROM SOURCE counter;
...: temporary tables FROM SOURCE are not supported

! CREATE TABLE x FROM SOURCE counter WITH (DETAILS = 'aa');
...: DETAILS option cannot be explicitly set

! CREATE TABLE x FROM SOURCE nothing;
42P01: unknown catalog item 'nothing'

! INSERT INTO bids VALUES (1);
42809: cannot insert into non-writeable table 'materialize.$schema.bids'

! COPY bids FROM STDIN;
42809: cannot insert into non-writeable table 'materialize.$schema.bids'

! UPDATE bids SET amount = 1;
42809: cannot mutate non-writeable table 'materialize.$schema.bids'

! DELETE FROM bids;
42809: cannot mutate non-writeable table 'materialize.$schema.bids'

! INSERT INTO auction VALUES (1);
42809: cannot insert into source 'materialize.$schema.auction'

! CREATE SOURCE x FROM LOAD GENERATOR COUNTER (SCALE FACTOR 1);
...: COUNTER load generators do not support SCALE FACTOR values

! CREATE SOURCE x FROM LOAD GENERATOR AUCTION (MAX CARDINALITY 1);
...: AUCTION load generators do not support MAX CARDINALITY values

! CREATE SOURCE x FROM LOAD GENERATOR AUCTION (AS OF 5, UP TO 4);
...: UP TO cannot be less than AS OF

! CREATE SOURCE x FROM LOAD GENERATOR KEY VALUE;
...: LOAD GENERATOR KEY VALUE requires KEYS

! CREATE SOURCE x FROM LOAD GENERATOR AUCTION (UP TO 1, UP TO 2);
42601: UP TO specified more than once

! CREATE SOURCE x FROM LOAD GENERATOR NONSENSE;
42601: Expected one of ...

! CREATE SOURCE x FROM LOAD GENERATOR AUCTION FOR TABLES (bids);
0A000: FOR TABLES (..) unsupported

! CREATE SOURCE x FROM LOAD GENERATOR COUNTER FOR ALL TABLES;
0A000: FOR ALL TABLES is only valid for multi-output sources

! CREATE SOURCE x FROM LOAD GENERATOR COUNTER WITH (TIMESTAMP INTERVAL '1us');
22023: invalid timestamp interval of 0ms, must be in the range [...ms, ...ms]

! CREATE SOURCE x FROM POSTGRES CONNECTION c (PUBLICATION 'p');
42704: unknown catalog item 'c'

! CREATE SOURCE x IN CLUSTER nothing FROM LOAD GENERATOR COUNTER;
42704: unknown cluster 'nothing'

# Statuses, statistics, frontiers, hydration.
? SELECT s.name, s.type, s.status, s.error FROM mz_internal.mz_source_statuses s JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = s.id WHERE n.schema_name = '$schema' AND s.name IN ('running', 'bids', 'auction');
running | load-generator | running | <null>
bids | table | running | <null>
auction | load-generator | running | <null>

? SELECT n.name, t.messages_received, t.bytes_received > 0, t.updates_committed, t.snapshot_committed FROM mz_internal.mz_source_statistics t JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = t.id WHERE n.schema_name = '$schema' AND n.name IN ('bids', 'counter_table', 'counter');
bids | 255 | t | 255 | t
counter_table | 5 | t | 5 | t
counter | 5 | t | 10 | t

? SELECT t.offset_known > 3, t.offset_known >= t.offset_committed FROM mz_internal.mz_source_statistics t JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = t.id WHERE n.schema_name = '$schema' AND n.name = 'running';
t | t

> SELECT n.name, f.read_frontier > 0, f.write_frontier IS NULL FROM mz_internal.mz_frontiers f JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = f.object_id WHERE n.schema_name = '$schema' AND n.name IN ('counter', 'counter_table', 'running');
counter | t | t
counter_table | t | t
running | t | f

# Sources tick at the beginning of an interval, all at the same timestamps.
? SELECT f.write_frontier::text::bigint % 1000 FROM mz_internal.mz_frontiers f JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = f.object_id WHERE n.schema_name = '$schema' AND n.name = 'running';
1

> SELECT n.name, h.hydrated FROM mz_internal.mz_hydration_statuses h JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = h.object_id WHERE n.schema_name = '$schema' AND n.name IN ('bids', 'region');
bids | t
region | t

> SELECT a.name, b.name FROM mz_internal.mz_object_dependencies d JOIN mz_internal.mz_object_fully_qualified_names a ON a.id = d.object_id JOIN mz_catalog.mz_objects b ON b.id = d.referenced_object_id WHERE a.schema_name = '$schema' AND a.name = 'renamed';
renamed | counter

> SELECT t.name, s.name FROM mz_catalog.mz_tables t JOIN mz_catalog.mz_sources s ON s.id = t.source_id WHERE t.create_sql LIKE '%.$schema.%' AND t.name = 'renamed';
renamed | counter

# Dropping one table leaves the others; dropping the source takes its history, not its statuses' history.
> DROP TABLE bids_again;

> SELECT count(*) FROM bids;
255

> DROP SOURCE counter CASCADE;

> SELECT count(*) FROM mz_internal.mz_source_references r LEFT JOIN mz_catalog.mz_sources s ON s.id = r.source_id WHERE s.id IS NULL;
0

! SELECT * FROM renamed;
42P01: unknown catalog item 'renamed'

? SELECT count(*) > 1 FROM mz_internal.mz_source_status_history h JOIN mz_internal.mz_object_history o ON o.id = h.source_id WHERE h.status = 'dropped' AND o.dropped_at > now() - interval '5 minutes';
t

> SELECT count(*) FROM mz_internal.mz_source_statistics t LEFT JOIN mz_catalog.mz_objects o ON o.id = t.id WHERE o.id IS NULL;
0

# What exists at once is told at the offset AS OF: an upstream that ends there has told nothing.
> CREATE SOURCE nothing_told FROM LOAD GENERATOR COUNTER (AS OF 5, UP TO 5);

> CREATE TABLE nothing_told_table FROM SOURCE nothing_told;

> SELECT count(*) FROM nothing_told_table;
0

> SELECT create_sql FROM (SHOW CREATE SOURCE nothing_told);
CREATE SOURCE materialize.$schema.nothing_told\nIN CLUSTER quickstart\nFROM LOAD GENERATOR COUNTER (AS OF = 5, UP TO = 5);
