# Connections: options, what they depend on, renames, ALTER, DROP. Nobody listens on port 1.

> CREATE SECRET pgpass AS 'hunter2';

> CREATE SECRET key AS 'a key';

= CREATE CONNECTION pg TO POSTGRES (HOST 'db.example', PORT 5433, DATABASE postgres, USER 'u', PASSWORD SECRET pgpass) WITH (VALIDATE = false);
CREATE CONNECTION

> SHOW CREATE CONNECTION pg;
materialize.$schema.pg | CREATE CONNECTION materialize.$schema.pg\nTO POSTGRES (HOST = 'db.example', PORT = 5433, DATABASE = 'postgres', USER = 'u', PASSWORD = SECRET materialize.$schema.pgpass);

> SHOW REDACTED CREATE CONNECTION pg;
materialize.$schema.pg | CREATE CONNECTION materialize.$schema.pg\nTO POSTGRES (HOST = '<REDACTED>', PORT = '<REDACTED>', DATABASE = '<REDACTED>', USER = '<REDACTED>', PASSWORD = SECRET materialize.$schema.pgpass);

# The historical form; a password that is written out is not shown.
= CREATE CONNECTION old FOR POSTGRES HOST 'db.example', DATABASE = d, USER u, PASSWORD 'hunter2' WITH (VALIDATE false);
CREATE CONNECTION
WARNING: the password is kept in the catalog as it is written

> SELECT create_sql FROM (SHOW CREATE CONNECTION old);
CREATE CONNECTION materialize.$schema.old\nTO POSTGRES (HOST = 'db.example', DATABASE = 'd', USER = 'u', PASSWORD = '********');

> SHOW CONNECTIONS;
old | postgres | 
pg | postgres | 

> SHOW CONNECTIONS FROM $schema LIKE 'p%';
pg | postgres | 

> SHOW CONNECTIONS WHERE type = 'kafka';

# Names.
! CREATE CONNECTION pg TO POSTGRES (HOST h, DATABASE d, USER u);
42710: catalog item 'pg' already exists

= CREATE CONNECTION IF NOT EXISTS pg TO POSTGRES (HOST h, DATABASE d, USER u);
CREATE CONNECTION
NOTICE: connection "pg" already exists, skipping

! CREATE CONNECTION pgpass TO POSTGRES (HOST h, DATABASE d, USER u) WITH (VALIDATE = false);
42710: catalog item 'pgpass' already exists

# Options.
! CREATE CONNECTION c TO POSTGRES (DATABASE d, USER u);
22023: HOST option is required

! CREATE CONNECTION c TO POSTGRES (HOST h, USER u);
22023: DATABASE option is required

! CREATE CONNECTION c TO POSTGRES (HOST h, DATABASE d);
22023: USER option is required

! CREATE CONNECTION c TO POSTGRES (HOST h, HOST i, DATABASE d, USER u);
42601: HOST specified more than once
POSITION: 42

! CREATE CONNECTION c TO POSTGRES (HOST h, DATABASE d, USER u, SSL MODE 'sometimes');
22023: invalid CONNECTION: unknown SSL MODE "sometimes"
HINT: It is one of disable, require, verify-ca, verify-full.

! CREATE CONNECTION c TO POSTGRES (HOST h, DATABASE d, USER u, SSL KEY SECRET key);
22023: invalid CONNECTION: both SSL KEY and SSL CERTIFICATE are required

! CREATE CONNECTION c TO POSTGRES (HOST h, DATABASE d, USER u, SSL CERTIFICATE 'x');
22023: invalid CONNECTION: both SSL KEY and SSL CERTIFICATE are required

! CREATE CONNECTION c TO POSTGRES (HOST h, DATABASE d, USER u, SSL MODE verify_ca);
22023: invalid CONNECTION: SSL MODE verify-ca requires SSL CERTIFICATE AUTHORITY

! CREATE CONNECTION c TO POSTGRES (HOST h, DATABASE d, USER u, SSL CERTIFICATE 'x', SSL KEY 'hunter2');
22023: SSL KEY must be a secret

! CREATE CONNECTION c TO POSTGRES (HOST h, DATABASE d, USER u, PORT 70000);
22023: PORT must be a number from 1 to 65535

! CREATE CONNECTION c TO POSTGRES (HOST, DATABASE d, USER u);
22023: HOST must be a string

! CREATE CONNECTION c TO POSTGRES (HOST SECRET key, DATABASE d, USER u);
22023: HOST must be a string

! CREATE CONNECTION c TO POSTGRES (HOST h, DATABASE d, USER u, BROKER 'b:9092');
22023: POSTGRES connections do not support BROKER values

! CREATE CONNECTION c TO POSTGRES (HOST h, DATABASE d, USER u, SSH TUNNEL t);
0A000: POSTGRES connections with SSH TUNNEL not yet supported

! CREATE CONNECTION c TO POSTGRES (FROB h);
42601: Expected one of HOST or PORT or DATABASE or USER or PASSWORD or SSL or BROKER or BROKERS or SECURITY or SASL or PROGRESS or URL, found identifier "frob"

! CREATE CONNECTION c TO POSTGRES (HOST h, DATABASE d, USER u, PASSWORD SECRET nothing);
42704: unknown catalog item 'nothing'

! CREATE CONNECTION c TO POSTGRES (HOST h, DATABASE d, USER u, PASSWORD SECRET pg);
42809: pg is a connection not a secret

# Kinds that are known by name.
! CREATE CONNECTION c TO SQL SERVER (HOST h);
0A000: SQL SERVER connections not yet supported

! CREATE CONNECTION c TO SSH TUNNEL (HOST h);
0A000: SSH TUNNEL connections not yet supported

! CREATE CONNECTION c TO AWS PRIVATELINK (SERVICE NAME 's');
0A000: AWS PRIVATELINK connections not yet supported

! CREATE CONNECTION c TO ORACLE (HOST h);
42601: Expected one of POSTGRES or KAFKA or CONFLUENT or MYSQL or SQL or AWS or SSH or GCP or ICEBERG, found identifier "oracle"

# Brokers and registries.
! CREATE CONNECTION c TO KAFKA (SECURITY PROTOCOL PLAINTEXT);
22023: invalid CONNECTION: must set one of BROKER, BROKERS, or AWS PRIVATELINK

! CREATE CONNECTION c TO KAFKA (BROKER 'a:1', BROKERS ('b:1'));
22023: invalid CONNECTION: can only set one of BROKER, BROKERS, or AWS PRIVATELINK

! CREATE CONNECTION c TO KAFKA (BROKER 'a:1,b:1');
22023: invalid CONNECTION: cannot specify multiple Kafka broker addresses in one string
HINT: BROKERS ('a:9092', 'b:9092')

! CREATE CONNECTION c TO KAFKA (BROKER 'a:1', SECURITY PROTOCOL 'SSH');
22023: invalid CONNECTION: unknown security protocol: SSH
HINT: It is one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL.

! CREATE CONNECTION c TO KAFKA (BROKER 'a:1', SASL USERNAME 'u');
22023: invalid CONNECTION: SASL MECHANISMS must be specified

! CREATE CONNECTION c TO CONFLUENT SCHEMA REGISTRY (USER 'u');
22023: invalid CONNECTION: must specify URL

! CREATE CONNECTION c TO CONFLUENT SCHEMA REGISTRY (URL 'http://h/path');
22023: invalid CONNECTION: URL must have an empty path
HINT: Write http://host:port.

# Validation: nothing is made when it fails.
! CREATE CONNECTION c TO POSTGRES (HOST '127.0.0.1', PORT 1, DATABASE d, USER u);
58000: error connecting to server: Connection refused
DETAIL: The connection is to "127.0.0.1:1", database "d", as user "u".
HINT: Check HOST and PORT, and that the server listens there (listen_addresses).

! CREATE CONNECTION c TO POSTGRES (HOST 'nowhere.invalid', DATABASE d, USER u) WITH (VALIDATE);
58000: failed to lookup address information: ...

! VALIDATE CONNECTION c;
42704: unknown catalog item 'c'

! VALIDATE CONNECTION pgpass;
42809: pgpass is a secret not a connection

> CREATE CONNECTION unreachable TO POSTGRES (HOST '127.0.0.1', PORT 1, DATABASE d, USER u) WITH (VALIDATE = false);

! VALIDATE CONNECTION unreachable;
58000: error connecting to server: Connection refused

> DROP CONNECTION unreachable;

# ALTER.
= ALTER CONNECTION pg SET (PORT 5434), SET (SSL MODE require), DROP (PASSWORD) WITH (VALIDATE = false);
ALTER CONNECTION

> SELECT create_sql FROM (SHOW CREATE CONNECTION pg);
CREATE CONNECTION materialize.$schema.pg\nTO POSTGRES (HOST = 'db.example', PORT = 5434, DATABASE = 'postgres', USER = 'u', SSL MODE = 'require');

= ALTER CONNECTION pg RESET (PORT, SSL MODE), SET (PASSWORD SECRET pgpass) WITH (VALIDATE = false);
ALTER CONNECTION

> SELECT create_sql FROM (SHOW CREATE CONNECTION pg);
CREATE CONNECTION materialize.$schema.pg\nTO POSTGRES (HOST = 'db.example', DATABASE = 'postgres', USER = 'u', PASSWORD = SECRET materialize.$schema.pgpass);

= ALTER CONNECTION old SET (HOST 'other.example') WITH (VALIDATE = false);
ALTER CONNECTION
WARNING: the password is kept in the catalog as it is written

> SELECT create_sql FROM (SHOW CREATE CONNECTION old);
CREATE CONNECTION materialize.$schema.old\nTO POSTGRES (HOST = 'other.example', DATABASE = 'd', USER = 'u', PASSWORD = '********');

! ALTER CONNECTION pg SET (HOST '127.0.0.1', PORT 1);
58000: error connecting to server: Connection refused

! ALTER CONNECTION pg DROP (HOST) WITH (VALIDATE = false);
22023: HOST option is required

! ALTER CONNECTION pg SET (PORT 1), DROP (PORT);
42601: cannot both SET and DROP/RESET options PORT

! ALTER CONNECTION pg SET (PORT 1), SET (PORT 2);
42601: PORT specified more than once

! ALTER CONNECTION pg SET (TOPIC 'x');
42601: ...

! ALTER CONNECTION pg SET (BROKERS ('a:1', 'b:2')) WITH (VALIDATE = false);
22023: POSTGRES connections do not support BROKERS values

! ALTER CONNECTION pg ROTATE KEYS;
0A000: ALTER CONNECTION ... ROTATE KEYS not yet supported

= ALTER CONNECTION pg OWNER TO materialize;
ALTER CONNECTION

! ALTER CONNECTION nothing SET (PORT 1);
42704: unknown catalog item 'nothing'

! ALTER CONNECTION pgpass SET (PORT 1);
42809: pgpass is a secret not a connection

= ALTER CONNECTION IF EXISTS nothing SET (PORT 1);
ALTER CONNECTION
NOTICE: connection "nothing" does not exist, skipping

> SELECT create_sql FROM (SHOW CREATE CONNECTION pg);
CREATE CONNECTION materialize.$schema.pg\nTO POSTGRES (HOST = 'db.example', DATABASE = 'postgres', USER = 'u', PASSWORD = SECRET materialize.$schema.pgpass);

# Names follow.
= ALTER SECRET pgpass RENAME TO "Pg Pass";
ALTER SECRET

= ALTER CONNECTION pg RENAME TO warehouse;
ALTER CONNECTION

> SELECT create_sql FROM (SHOW CREATE CONNECTION warehouse);
CREATE CONNECTION materialize.$schema.warehouse\nTO POSTGRES (HOST = 'db.example', DATABASE = 'postgres', USER = 'u', PASSWORD = SECRET materialize.$schema."Pg Pass");

= COMMENT ON CONNECTION warehouse IS 'the big one';
COMMENT

> SHOW CONNECTIONS;
old | postgres | 
warehouse | postgres | the big one

# A connection is no relation.
! SELECT * FROM warehouse;
42809: catalog item 'materialize.$schema.warehouse' is a connection and so cannot be depended upon

! SHOW COLUMNS FROM warehouse;
42809: materialize.$schema.warehouse is a connection and so does not have columns

! SUBSCRIBE warehouse;
42809: 'materialize.$schema.warehouse' cannot be subscribed to because it is a connection

# What the catalog shows.
> SELECT c.name, c.type, o.type, c.create_sql LIKE '%hunter%', c.redacted_create_sql LIKE '%example%' FROM mz_catalog.mz_connections c JOIN mz_catalog.mz_objects o USING (id) JOIN mz_catalog.mz_schemas s ON s.id = c.schema_id WHERE s.name = '$schema';
old | postgres | connection | f | f
warehouse | postgres | connection | f | f

> SELECT o.name, r.name FROM mz_internal.mz_object_dependencies d JOIN mz_catalog.mz_objects o ON o.id = d.object_id JOIN mz_catalog.mz_objects r ON r.id = d.referenced_object_id JOIN mz_catalog.mz_schemas s ON s.id = o.schema_id WHERE s.name = '$schema';
warehouse | Pg Pass

> SELECT o.name, o.type FROM (SHOW OBJECTS) AS o;
Pg Pass | secret
key | secret
old | connection
warehouse | connection

# Drop.
! DROP SECRET "Pg Pass";
2BP01: cannot drop secret "Pg Pass": still depended upon by connection "warehouse"
HINT: Use DROP ... CASCADE to drop the dependent objects too.

= DROP SECRET key;
DROP SECRET

! DROP CONNECTION "Pg Pass";
42809: Pg Pass is a secret not a connection

= DROP CONNECTION IF EXISTS nothing, old;
DROP CONNECTION
NOTICE: connection "nothing" does not exist, skipping

= DROP SECRET "Pg Pass" CASCADE;
DROP SECRET

> SHOW OBJECTS;

# A socket of the machine is reached as the server's own user: only if the operator has allowed it.
! CREATE CONNECTION peer TO POSTGRES (HOST '/var/run/postgresql', DATABASE d, USER u) WITH (VALIDATE = false);
42501: connections to Unix sockets are not allowed
DETAIL: HOST is "/var/run/postgresql". The upstream would take us for the server's own user.
HINT: Set HOST to a name or an address that the upstream listens on. The operator can allow sockets: ALTER SYSTEM SET enable_unix_socket_connections = on.

! CREATE CONNECTION peer TO POSTGRES (HOST 'db.example,@abstract', DATABASE d, USER u) WITH (VALIDATE = false);
42501: connections to Unix sockets are not allowed

! CREATE CONNECTION peer TO POSTGRES (HOST 'db.example,', DATABASE d, USER u) WITH (VALIDATE = false);
42501: connections to Unix sockets are not allowed

= CREATE CONNECTION peer TO POSTGRES (HOST 'db.example', DATABASE d, USER u) WITH (VALIDATE = false);
CREATE CONNECTION

! ALTER CONNECTION peer SET (HOST '/tmp') WITH (VALIDATE = false);
42501: connections to Unix sockets are not allowed

operator= ALTER SYSTEM SET enable_unix_socket_connections = on;
ALTER SYSTEM

= ALTER CONNECTION peer SET (HOST '/tmp/no/such/folder') WITH (VALIDATE = false);
ALTER CONNECTION

operator= ALTER SYSTEM RESET enable_unix_socket_connections;
ALTER SYSTEM

! VALIDATE CONNECTION peer;
42501: connections to Unix sockets are not allowed

! CREATE SOURCE s FROM POSTGRES CONNECTION peer (PUBLICATION 'p');
42501: connections to Unix sockets are not allowed
