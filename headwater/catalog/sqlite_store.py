"""The catalog in SQLite: what store.py promises.

What differs between two states is found by comparing their mappings, so an update needs no SQL of its own.

One connection, guarded by one lock: DDL is rare and SQLite has one writer anyway.  The ledger keeps its own
tables (`ledger_...`) in the same file on connections of its own.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import structlog

from headwater.catalog import migrations
from headwater.catalog.apply import apply
from headwater.catalog.audit import AuditEvent, Line, events
from headwater.catalog.details import details_from_json
from headwater.catalog.state import (
    CatalogState,
    Cluster,
    Comment,
    Database,
    DefaultGrant,
    Grant,
    Item,
    ObjectKey,
    Role,
    Schema,
    key_of,
)
from headwater.catalog.store import Author, CatalogStore, IdKind, MetadataBusy, Sample
from headwater.catalog.updates import Requirement, Update, check
from headwater.core.clock import SYSTEM_CLOCK, Clock
from headwater.core.errors import InvariantViolation, UserError
from headwater.core.limits import (
    METADATA_BUSY_MS_MAX,
    METADATA_CHECK_BYTES_MAX,
)
from headwater.core.relation import Relation
from headwater.metadata.migrations import load_migrations
from headwater.observe.failpoints import failpoint

_LOG: Final = structlog.get_logger("audit")
MIGRATIONS = load_migrations("catalog", migrations)

Row = tuple[Any, ...]

# "HdWt": tells our databases from other SQLite files.
APPLICATION_ID: Final = 0x48645774


class SqliteCatalog(CatalogStore):
    """The catalog in `path`; made there if the file does not exist."""

    def __init__(self, path: Path, clock: Clock = SYSTEM_CLOCK) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.RLock()
        self.patience_ms = METADATA_BUSY_MS_MAX
        path.parent.mkdir(parents=True, exist_ok=True)
        with _explained(path):
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            try:
                self._prepare()
                self._state = self._load()
            except BaseException:
                self._connection.close()
                raise

    @property
    def state(self) -> CatalogState:
        return self._state

    def transact(
        self, requirements: Sequence[Requirement], updates: Sequence[Update], *, by: Author | None = None
    ) -> CatalogState:
        with self._lock:
            before = self._state
            for requirement in requirements:
                check(before, requirement)
            after = before
            lines: list[Line] = []
            for update in updates:
                previous, after = after, apply(after, update)
                lines += events(previous, update, after)
            after = replace(after, version=before.version + 1, derived={})
            with self._transaction():
                self._compare_and_set_version(before.version, after.version)
                self._write_differences(before, after)
                self._append_audit(lines, None if by is None else by.user)
                failpoint("catalog.before_commit")
            self._state = after
            failpoint("catalog.after_commit")
            _log(lines, by)
            return after

    def allocate_ids(self, kind: IdKind, count: int = 1) -> tuple[str, ...]:
        return tuple(f"u{number}" for number in self._allocate(kind, count))

    def allocate_oids(self, count: int = 1) -> tuple[int, ...]:
        return tuple(self._allocate("oid", count))

    def bump_epoch(self) -> int:
        with self._lock, self._transaction():
            row = self._connection.execute(
                "UPDATE catalog_head SET epoch = epoch + 1 RETURNING epoch"
            ).fetchone()
            return int(row[0])

    def get_setting(self, name: str) -> str | None:
        with self._lock, _explained(self._path):
            row = self._connection.execute("SELECT value FROM setting WHERE name = ?", (name,)).fetchone()
            return None if row is None else str(row[0])

    def put_setting(self, name: str, value: str) -> None:
        with self._lock, self._transaction():
            self._connection.execute(
                "INSERT INTO setting VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                (name, value),
            )

    def add_samples(
        self, kind: str, at_ms: int, samples: Iterable[Sample], since_ms: int, count_max: int
    ) -> None:
        with self._lock, self._transaction():
            self._connection.executemany(
                "INSERT OR REPLACE INTO sample (kind, at_ms, object_id, replica_id, value)"
                " VALUES (?, ?, ?, ?, ?)",
                [(kind, at_ms, *sample) for sample in samples],
            )
            beyond = self._connection.execute(
                "SELECT at_ms FROM sample WHERE kind = ? ORDER BY at_ms DESC LIMIT 1 OFFSET ?",
                (kind, count_max),
            ).fetchone()
            first_ms = since_ms if beyond is None else max(since_ms, beyond[0] + 1)
            self._connection.execute("DELETE FROM sample WHERE kind = ? AND at_ms < ?", (kind, first_ms))

    def samples(self, kind: str) -> list[tuple[int, str, str | None, int | None]]:
        with self._lock, _explained(self._path):
            return self._connection.execute(
                "SELECT at_ms, object_id, replica_id, value FROM sample WHERE kind = ? ORDER BY at_ms",
                (kind,),
            ).fetchall()

    def audit_events(self, after_id: int = 0) -> tuple[AuditEvent, ...]:
        with self._lock, _explained(self._path):
            rows = self._connection.execute(
                "SELECT id, event_type, object_type, details, user, occurred_at_ms"
                " FROM audit_event WHERE id > ? ORDER BY id",
                (after_id,),
            ).fetchall()
        return tuple(
            AuditEvent(id_, event_type, object_type, json.loads(details), user, occurred_at_ms)
            for id_, event_type, object_type, details, user, occurred_at_ms in rows
        )

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _allocate(self, kind: str, count: int) -> range:
        with self._lock, self._transaction():
            row = self._connection.execute(
                "UPDATE counter SET next = next + ? WHERE kind = ? RETURNING next", (count, kind)
            ).fetchone()
            if row is None:
                raise InvariantViolation(f"there is no counter {kind!r}")
            return range(row[0] - count, row[0])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing; takes the write lock at once so that it cannot fail half-way for want of it."""
        with _explained(self._path):
            self._connection.execute(f"PRAGMA busy_timeout = {self.patience_ms}")
            try:
                self._connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                    raise
                locked = _explanation(self._path, error)
                raise MetadataBusy(locked.message, locked.sqlstate, hint=locked.hint) from None
            finally:  # reads wait for another process only while it begins or ends
                self._connection.execute(f"PRAGMA busy_timeout = {METADATA_BUSY_MS_MAX}")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def _prepare(self) -> None:
        """Pragmas, a look at the file's health, and migrations."""
        connection = self._connection
        connection.execute(f"PRAGMA busy_timeout = {METADATA_BUSY_MS_MAX}")
        fresh = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        if not fresh and application != APPLICATION_ID:
            raise UserError(
                f'"{self._path}" is a SQLite database, but not one of this product',
                "58030",
                hint="Start the server with an empty --data-dir.",
            )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        if self._path.stat().st_size <= METADATA_CHECK_BYTES_MAX:
            found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if found != "ok":
                raise _damaged(self._path, str(found))
        self._migrate(fresh)

    def _migrate(self, fresh: bool) -> None:
        MIGRATIONS.refuse_newer(self._connection, self._path)
        with self._transaction():
            if fresh:
                self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            MIGRATIONS.apply(self._connection, self._clock.now_ms())

    def _load(self) -> CatalogState:
        def rows(table: _Table) -> list[Row]:
            return self._connection.execute(table.select_sql()).fetchall()

        self._connection.execute("BEGIN")
        try:
            version = self._connection.execute("SELECT version FROM catalog_head").fetchone()[0]
            loaded = {table.name: [table.from_row(row) for row in rows(table)] for table in _TABLES}
        finally:
            self._connection.execute("COMMIT")
        items: list[Item] = loaded["item"]
        dependents: dict[str, set[str]] = {}
        for item in items:
            for dependency in item.dependencies:
                dependents.setdefault(dependency, set()).add(item.id)
        return CatalogState(
            version=version,
            databases={database.id: database for database in loaded["database"]},
            schemas={schema.id: schema for schema in loaded["schema"]},
            clusters={cluster.id: cluster for cluster in loaded["cluster"]},
            roles={role.id: role for role in loaded["role"]},
            items={item.id: item for item in items},
            comments={(c.object_kind, c.object_id, c.sub_id or 0): c for c in loaded["comment"]},
            system_variables=dict(loaded["system_variable"]),
            memberships=dict(loaded["membership"]),
            grants=dict(loaded["object_grants"]),
            default_grants={grant.key: grant for grant in loaded["default_grant"]},
            item_ids={key_of(item): item.id for item in items},
            dependents={item_id: frozenset(ids) for item_id, ids in dependents.items()},
        )

    def _compare_and_set_version(self, before: int, after: int) -> None:
        changed = self._connection.execute(
            "UPDATE catalog_head SET version = ? WHERE version = ?", (after, before)
        ).rowcount
        if changed != 1:
            raise InvariantViolation(
                f"the catalog in {self._path} is no longer at version {before}, another process changed it"
            )

    def _write_differences(self, before: CatalogState, after: CatalogState) -> None:
        for table in _TABLES:
            old, new = table.values(before), table.values(after)
            if old is new:
                continue
            gone = [table.key(key) for key in old if key not in new]
            changed = [table.to_row(key, value) for key, value in new.items() if old.get(key) is not value]
            # Deletions first: a new row may take a dropped one's name.
            self._connection.executemany(table.delete_sql(), gone)
            self._connection.executemany(table.insert_sql(), [row for row in changed if row is not None])

    def _append_audit(self, lines: Iterable[Line], user: str | None) -> None:
        now_ms = self._clock.now_ms()
        self._connection.executemany(
            "INSERT INTO audit_event (event_type, object_type, details, user, occurred_at_ms)"
            " VALUES (?, ?, ?, ?, ?)",
            [
                (event_type, object_type, json.dumps(details), user, now_ms)
                for event_type, object_type, details in lines
            ],
        )


@dataclass(frozen=True, slots=True)
class _Table:
    """How one mapping of the state is kept: columns in order, the first ones are the key."""

    name: str
    columns: tuple[str, ...]
    key_columns: tuple[str, ...]
    values: Callable[[CatalogState], Mapping[Any, Any]]
    to_row: Callable[[Any, Any], Row | None]  # (key, value); None for what is not durable
    from_row: Callable[[Row], Any]

    def key(self, key: Any) -> Row:
        return key if isinstance(key, tuple) else (key,)

    def select_sql(self) -> str:
        return f"SELECT {', '.join(self.columns)} FROM {self.name} ORDER BY rowid"

    def insert_sql(self) -> str:
        marks = ", ".join("?" for _ in self.columns)
        return (
            f"INSERT INTO {self.name} ({', '.join(self.columns)}) VALUES ({marks})"
            f" ON CONFLICT ({', '.join(self.key_columns)})"
            f" DO UPDATE SET {', '.join(f'{c} = excluded.{c}' for c in self.columns)}"
        )

    def delete_sql(self) -> str:
        return f"DELETE FROM {self.name} WHERE {' AND '.join(f'{c} = ?' for c in self.key_columns)}"


def _log(lines: Iterable[Line], by: Author | None) -> None:
    """The audit log, where logins and refusals are written as well."""
    user, client = (None, "") if by is None else (by.user, by.address)
    for event_type, object_type, details in lines:
        change, told = f"{event_type} {object_type}", json.dumps(details)
        _LOG.info("catalog changed", user=user, client=client, change=change, details=told)


def _item_to_row(_: str, item: Item) -> Row | None:
    if item.temporary_pid is not None:
        return None
    return (
        item.id,
        item.oid,
        item.schema_id,
        item.name,
        item.kind,
        item.create_sql,
        json.dumps(item.relation.to_json()),
        json.dumps(item.dependencies),
        item.cluster_id,
        item.definition,
        item.owner_id,
        json.dumps(item.details.to_json()),
        item.created_at_ms,
        item.redefined_at,
    )


def _item_from_row(row: Row) -> Item:
    values = dict(zip(_ITEM_COLUMNS, row, strict=True))
    values["relation"] = Relation.from_json(json.loads(values["relation"]))
    values["dependencies"] = tuple(json.loads(values["dependencies"]))
    values["details"] = details_from_json(json.loads(values["details"]))
    return Item(**values)


_ITEM_COLUMNS: Final = (
    "id",
    "oid",
    "schema_id",
    "name",
    "kind",
    "create_sql",
    "relation",
    "dependencies",
    "cluster_id",
    "definition",
    "owner_id",
    "details",
    "created_at_ms",
    "redefined_at",
)

_ROLE_COLUMNS: Final = (
    *("id", "oid", "name", "inherit", "login", "superuser"),
    *("verifier", "connection_limit", "settings"),
)


def _durable_grants(state: CatalogState) -> Mapping[ObjectKey, tuple[Grant, ...]]:
    """Without those on temporary items."""
    gone = {key for key in state.grants if key[0] == "item" and state.items[key[1]].temporary_pid is not None}
    return state.grants if not gone else {k: g for k, g in state.grants.items() if k not in gone}


def _grants_to_json(grants: Iterable[Grant]) -> str:
    return json.dumps([[g.grantee_id, g.grantor_id, sorted(g.privileges)] for g in grants])


def _grants_from_json(text: str) -> tuple[Grant, ...]:
    return tuple(
        Grant(grantee_id, grantor_id, frozenset(names)) for grantee_id, grantor_id, names in json.loads(text)
    )


_TABLES: Final = (
    _Table(
        "database",
        ("id", "oid", "name", "owner_id"),
        ("id",),
        lambda state: state.databases,
        lambda _, d: (d.id, d.oid, d.name, d.owner_id),
        lambda row: Database(*row),
    ),
    _Table(
        "schema",
        ("id", "oid", "database_id", "name", "owner_id"),
        ("id",),
        lambda state: state.schemas,
        lambda _, s: (s.id, s.oid, s.database_id, s.name, s.owner_id),
        lambda row: Schema(*row),
    ),
    _Table(
        "cluster",
        ("id", "name", "size", "replication_factor", "owner_id"),
        ("id",),
        lambda state: state.clusters,
        lambda _, c: (c.id, c.name, c.size, c.replication_factor, c.owner_id),
        lambda row: Cluster(*row),
    ),
    _Table(
        "role",
        _ROLE_COLUMNS,
        ("id",),
        lambda state: state.roles,
        lambda _, r: (
            *(r.id, r.oid, r.name, int(r.inherit), int(r.login), int(r.superuser)),
            *(r.verifier, r.connection_limit, json.dumps(dict(r.settings))),
        ),
        lambda row: Role(
            *(row[0], row[1], row[2], bool(row[3]), bool(row[4]), bool(row[5])),
            *(row[6], row[7], json.loads(row[8])),
        ),
    ),
    _Table(
        "membership",
        ("role_id", "member_id", "grantor_id"),
        ("role_id", "member_id"),
        lambda state: state.memberships,
        lambda key, grantor_id: (*key, grantor_id),
        lambda row: (row[:2], row[2]),
    ),
    _Table(
        "object_grants",
        ("object_kind", "object_id", "grants"),
        ("object_kind", "object_id"),
        _durable_grants,
        lambda key, grants: (*key, _grants_to_json(grants)),
        lambda row: (row[:2], _grants_from_json(row[2])),
    ),
    _Table(
        "default_grant",
        ("role_id", "database_id", "schema_id", "object_kind", "grantee_id", "privileges"),
        ("role_id", "database_id", "schema_id", "object_kind", "grantee_id"),
        lambda state: state.default_grants,
        lambda key, grant: (*key, json.dumps(sorted(grant.privileges))),
        lambda row: DefaultGrant(
            row[0], row[1] or None, row[2] or None, row[3], row[4], frozenset(json.loads(row[5]))
        ),
    ),
    _Table("item", _ITEM_COLUMNS, ("id",), lambda state: state.items, _item_to_row, _item_from_row),
    _Table(
        "comment",
        ("object_kind", "object_id", "sub_id", "text"),
        ("object_kind", "object_id", "sub_id"),
        lambda state: state.comments,
        lambda key, c: (*key, c.text),
        lambda row: Comment(row[0], row[1], row[2] or None, row[3]),
    ),
    _Table(
        "system_variable",
        ("name", "value"),
        ("name",),
        lambda state: state.system_variables,
        lambda name, value: (name, value),
        lambda row: (row[0], row[1]),
    ),
)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """SQLite's errors in words that name the file and what to do."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _explanation(path, error) from error


def _explanation(path: Path, error: sqlite3.DatabaseError) -> UserError:
    text = str(error)
    if "not a database" in text or "malformed" in text or "corrupt" in text:
        return _damaged(path, text)
    if "locked" in text:
        return UserError(
            f'metadata database "{path}" is locked by another process',
            "55006",
            hint="Stop the other process that has the file open.",
        )
    return UserError(
        f'metadata database "{path}" could not be used: {text}',
        "58030",
        hint="Check that the directory exists, may be written, and has space left.",
    )


def _damaged(path: Path, text: str) -> UserError:
    return UserError(
        f'metadata database "{path}" is damaged: {text}',
        "XX001",
        detail="It holds the catalog and the record of what has been ingested; neither can be read.",
        hint=f"Restore {path.name} together with its -wal file from a backup of the data directory,"
        " or move the directory away to start with an empty one.",
    )
