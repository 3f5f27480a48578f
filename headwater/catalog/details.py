"""What items of the catalog are, sort by sort: the facts that not all items have.

    Ingestion      reads an upstream; its rows are its progress.  A source, or in the legacy syntax a
                   source's progress relation
    LegacySource   what a user named in the legacy syntax; has rows of its own where the upstream has
                   one reference only
    FedTable       rows of a reference: a table from a source, or a subsource
    PlainTable     rows that users write
    WebhookTable   rows that requests write
    View           nothing; the query is the item's `definition`
    Secret         how often it was set; the value is not in the catalog
    Connection     how an upstream is reached

`kind` of an item is what statements and relations call it, these are what it does: a subsource is of the
kind source and does what a table from a source does.

JSON is for the store alone: `to_json` has the sort's name under "sort", by which `details_from_json`
finds it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

from headwater.core.errors import InvariantViolation
from headwater.core.export import Export

Json: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ListedReference:
    """Something that an upstream had when it was last looked at."""

    namespace: tuple[str, ...]  # ("mz_load_generators", "auction")
    name: str
    columns: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {"namespace": list(self.namespace), "name": self.name, "columns": list(self.columns)}

    @staticmethod
    def from_json(value: Json) -> ListedReference:
        return ListedReference(tuple(value["namespace"]), value["name"], tuple(value["columns"]))


@dataclass(frozen=True, slots=True)
class Ingestion:
    """Reads an upstream."""

    source_type: str  # "load-generator"
    options: Json  # the source type's own
    timestamp_interval_ms: int
    retain_history_ms: int
    references: tuple[ListedReference, ...] = ()
    references_updated_at_ms: int = 0
    parent_id: str | None = None  # the legacy source whose progress relation it is

    sort: ClassVar[str] = "ingestion"

    def to_json(self) -> dict[str, Any]:
        return {
            "sort": self.sort,
            "source_type": self.source_type,
            "options": dict(self.options),
            "timestamp_interval_ms": self.timestamp_interval_ms,
            "retain_history_ms": self.retain_history_ms,
            "references": [reference.to_json() for reference in self.references],
            "references_updated_at_ms": self.references_updated_at_ms,
            "parent_id": self.parent_id,
        }

    @staticmethod
    def from_json(value: Json) -> Ingestion:
        return Ingestion(
            value["source_type"],
            value["options"],
            value["timestamp_interval_ms"],
            value["retain_history_ms"],
            tuple(ListedReference.from_json(reference) for reference in value["references"]),
            value["references_updated_at_ms"],
            value["parent_id"],
        )


@dataclass(frozen=True, slots=True)
class ShownEncoding:
    """What the catalog's relations show of FORMAT and ENVELOPE."""

    envelope_type: str = "none"
    key_format: str | None = None
    value_format: str | None = None

    def to_json(self) -> list[str | None]:
        return [self.envelope_type, self.key_format, self.value_format]


@dataclass(frozen=True, slots=True)
class LegacySource:
    """What a user named in the legacy syntax; what ingests for it is its progress relation."""

    progress_id: str
    retain_history_ms: int
    export: Export | None = None  # if it has rows of its own
    encoding: ShownEncoding | None = None

    sort: ClassVar[str] = "legacy source"

    def to_json(self) -> dict[str, Any]:
        return {
            "sort": self.sort,
            "progress_id": self.progress_id,
            "retain_history_ms": self.retain_history_ms,
            "export": None if self.export is None else self.export.to_json(),
            "encoding": None if self.encoding is None else self.encoding.to_json(),
        }

    @staticmethod
    def from_json(value: Json) -> LegacySource:
        return LegacySource(
            value["progress_id"],
            value["retain_history_ms"],
            None if value["export"] is None else Export.from_json(value["export"]),
            None if value["encoding"] is None else ShownEncoding(*value["encoding"]),
        )


@dataclass(frozen=True, slots=True)
class Widening:
    """What a table will be when the columns that were added to it are filled."""

    export: Export  # of the wider collection
    added: tuple[str, ...]
    text_columns: tuple[str, ...] = ()  # of these
    include: tuple[str, ...] = ()  # parts of messages among them
    names: tuple[str, ...] = ()  # all columns by the reference's order, where the statement lists names

    def to_json(self) -> dict[str, Any]:
        return {
            "export": self.export.to_json(),
            "added": list(self.added),
            "text_columns": list(self.text_columns),
            "include": list(self.include),
            "names": list(self.names),
        }

    @staticmethod
    def from_json(value: Json) -> Widening:
        return Widening(
            Export.from_json(value["export"]),
            *(tuple(value[name]) for name in ("added", "text_columns", "include", "names")),
        )


@dataclass(frozen=True, slots=True)
class FedTable:
    """Rows of a reference."""

    source_id: str  # of what ingests
    export: Export
    retain_history_ms: int
    encoding: ShownEncoding | None = None
    widening: Widening | None = None

    sort: ClassVar[str] = "fed table"

    def to_json(self) -> dict[str, Any]:
        return {
            "sort": self.sort,
            "source_id": self.source_id,
            "export": self.export.to_json(),
            "retain_history_ms": self.retain_history_ms,
            "encoding": None if self.encoding is None else self.encoding.to_json(),
            "widening": None if self.widening is None else self.widening.to_json(),
        }

    @staticmethod
    def from_json(value: Json) -> FedTable:
        return FedTable(
            value["source_id"],
            Export.from_json(value["export"]),
            value["retain_history_ms"],
            None if value["encoding"] is None else ShownEncoding(*value["encoding"]),
            None if value["widening"] is None else Widening.from_json(value["widening"]),
        )


@dataclass(frozen=True, slots=True)
class PlainTable:
    """Rows that users write."""

    retain_history_ms: int

    sort: ClassVar[str] = "plain table"

    def to_json(self) -> dict[str, Any]:
        return {"sort": self.sort, "retain_history_ms": self.retain_history_ms}

    @staticmethod
    def from_json(value: Json) -> PlainTable:
        return PlainTable(value["retain_history_ms"])


@dataclass(frozen=True, slots=True)
class WebhookTable:
    """Rows that requests write.

    `headers` says which are in the column of that name: None is no such column.  Of a condition the secrets
    are given by their ids.
    """

    body: str  # text, json, json array or bytes
    mapped: tuple[tuple[str, str, bool], ...] = ()  # header, column, whether it is bytes
    headers: Json | None = None  # {"only": [...], "without": [...]}
    condition: str | None = None
    binds: tuple[tuple[str, str, bool, str | None], ...] = ()  # body, headers or secret; name; bytes; secret
    retain_history_ms: int = 1_000

    sort: ClassVar[str] = "webhook"

    def to_json(self) -> dict[str, Any]:
        return {
            "sort": self.sort,
            "body": self.body,
            "mapped": [list(one) for one in self.mapped],
            "headers": self.headers,
            "condition": self.condition,
            "binds": [list(one) for one in self.binds],
            "retain_history_ms": self.retain_history_ms,
        }

    @staticmethod
    def from_json(value: Json) -> WebhookTable:
        return WebhookTable(
            value["body"],
            tuple((header, column, binary) for header, column, binary in value["mapped"]),
            value["headers"],
            value["condition"],
            tuple((given, name, binary, secret) for given, name, binary, secret in value["binds"]),
            value["retain_history_ms"],
        )


@dataclass(frozen=True, slots=True)
class View:
    """A query with a name."""

    sort: ClassVar[str] = "view"

    def to_json(self) -> dict[str, Any]:
        return {"sort": self.sort}

    @staticmethod
    def from_json(value: Json) -> View:
        return View()


@dataclass(frozen=True, slots=True)
class Secret:
    """A value that is kept elsewhere."""

    version: int = 1  # one more with every ALTER

    sort: ClassVar[str] = "secret"

    def to_json(self) -> dict[str, Any]:
        return {"sort": self.sort, "version": self.version}

    @staticmethod
    def from_json(value: Json) -> Secret:
        return Secret(value["version"])


@dataclass(frozen=True, slots=True)
class Connection:
    """How an upstream is reached.

    Options are those of the kind of connection, {"host": "db", "port": 5432, "password": {"secret":
    "u1"}}: secrets by their ids, or {"text": "..."} where the value was written.
    """

    connection_type: str  # "postgres"
    options: Json

    sort: ClassVar[str] = "connection"

    def to_json(self) -> dict[str, Any]:
        return {"sort": self.sort, "connection_type": self.connection_type, "options": dict(self.options)}

    @staticmethod
    def from_json(value: Json) -> Connection:
        return Connection(value["connection_type"], value["options"])


Retaining: TypeAlias = Ingestion | LegacySource | FedTable | PlainTable | WebhookTable
"""What has a history, or says for how long others have one."""

Details: TypeAlias = Retaining | View | Secret | Connection

_SORTS: Final[Mapping[str, type[Details]]] = {
    sort.sort: sort
    for sort in (Ingestion, LegacySource, FedTable, PlainTable, WebhookTable, View, Secret, Connection)
}


def details_from_json(value: Json) -> Details:
    """What was written by `to_json`."""
    sort = _SORTS.get(value.get("sort", ""))
    if sort is None:
        raise InvariantViolation(f"the catalog has an item of no known sort: {value.get('sort')!r}")
    return sort.from_json(value)
