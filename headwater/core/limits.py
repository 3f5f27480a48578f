"""Every bound in the product, named with its unit last.

A queue, batch, retry or wait without a line in here does not exist.
"""

from __future__ import annotations

# Ticks
TICK_INTERVAL_MS_DEFAULT = 1_000
TICK_INTERVAL_MS_MIN = 100
TICK_INTERVAL_MS_MAX = 3_600_000
TICK_ROWS_MAX = 1_000_000
"""A tick reads at most about this many changes; a range is cut only at a transaction's end."""
TICK_TASKS_MAX = 8
TICK_PART_HELD_BYTES_MAX = 128 * 1024 * 1024
"""A part of a tick writes its changes to files when it holds about so much of them."""
RETRY_DELAY_S_MIN = 0.25
RETRY_DELAY_S_MAX = 5.0
DOUBTFUL_TRIES = 5
"""So often in a row an error that nobody foresaw has to come until it ends its table."""
VALUES_UNFORESEEN_MAX = 16
"""At so many values of a column in a batch a conversion may fail as nobody foresaw, and they are to blame; at
more, it is the table."""
DEFECTS_TOLD_MAX = 4
"""Of errors in one piece of work that nobody foresaw, how many the log tells where they came about."""
REFERENCE_CHECK_S = 15.0
"""How often a source looks whether the references of its tables are still what they were."""

# Fold: bring a table's state up to date when its tail has become long.  Cost of a fold is
# proportional to state + tail, cost of a read grows with the tail's files.
FOLD_TAIL_FILES_MAX = 30
"""Fold when a tail has this many files,"""
FOLD_TAIL_BYTES_MAX = 64 * 1024 * 1024
"""or this many bytes, provided that the tail is at least"""
FOLD_TAIL_STATE_RATIO_MIN = 0.05
"""this share of the state's rows; a smaller tail waits until it has"""
FOLD_TAIL_FILES_HARD_MAX = 120
"""this many files."""
FOLD_SMALL_FILE_BYTES = 4 * 1024 * 1024
"""Appended tables: files below this are rewritten together, larger ones are taken as they are."""
FOLD_BUCKET_BYTES = 128 * 1024 * 1024
"""A fold of more bytes than this is split into buckets, one task each,"""
FOLD_BUCKET_WEIGHT_BYTES = 512 * 1024 * 1024
"""and so is one of rows that take more than this in memory, unless they only pass through."""
FOLD_TASK_MEMORY_BYTES = 1024 * 1024 * 1024
FOLD_CHECK_S_MAX = 5.0
"""Tails are looked at after ticks, and at least this often for plain tables."""
FOLD_RETRY_DELAY_S_MAX = 60.0
"""A table that could not be folded is tried again after a while, at most this long."""

# Sessions
ADVISORY_LOCKS_MAX = 10_000
NAME_BYTES_MAX = 63
"""What the type `name` holds, as in PostgreSQL; objects here may have longer names."""

# Backfill
VERIFY_ROUNDS_MAX = 5
"""How often rows that change while a table is verified are compared again."""
VERIFY_COVER_S_MAX = 60.0
"""How long a verification waits for a source to reach what a snapshot shows."""
VERIFY_ROWS_MAX = 1_000
"""Rows that differ are shown up to this many."""
LOST_ROWS_SHOWN_MAX = 10
"""So many rows at most are looked at to say why a table cannot have more columns."""
SNAPSHOT_GROUP_CHUNKS_MAX = 32
"""Chunks of small tables are read together, up to so many by one task."""
DELTA_COMMITS_CONCURRENT_MAX = 4
"""New tables are made Delta tables by so many threads: most of it is waiting for the disk."""
SNAPSHOT_OFFER_S_MAX = 30.0
"""How long a prepared snapshot waits for its source to come between two ticks."""
WIDENING_LINGER_S = 10.0
"""How long a collection that a wider one has replaced stays, for statements that were under way."""
COVER_CHECK_S = 0.05
"""How often a finished snapshot looks whether its source has covered the snapshot's point."""
SNAPSHOT_CHUNK_ROWS = 1_000_000
BACKFILL_NICENESS = 10
"""How far backfills stand behind ticks and reads for a processor, as of nice(1)."""

# Retention
RETAIN_HISTORY_MS_DEFAULT = 1_000
SWEEP_INTERVAL_S = 60.0
COMPACTION_CHECK_S = 0.5
ORPHAN_CHECK_S = 5.0
"""How often is looked for what the ledger has of things that the catalog does not know any more,
and how often refusals are made durable."""
STATUS_HISTORY_ENTRIES_MAX = 20
STATUS_HISTORY_DROPPED_MAX = 1_000
"""Objects that are gone whose history of statuses is still shown."""
REPLICA_HISTORY_ENTRIES_MAX = 1_000
LAG_SAMPLE_S = 60.0
"""How often it is kept how far objects are behind the clock,"""
STORAGE_USAGE_SAMPLE_S = 3_600.0
"""and how much their files take;"""
SAMPLES_S_MAX = 30 * 86_400.0
"""for so long"""
SAMPLES_MAX = 100_000
"""and up to so many of each kind: 70 objects for a day, as a query of them is answered from memory."""

# Files
ROW_GROUP_BYTES_MAX = 32 * 1024 * 1024
"""Rows of a file that are read at once have no more bytes than this in memory, unless one row has."""

# Reads
SMALL_READ_BYTES_MAX = 256 * 1024 * 1024
REGEX_S_MAX = 1.0
"""A regular expression may take this long with one text; some would take years."""
REGEX_SEARCH_S_MAX = 0.3
"""One search of it may take this long: meanwhile nobody can stop it."""
REGEX_QUICK_CHARACTERS_MAX = 1_000
"""With texts up to this long an expression of one repetition takes milliseconds, and need not be watched."""
KERNEL_VALUE_BYTES_MAX = 64 * 1024 * 1024
"""The longest value that a function of ours takes or makes: a call for one such value holds Python's lock."""
FOLDED_CHARACTERS_MAX = 16 * 1024
"""Arrays of a longer constant are not made while a query is planned, when nothing can end it."""
KERNEL_TEMPLATE_CHARACTERS_MAX = 16 * 1024
"""The longest template of to_char and the like."""
KERNEL_BATCH_BYTES_MAX = 256 * 1024 * 1024
"""What a function of ours makes of one batch of rows, which DuckDB takes over with that lock held."""
KERNEL_SLICE_BYTES_MAX = 1024 * 1024
"""Values of this size are made from Arrow's form, or put into it, at a time,"""
KERNEL_SLICE_ROWS_MAX = 8_192
"""and so many of them: between two slices others get the lock."""
KERNEL_SLICE_CHARACTERS_MAX = 64 * 1024
"""So many characters or bytes of one value are gone through at a time."""
RESULT_BATCH_ROWS = 2_048
"""Rows that leave DuckDB at a time: one of its vectors, because values may be large;"""
RESULT_WIDE_BATCH_ROWS = 8
"""as many if the first rows of a result are too wide for that."""
RESULT_BATCH_BYTES_MAX = 16 * 1024 * 1024
"""Rows that leave Spark at a time, or go to a function of ours there, have about this many bytes at most."""
RESULT_INLINE_BYTES_MAX = 256 * 1024
"""Rows of a partition of a result on Spark come as a message up to this; more are put in a file."""
RESULTS_RESTING_MAX = 4
"""Results that a session has left half read stay open up to so many; older ones are put aside, on disk,"""
RESULTS_ASIDE_BYTES_MAX = 2 * 1024 * 1024 * 1024
"""up to this for all of them together."""
RESULT_ASIDE_MEMORY_BYTES_MAX = 16 * 1024
"""So few rows are kept in memory instead."""
PEEK_ATTEMPTS_MAX = 2
"""A query on Spark is sent so often: one that has ended the cluster that often may do it every time."""
DUCKDB_MEMORY_MAX = "1GB"
DUCKDB_THREADS_MAX = 2
DUCKDB_MEMORY_MIN_BYTES = 16 * 1024 * 1024
"""Below this DuckDB cannot read a file."""
STATEMENT_MEMORY_BYTES_MIN = 32 * 1024 * 1024
"""The least that max_statement_memory may be;"""
PLANNED_TEXT_RATIO = 8
"""a statement's text counts so often, for its plan."""
LIMITED_DATABASES_MAX = 32
"""Roles with a limit of memory that may run statements at a time."""
ROOM_BYTES_MAX = 3 * 1024 * 1024 * 1024
"""While the environment has more than this in memory, queries that compute in it are ended;"""
ROOM_GROWN_BYTES = 256 * 1024 * 1024
"""those under which it has grown by this;"""
ROOM_CHECK_S = 0.05
"""it is looked at so often while there are any."""
INTERRUPT_S = 0.02
"""How often DuckDB is told that nobody waits for a query any more, until it has heard it."""
INTERRUPTED_S_MAX = 0.1
"""How long whoever has stopped a query waits until DuckDB has heard it; beyond that it ends by itself."""
PEEKS_CONCURRENT_MAX = 8
"""Reads of files that DuckDB runs at a time for one role, and as many of anything else; others wait for their
turn.  The server itself and the operator have as many of their own,"""
PEEKS_OF_ALL_MAX = 16
"""and all roles together these."""

# Planning
PLAN_AT_ONCE_S_MAX = 0.005
"""What takes less of a processor is planned in the event loop's thread; the rest begins anew beside it,"""
PLAN_AT_ONCE_CHARACTERS_MAX = 64 * 1024
"""and so does a text that is longer than this, without a try,"""
PLANS_CONCURRENT_MAX = 2
"""in one of so many threads of a role; others wait for their turn, also if all roles together have"""
PLANS_OF_ALL_MAX = 4
"""these."""
PLAN_STOP_S_MAX = 0.05
"""How often it is looked whether a thread that was told to stop has done so."""
PLAN_KEPT_S = 10.0
"""How long after the last such plan its objects are left out when garbage is collected."""
PLAN_ATTEMPTS_MAX = 4
"""How often a statement is planned because the catalog was changed meanwhile."""
GIL_SWITCH_S = 0.001
"""How long a thread that computes keeps the others, the event loop's among them, from Python."""
LOOP_SLOW_S = 0.1
"""A callback of the event loop that takes longer is told of: everybody has waited for it."""
LOOP_BEAT_S = 0.05
"""How often it is looked whether one does."""
LITERAL_ROWS_MIN = 256
"""VALUES of so many rows of constants, and IN lists of so many, are handed to DuckDB as data."""

# Writes
WRITE_BYTES_MAX = 1024 * 1024 * 1024
"""Rows that a statement or a transaction writes; they are in memory until all of them are durable."""
WRITE_ROW_BYTES = 32
"""What is written beside the values of a row."""
WRITE_ATTEMPTS_MAX = 4
"""How often a statement is computed because a table that it reads was changed meanwhile."""
WRITE_WAIT_S_MAX = 5.0
"""How long writers of these tables wait for it while it waits for a source,"""
WRITE_KEEP_S_MAX = 600.0
"""and while it computes."""

# Subscribe
SUBSCRIBE_RESULT_BYTES_MAX = 256 * 1024 * 1024
"""A query's result at one timestamp; a hub compares two of them in memory."""
FETCH_BYTES_MAX = 16 * 1024 * 1024
"""FETCH from a subscription gathers about this many bytes at most, however many rows it asks for."""
SUBSCRIBE_QUEUE_BATCHES_MAX = 1_000
SUBSCRIBE_QUEUE_BYTES_MAX = 128 * 1024 * 1024
"""A subscriber that is this far behind its hub is told so and ended (53200)."""

# Roles
REFUSALS_MAX = 1_000
"""Statements that were refused are remembered up to so many, the same ones as one,"""
REFUSALS_OF_ROLE_MAX = 100
"""and so many of one role;"""
REFUSAL_CHARACTERS_MAX = 500
"""so much of the error;"""
REFUSAL_LOG_S = 60.0
"""the log has a line for each, and then as often as this."""
STRANGERS_LOGGED_MAX = 1_000
"""Addresses of which it is remembered that the log has a line about their handshakes."""
DEPENDENTS_SHOWN_MAX = 20
"""So many objects does an error list because of which a role cannot be dropped."""

# Sessions
CONNECTIONS_MAX = 500
OPERATOR_CONNECTIONS_MAX = 50
"""The operator's address has connections of its own: nobody else can take them."""
IDLE_IN_TRANSACTION_S_DEFAULT = 120
"""A transaction whose client has said nothing for so long is ended, unless it has set another time."""
WAIT_NOTICE_S = 1.0
"""A client whose read has waited so long for a source that does not move is told so."""
PREPARED_STATEMENTS_MAX = 10_000
PREPARED_BYTES_MAX = 64 * 1024 * 1024
"""The texts of one session's prepared statements; their plans take several times as much."""
PORTALS_MAX = 10_000
"""Portals of one connection; their rows are put aside, but not they themselves."""
MESSAGE_BYTES_MAX = 1024 * 1024 * 1024
MESSAGE_LONG_BYTES = 1024 * 1024
"""Messages that are longer than this take of the room that there is for them together:"""
MESSAGES_BYTES_MAX = 2 * MESSAGE_BYTES_MAX
"""of all clients' messages that are being received or worked on; half of it is for one role."""
ARGUMENTS_BYTES_MAX = 64 * 1024 * 1024
"""Arguments of one connection's portals that wait to be run, beside those of the first."""
STARTUP_PACKET_BYTES_MAX = 10_000
STATEMENT_BYTES_MAX = 64 * 1024 * 1024
STATEMENT_TOKENS_MAX = 2_000_000
"""Words, values and signs of a text that is parsed: about half a GiB while it is planned."""
EXPRESSION_DEPTH_MAX = 200
PARAMETERS_MAX = 65_535
"""Of a statement; the protocol counts them in 16 bits."""
PLAN_COLUMNS_MAX = 20_000
"""A plan, with views and common tables inlined, puts out at most this many columns."""
JOINED_RELATIONS_MAX = 64
"""Of one join, with views inlined.  DuckDB looks for what follows from `a = b` and `b = c` in a time that
grows with the cube of their number, a second for these, and cannot be stopped meanwhile."""
GROUPING_SETS_MAX = 4096
CUBE_ELEMENTS_MAX = 12
GROUPING_ARGUMENTS_MAX = 31
"""As in PostgreSQL."""
IDENTIFIER_BYTES_MAX = 255
TYPE_DEPTH_MAX = 16
INTERVAL_CHARACTERS_MAX = 256
ERROR_TOKEN_CHARACTERS_MAX = 80
"""An error shows this much of what it found."""
SMALL_MESSAGE_BYTES_MAX = 10_000
"""Messages of the wire protocol that have no reason to be longer: Sync, Describe, Execute and the like."""
STARTUP_S_MAX = 60.0
"""A client that has not said who it is by then is hung up on."""
CONNECTIONS_STARTING_MAX = 100
"""Sockets beyond CONNECTIONS_MAX that may wait to be told so, or to cancel; more are closed unheard."""
SASL_MESSAGE_BYTES_MAX = 1_024
"""What a client says to log in."""
LOGIN_FAILURES_FREE = 3
"""Failed logins of a client at a user that cost nothing; then each waits, twice as long as the last,"""
LOGIN_SPACING_S_MIN = 0.25
LOGIN_SPACING_S_MAX = 8.0
LOGIN_WAIT_S_MAX = 30.0
"""but not longer than this: it is refused unseen instead."""
LOGIN_FAILURES_FREE_OF_ADDRESS = 20
"""Users that one address may get wrong before it waits at all of them."""
LOGIN_FAILURES_S = 600.0
"""Failed logins are forgotten after so long,"""
LOGIN_FAILURES_KEPT_MAX = 10_000
"""and the oldest when there are so many."""
CERTIFICATE_CHECK_S = 2.0
"""How often is looked whether there is another certificate."""
SEND_BUFFER_BYTES = 64 * 1024
"""A result's bytes are gathered up to about this many before they are sent."""
RECEIVE_BUFFER_BYTES_MAX = 256 * 1024
"""Bytes of a client that are taken from its socket before somebody wants them."""
ENCODE_BYTES_MAX = 16 * 1024 * 1024
"""A batch is encoded in slices of about this many stored bytes,"""
ENCODE_AT_ONCE_BYTES_MAX = 256 * 1024
"""by the event loop if they are no more than these, which as numbers of an array take it 30 ms,"""
ENCODE_SLICE_VALUES_MAX = 64 * 1024
"""and so many values at a time: between two a thread that encodes can be stopped."""
ENCODINGS_CONCURRENT_MAX = 4
"""Slices that are encoded beside the event loop at a time; others wait for their turn."""
COPY_PIECE_BYTES = 1024 * 1024
"""Data of COPY ... FROM is gathered up to about this many bytes and then taken apart at once."""
COPY_ROW_BYTES_MAX = 256 * 1024 * 1024

# Processes
PROTOCOL_FRAME_BYTES_MAX = 256 * 1024 * 1024
CLUSTER_CONNECT_RETRY_S = 0.2
CLUSTER_RESTART_DELAY_S_MAX = 10.0
CLASS_ARCHIVE_S_MAX = 120.0
"""How long Java may take to write the archive of its classes."""
SHUTDOWN_S_MAX = 8.0
WORKER_BYTES_MAX = 256 * 1024 * 1024
"""A Python worker that has more than this to itself after a task is replaced before the next."""
CLUSTER_REPLICAS_MAX = 1
"""All clusters are pools of one process: there is nothing that more of them could be."""
SOCKET_PATH_BYTES_MAX = 107
"""What the operating system takes as the path of a Unix socket."""
METADATA_CHECK_BYTES_MAX = 64 * 1024 * 1024
"""The metadata database is checked page by page when it is opened, up to this size."""
METADATA_BUSY_MS_MAX = 30_000
"""How long a transaction on the metadata database waits for one of another process,"""
METADATA_TRY_MS_MAX = 20
"""and how much of that at a stretch: whoever waits longer does so without keeping others from it,"""
METADATA_RETRY_S = 0.02
"""and tries again after so long."""
HTTP_SHUTDOWN_S_MAX = 2
"""Requests that run longer than this after a stop are cut off."""
HTTP_CONNECTIONS_MAX = 1_000
HTTP_HEAD_BYTES_MAX = 64 * 1024
"""The line and the headers of a request,"""
HTTP_HEAD_S_MAX = 60.0
"""and how long they may take to come."""
HTTP_BODY_BYTES_MAX = 5 * 1024 * 1024
"""A request or a message of a websocket, and all messages of one that wait."""
HTTP_BODY_S_MAX = 60.0
"""How long a body may take to come."""
HTTP_PIPELINED_MAX = 100
"""Requests of a connection that have come before the first of them is answered."""
HTTP_FIRST_MESSAGE_BYTES_MAX = 64 * 1024
"""What a websocket's client may send before it has logged in."""
HTTP_PIECES_MAX = 10_000
"""Frames of one message of a websocket."""
HTTP_FIRST_MESSAGE_S_MAX = 60.0
"""A websocket whose client has not said who it is by then is closed."""
HTTP_MESSAGES_AHEAD_MAX = 100
"""Messages of a websocket that wait for the one that runs."""

# Webhooks
WEBHOOK_BYTES_MAX = 256 * 1024 * 1024
"""Bodies of requests that are not answered yet; who comes then is told to come later."""
WEBHOOK_BATCH_BYTES_MAX = 32 * 1024 * 1024
"""Bodies that are written with one append."""
WEBHOOK_CHECK_S_MAX = 5.0
"""How long a CHECK may take for the requests of a batch,"""
WEBHOOK_CHECK_S_MIN = 0.25
"""and how long it may take for some of them at least, when little of that is left."""
WEBHOOK_TOGETHER_S_MAX = 0.2
"""So long requests for some tables wait for those for others, to be written with them."""
WEBHOOK_SLOW_S = 1.0
"""A table whose requests have taken longer than this to be checked and decoded counts as slow,"""
WEBHOOK_SLOW_S_MAX = 60.0
"""for so long."""
WEBHOOK_KEYS_MAX = 100_000
"""Idempotency keys that a table remembers, the newest,"""
WEBHOOK_KEY_S_MAX = 86_400.0
"""for so long at most."""
WEBHOOK_PATH_BYTES_MAX = 1_024
"""Longer than any three names, however they are encoded."""
WEBHOOK_PATHS_MAX = 10_000
"""Paths of requests of which it is remembered which table they mean."""

# What a machine must have (doctor)
MEMORY_AVAILABLE_BYTES_MIN = 3 * 1024 * 1024 * 1024
DISK_FREE_BYTES_MIN = 2 * 1024 * 1024 * 1024
OPEN_FILES_MIN = 1_024

# Our own client (sql, demo)
CLIENT_CONNECT_S_MAX = 5.0
DEMO_START_S_MAX = 180.0
DEMO_FIRST_ROWS_S_MAX = 120.0
DEMO_POLL_S = 1.0
DEMO_WRITE_S = 0.02
DEMO_ORDERS_OPEN_MAX = 50

# Secrets, and connections to upstreams
SECRET_BYTES_MAX = 512 * 1024
UPSTREAM_CONNECT_S_MAX = 5
UPSTREAM_KEEPALIVE_S = 3
UPSTREAM_KEEPALIVE_COUNT = 2
"""A way to an upstream on which so many keepalives are lost is given up."""
UPSTREAM_ANSWER_S_MAX = 3.0
"""After so long without the answer that is waited for it is asked over another connection what is wrong,"""
UPSTREAM_ASIDE_S_MAX = 4
"""which must come about, and answer, within this."""
UPSTREAM_SILENCE_S_MAX = 30.0
"""A stream that is asked for an answer and gives none for so long is given up, whatever its server does,"""
UPSTREAM_VALIDATE_S_MAX = 30.0
"""and so are questions about settings and shapes."""
UPSTREAM_LOOK_LOCK_S_MAX = 10.0
"""A look at an upstream's partitions waits no longer for somebody who alters them."""
UPSTREAM_QUESTIONS_CONCURRENT_MAX = 8
"""Statements of a role that ask their upstreams at the same time; others wait for one of them,"""
UPSTREAM_QUESTIONS_OF_ALL_MAX = 16
"""also if all roles together have these."""
UPSTREAM_LOG_CHECK_S = 15.0
"""How often an upstream is asked what it keeps for a source."""
UPSTREAM_LOG_LOOK_S = 1.0
"""How often it is looked which sources are to be asked about."""
UPSTREAM_LOG_QUESTIONS_CONCURRENT_MAX = 16
UPSTREAM_LOG_LOW_SHARE = 0.25
"""It is warned when no more than this share of what an upstream keeps at most is left."""
VALUE_ERRORS_LOOK_S = 1.0
"""How often tables are looked at for rows with values that could not be stored, where files have any."""
VALUE_ERRORS_SHOWN_MAX = 1_000
"""Rows of a table with values that could not be stored, as many as are listed."""
RECENCY_QUESTIONS_CONCURRENT_MAX = 64
"""Upstreams that are asked at the same time how far they are, one question each."""
RECENCY_RETRY_S = 0.5
"""An upstream that could not be asked how far it is, is asked again after so long."""

# Load generators
GENERATOR_PART_ROWS_MIN = 100_000
"""A tick is split over several tasks only when each gets about this many rows."""
GENERATOR_PART_BYTES_MAX = 128 * 1024 * 1024
"""One huge transaction is split over more tasks than usual, so that each holds about this much."""
GENERATOR_BATCH_ROWS = 65_536
GENERATOR_BATCH_BYTES = 16 * 1024 * 1024
GENERATOR_TICK_BYTES_MAX = 512 * 1024 * 1024
"""Rows that are wide count for more: a tick makes about this many bytes at most,"""
GENERATOR_CHUNK_BYTES_MAX = 256 * 1024 * 1024
"""and a chunk of a snapshot this many."""
GENERATOR_VALUE_BYTES_MAX = 16 * 1024 * 1024
GENERATOR_KEYS_MAX = 2_000_000_000
GENERATOR_SCALE_FACTOR_MAX = 1_000

# Formats of messages
DECODE_PAGE_ROWS = 16_384
"""Messages are decoded so many at a time, so that what one step makes is still in a cache at the next;"""
DECODE_PAGE_BYTES = 4 * 1024 * 1024
"""fewer, but at least one, where they have more bytes than this."""
AVRO_SCHEMAS_MAX = 1_000
"""Writers' schemas that a decoder remembers; beyond that it forgets the first."""

# PostgreSQL
REPLICATION_SEGMENT_BYTES = 8 * 2**20
"""A stretch of a replication stream longer than this goes to a file, and is one task's work."""
REPLICATION_TICK_BYTES_MAX = 64 * 2**20
"""A tick takes about so much of a stream that is behind, and at least one transaction."""
REPLICATION_WAITING_BYTES_MAX = 512 * 2**20
"""With more than this waiting for ticks, nothing more is taken from the server."""
REPLICATION_STATUS_S = 1.0
"""How often a server is told what is durable here, at least."""
SLOT_RELEASE_S_MAX = 10.0
"""How long the end of a walsender is waited for that holds our slot."""
RESYNC_WAIT_S_MAX = 10.0
"""How long ALTER SOURCE .. RESYNC waits for the source to begin anew; beyond that it goes on by itself."""
STREAM_CATCH_UP_S_MAX = 2.0
"""How long a tick waits for what the stream may say about something that only the catalog shows so far."""
UPSTREAM_HIDDEN_S_MAX = 1.0
"""How long a transaction may have been sent and not show upstream, before somebody is told."""
SNAPSHOT_LOCK_S_MAX = 10
"""How long a snapshot waits for a lock on its tables, before it lets go and tries again."""
SNAPSHOT_SETTLE_S_MAX = 10.0
"""How long a snapshot waits until everything it shows is on the upstream's disk."""
SNAPSHOT_SETTLE_CHECK_S = 0.02
SNAPSHOT_YIELD_S_MAX = 1
"""How long a chunk waits behind somebody who wants to change its table; then the snapshot lets them pass."""

# Kafka

KAFKA_ANSWER_S_MAX = 10
"""How long a broker may take to answer a question."""
KAFKA_LEADER_S_MAX = 5.0
"""How long a partition that was just made, or is moving, may have no leader while it is asked about."""
KAFKA_ABSENT_S = 3.0
"""A topic that brokers have not known of for so long was deleted."""
KAFKA_BEHIND_S = 30.0
"""A topic that has ended for so long before what was read of it has lost that."""
KAFKA_UNCOMMITTED_LOOK_S = 5.0
"""How often it is looked whether an open transaction holds partitions back."""
KAFKA_UNCOMMITTED_S = 60.0
"""How long a transaction may do so before it is shown; producers let none last longer, unless told to."""
KAFKA_SILENCE_S_MAX = 30.0
"""How long no message may come although there are some."""
KAFKA_PART_MESSAGES_MIN = 50_000
"""Fewer messages of a tick are not worth a task of their own."""
KAFKA_BATCH_MESSAGES = 10_000
KAFKA_BATCH_MESSAGES_FIRST = 100
"""As long as nobody knows how large they are."""
KAFKA_BATCH_BYTES = 32 * 1024 * 1024
"""So many messages at once at most, and about so many bytes."""
KAFKA_CONSUMERS_KEPT_MAX = 8
"""Consumers that a worker keeps for the next tick."""
KAFKA_AHEAD_BYTES_MAX = 256 * 1024 * 1024
"""Messages of partitions that are at the end of their stretch, kept while others are waited for."""
KAFKA_FETCHED_AHEAD_KIB_MAX = 32 * 1024
"""What a consumer may fetch before it is asked for."""
KAFKA_UNFORESEEN_MAX = 16
"""On so many messages of a batch a decoder may fail, and they are to blame; on more, it is the table."""
KAFKA_METADATA_S = 60.0
"""How often new partitions are looked for, unless a source says otherwise."""
KAFKA_METADATA_S_MAX = 3_600.0
REGISTRY_ANSWER_S_MAX = 10.0
"""How long a schema registry may take to answer,"""
REGISTRY_ANSWER_BYTES_MAX = 64 * 1024 * 1024
"""and how much it may say: a user names it, and it may be anything."""
REGISTRY_ABSENT_S = 3.0
"""How long a registry says that it has no schema before it is believed; not more often than the next."""
REGISTRY_WAIT_EVERY_S = 60.0
# Messages
DECODE_SLICE_BYTES_MAX = 512 * 1024
"""Messages are decoded so many bytes at a time, which a processor's cache still holds,"""
DECODE_SLICE_MESSAGES_MAX = 8_192
"""and so many of them."""
JSON_LEVELS_MAX = 256
"""A document with more levels is refused, on whatever stack it is read: Python has room for some more."""
SKELETON_BYTES_MAX = 64 * 1024
"""JSON documents have a common form up to so many bytes without their values;"""
SKELETON_CACHED_BYTES_MAX = 4_096
"""how to go on with one is remembered up to so many."""
PROTOC_S_MAX = 30.0
"""Compiling a schema of Protobuf takes a tenth of a second."""

# MySQL's binary log
BINLOG_EVENT_BYTES_MAX = 1024 * 1024 * 1024
"""A row cannot be larger than the server's max_allowed_packet, and this is the largest."""
BINLOG_PIECE_BYTES = 1024 * 1024
"""What has come of the log is handed on in pieces of about so much."""
BINLOG_HEARTBEAT_S = 5
"""A server with nothing to send says so this often."""
BINLOG_SILENCE_S_MAX = 15.0
"""A server that has said nothing for so long cannot be heard any more; an answer is waited for as long."""
BINLOG_READ_S = 0.1
"""How long whoever receives the log waits for more of it before it looks whether it is to end."""
BINLOG_WAITING_BYTES_MAX = 512 * 2**20
"""With more than this waiting for ticks, nothing more is taken from the server."""
MYSQL_SNAPSHOT_SESSIONS = 4
"""Sessions that show the same moment to a snapshot's tasks."""
MYSQL_SNAPSHOT_LOCK_S_MAX = 1
"""How long a snapshot waits for the moment at which nobody writes to its tables: others wait behind it."""
MYSQL_SNAPSHOT_BOUNDS_MAX = 10_000
"""Into so many ranges a table is cut at most."""
MYSQL_RELAY_BYTES = 256 * 1024
"""An answer is passed on to a task in pieces of about so much,"""
MYSQL_RELAY_CHECK_S = 0.2
"""and this often it is looked whether nobody wants it any more."""
MYSQL_RELAY_WAIT_S_MAX = 600.0
"""How long a task waits for a session that is free, or for rows."""
MYSQL_RESULT_BYTES = 4 * 2**20
"""Rows of an answer are taken apart when about so much of them has come."""
