"""MySQL and MariaDB as upstreams: one reader of the binary log per source, snapshots beside it.

grammar.py relations.py connection_kind.py dialect.py   what is written of them in SQL, and system relations
connection.py session_settings.py server.py   how one is reached, what a session is set to, which server it is
facts.py types.py grants.py inspect.py pin.py unlisted.py   what it has, and what a table of ours takes of it
altered.py                     what became of a table's columns and keys, in words
gtid.py frontier.py position.py   sets of transactions: where a source stands, and where the server is
protocol.py stream.py expand.py   the binary log as it comes: packets, checksums, compression
events.py transactions.py table_map.py   what is in it: events, transactions, shapes of tables
rows.py tuples.py row_values.py temporal.py decimals.py charsets.py json_binary.py   changes of rows
history.py                     whether a server's transactions are those that were read
reader.py spool.py             who receives the log; whole transactions, in memory and in files
statements.py watch.py         what statements do to tables that no change of a row tells of
decode.py values.py            a stretch of the log -> changes in stored form
snapshot.py ranges.py relay.py results.py   rows as of one set of transactions, by ranges of keys
resync.py                      beginning anew with the server that is there now
"""

from __future__ import annotations

from headwater.sources.column_options import taken_as_text
from headwater.sources.contract import SourceType
from headwater.sources.mysql.decode import read
from headwater.sources.mysql.frontier import (
    GtidFrontier,
    offset,
    position_from_text,
    progress_columns,
    progress_rows,
    reached,
)
from headwater.sources.mysql.inspect import references
from headwater.sources.mysql.pin import check_access, check_table, pin, same_reference
from headwater.sources.mysql.position import position
from headwater.sources.mysql.reader import MysqlReader
from headwater.sources.mysql.resync import resync
from headwater.sources.mysql.snapshot import MysqlPoint, Reading, covers
from headwater.sources.mysql.trouble import NAMESPACE
from headwater.sources.mysql.unlisted import unlisted

__all__ = ["KIND"]

KIND = SourceType(
    name=NAMESPACE,
    namespace=NAMESPACE,
    title=lambda options: "MySQL",
    progress_columns=progress_columns,
    progress_rows=progress_rows,
    frontier_from_json=GtidFrontier.from_json,
    offset=offset,
    references=references,
    unlisted=unlisted,
    open=MysqlReader,
    read=lambda part, secrets, answers: read(part),
    prepare_snapshot=MysqlPoint,
    covers=covers,
    reading=lambda secrets, answers: Reading(secrets),
    position=position,
    position_from_text=position_from_text,
    reached=reached,
    resync=resync,
    pin=pin,
    same_reference=same_reference,
    taken_as_text=taken_as_text,
    check_access=check_access,
    check_table=check_table,
    chooses_columns=True,
)
