"""A table's state as a Delta table, so that any Delta reader can open it.

The ledger is what we read by; the Delta log says the same to others.  A commit
makes the Delta table's files exactly the wanted ones, whatever it held before:
so a crash between the Delta commit and the ledger's is fixed by the next fold,
and repeating a commit changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa
from deltalake import DeltaTable, Schema
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction, CommitProperties, RemoveAction, create_table_with_add_actions

from headwater.core.change import FileEntry
from headwater.core.errors import TransientError
from headwater.core.relation import Relation
from headwater.formats.arrow import state_schema
from headwater.persist.layout import table_root
from headwater.persist.store import DataStore

AS_OF = "headwater.as_of"
_CHECKPOINT_EVERY_VERSIONS = 50
# Files of older versions are gone anyway, so their lines in the log help nobody.
_CONFIGURATION = {"delta.logRetentionDuration": "interval 10 minutes"}


def commit_state(
    store: DataStore,
    collection_id: str,
    relation: Relation,
    files: Sequence[FileEntry],
    as_of: int,
    now_ms: int,
) -> int:
    """Make the Delta table hold exactly `files`; returns its version."""
    root = store.url(table_root(collection_id))
    try:
        return _commit(store, collection_id, relation, files, as_of, now_ms)
    except (DeltaError, OSError) as error:
        raise TransientError(
            f'could not write the Delta log of "{root}": {_one_line(error)}',
            hint="Free space, or make the directory writable.  If its _delta_log is damaged, remove that"
            " folder: the next fold writes a new one.",
        ) from error


def _commit(
    store: DataStore,
    collection_id: str,
    relation: Relation,
    files: Sequence[FileEntry],
    as_of: int,
    now_ms: int,
) -> int:
    root = store.url(table_root(collection_id))
    prefix = f"{table_root(collection_id)}/"
    wanted = {file.path.removeprefix(prefix): file for file in files}
    properties = CommitProperties(custom_metadata={AS_OF: str(as_of)})
    schema = Schema.from_arrow(_delta_schema(relation))
    if not DeltaTable.is_deltatable(root):
        adds = [_add(path, file, now_ms) for path, file in wanted.items()]
        create_table_with_add_actions(
            root,
            schema,
            adds,
            mode="error",
            name=collection_id,
            configuration=_CONFIGURATION,
            commit_properties=properties,
        )
        return 0
    table = DeltaTable(root)
    present = _present(table, collection_id)
    actions: list[AddAction | RemoveAction] = [
        _add(path, file, now_ms) for path, file in wanted.items() if path not in present
    ]
    actions += [_remove(path, _size(store, prefix + path), now_ms) for path in present if path not in wanted]
    table.create_write_transaction(actions, "append", schema, commit_properties=properties)
    table.update_incremental()
    if table.version() % _CHECKPOINT_EVERY_VERSIONS == 0:
        table.create_checkpoint()
        table.cleanup_metadata()
    return int(table.version())


def delta_files(store: DataStore, collection_id: str) -> set[str]:
    """The files of the newest Delta version, as the ledger would name them."""
    root = store.url(table_root(collection_id))
    try:
        if not DeltaTable.is_deltatable(root):
            return set()
        return {f"{table_root(collection_id)}/{path}" for path in _present(DeltaTable(root), collection_id)}
    except (DeltaError, OSError) as error:
        raise TransientError(f'could not read the Delta log of "{root}": {_one_line(error)}') from error


def _present(table: DeltaTable, collection_id: str) -> set[str]:
    # By its end: what is before it may be percent-encoded, or another name of the same directory.
    return {uri.rpartition(f"{table_root(collection_id)}/")[2] for uri in table.file_uris()}


def _one_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _add(path: str, file: FileEntry, now_ms: int) -> AddAction:
    return AddAction(path, file.bytes, {}, now_ms, True, json.dumps({"numRecords": file.rows}))


def _size(store: DataStore, path: str) -> int:
    try:
        return store.size(path)
    except FileNotFoundError:
        return 0


def _remove(path: str, size: int, now_ms: int) -> RemoveAction:
    return RemoveAction(
        path=path, size=size, deletion_timestamp=now_ms, data_change=True, partition_values={}
    )


def _delta_schema(relation: Relation) -> pa.Schema:
    return state_schema(relation)
