"""Names as a session sees them: a state, a database and a search path.

    x         the session's temporary items, then mz_catalog and pg_catalog unless the search
              path names them, then the schemas of the search path
    s.x       schema s of the session's database, or the system schema s
    d.s.x     schema s of database d; a system schema is found in every database

`find_*` answers None or raises only for a clash that IF EXISTS does not excuse;
`resolve_*` raises what the user is told.  Everything here is read-only and pure.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from typing import Final, cast

from headwater.catalog.builtin.registry import BUILTINS, BUILTINS_BY_NAME, BUILTINS_BY_OID
from headwater.catalog.builtin.table import BuiltinTable
from headwater.catalog.state import (
    SYSTEM_SCHEMA_IDS,
    SYSTEM_SCHEMAS,
    TEMPORARY_SCHEMA_ID,
    CatalogState,
    Cluster,
    Database,
    Item,
    Schema,
)
from headwater.core.errors import UserError
from headwater.core.names import ItemKind, NamedRelation
from headwater.core.quoting import identifier
from headwater.core.types import oid_of_name

IMPLICIT_SCHEMAS: Final = ("mz_catalog", "pg_catalog")
RELATION_KINDS: Final = frozenset({"table", "source", "view", "materialized view"})

_NAME_PART: Final = re.compile(r'\s*(?:"((?:[^"]|"")+)"|([^\s".]+))\s*(\.|$)')


def split_name(text: str) -> tuple[str, ...] | None:
    """The parts of a written name, folded and unquoted; None when it is not one."""
    parts: list[str] = []
    position = 0
    while match := _NAME_PART.match(text, position):
        quoted, bare, end = match.groups()
        parts.append(quoted.replace('""', '"') if quoted is not None else bare.lower())
        position = match.end()
        if end != ".":
            return tuple(parts) if position == len(text) else None
    return None


def with_article(kind: str) -> str:
    """`a view`, `an index`."""
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


class SessionNames:
    """Implements `core.names.Names`, and what DDL needs beyond it."""

    def __init__(
        self,
        state: CatalogState,
        database: str = "materialize",
        search_path: tuple[str, ...] = ("public",),
        backend_pid: int = 0,
    ) -> None:
        self.state = state
        self.database = database
        self.search_path = search_path
        self.backend_pid = backend_pid

    # Relations, for queries

    def find_relation(self, parts: tuple[str, ...]) -> NamedRelation:
        """Resolve 1 to 3 parts; UserError `unknown catalog item 'x'` when there is none."""
        try:
            found = self._find(parts)
        except UserError as error:
            if error.sqlstate == "3F000":  # it is the relation that was asked for
                error.sqlstate = "42P01"
            raise
        if found is None:
            raise self._unknown_item(parts)
        return self._named(found)

    def relation_by_oid(self, oid: int) -> NamedRelation | None:
        derived = self.state.derived
        if "items by oid" not in derived:
            derived["items by oid"] = {item.oid: item for item in self.state.items.values()}
        return self._named_if_readable(BUILTINS_BY_OID.get(oid) or derived["items by oid"].get(oid))

    def regclass(self, text: str) -> int | None:
        """The oid behind a text given for regclass, if there is one."""
        if text.isdecimal():
            return int(text)
        parts = split_name(text)
        found = None if parts is None else self._find(parts, strict=False)
        return None if found is None else found.oid

    def regclass_text(self, oid: int) -> str:
        """How an oid of regclass is printed: the name, qualified unless it is visible so."""
        if oid == 0:
            return "-"
        named = self.relation_by_oid(oid)
        if named is None:
            return str(oid)
        if self.visible(oid):
            return identifier(named.name)
        return f"{identifier(named.schema)}.{identifier(named.name)}"

    def visible(self, oid: int) -> bool:
        """Whether the relation's bare name means it, as pg_table_is_visible() has it.

        What is found in mz_catalog only because that is searched implicitly does not count:
        clients list what is visible, and know to leave out pg_catalog but not ours.
        """
        named = self.relation_by_oid(oid)
        if named is None or (named.schema == "mz_catalog" and named.schema not in self.search_path):
            return False
        found = self._find((named.name,), strict=False)
        return found is not None and found.oid == oid

    def type_oid(self, text: str) -> int | None:
        """The oid behind a text given for regtype, if there is one."""
        return oid_of_name(text)

    # Items, for DDL

    def find_item(self, parts: tuple[str, ...]) -> Item | None:
        """What users made under this name; None when nothing, or nothing of theirs, is there."""
        found = self._find(parts, strict=False)
        return found if isinstance(found, Item) else None

    def resolve_item(self, parts: tuple[str, ...], *kinds: str) -> Item:
        """An item users made, of one of these kinds if any are given."""
        found = self._find(parts)
        typed = ".".join(parts)
        if found is None:
            unknown = self._unknown_item(parts)
            if kinds and not RELATION_KINDS & set(kinds):
                unknown.sqlstate = "42704"
            raise unknown
        if isinstance(found, BuiltinTable):
            raise UserError(f"system item '{found.schema}.{found.name}' cannot be modified", "42501")
        if kinds and found.kind not in kinds:
            raise UserError(f"{typed} is {with_article(found.kind)} not {with_article(kinds[0])}", "42809")
        return found

    def resolve_schema(self, parts: tuple[str, ...]) -> Schema:
        """`s` or `d.s`; system schemas are found in every database."""
        schema = self._find_schema(parts)
        if schema is None:
            raise UserError(f"unknown schema '{'.'.join(parts)}'", "3F000", hint=self._near_schema(parts))
        return schema

    def find_schema(self, parts: tuple[str, ...]) -> Schema | None:
        """As `resolve_schema`; None also when the database is not there."""
        if len(parts) == 2 and self.state.database_named(parts[0]) is None:
            return None
        return self._find_schema(parts)

    def resolve_database(self, name: str) -> Database:
        database = self.state.database_named(name)
        if database is None:
            names = [d.name for d in self.state.databases.values()]
            raise UserError(f"unknown database '{name}'", "3D000", hint=_did_you_mean(name, names))
        return database

    def known(self, kind: str, name: str) -> bool:
        """Whether there is a role, a schema or a database of this name."""
        match kind:
            case "role":
                return self.state.role_named(name) is not None
            case "schema":
                return self.find_schema((name,)) is not None
        return self.state.database_named(name) is not None

    def resolve_cluster(self, name: str) -> Cluster:
        cluster = self.state.cluster_named(name)
        if cluster is None:
            names = [c.name for c in self.state.clusters.values()]
            raise UserError(f"unknown cluster '{name}'", "42704", hint=_did_you_mean(name, names))
        return cluster

    def current_schema(self) -> Schema | None:
        """The first schema of the search path that exists and is not the system's."""
        return next((s for s in self._path_schemas() if s.database_id is not None), None)

    def place(self, parts: tuple[str, ...]) -> tuple[Schema, str]:
        """Where CREATE puts a name: the schema and the item's own name."""
        if len(parts) == 1:
            schema = self.current_schema()
            if schema is None:
                raise UserError(
                    "no schema has been selected to create in",
                    "3F000",
                    hint="Name the schema, or SET search_path to one that exists.",
                )
        else:
            schema = self.resolve_schema(parts[:-1])
            if schema.database_id is None:
                raise UserError(f"system schema '{schema.name}' cannot be modified", "42501")
        return schema, parts[-1]

    def full_name_parts(self, item: Item) -> tuple[str, ...]:
        """Database, schema and name; a temporary item has no database."""
        schema = self.state.schema(item.schema_id)
        if schema.database_id is None:
            return (schema.name, item.name)
        return (self.state.databases[schema.database_id].name, schema.name, item.name)

    def full_name(self, item: Item) -> str:
        """`materialize.public.t`, parts quoted where they must be."""
        return ".".join(identifier(part) for part in self.full_name_parts(item))

    def schema_full_name(self, schema: Schema) -> str:
        """`materialize.public`."""
        name = identifier(schema.name)
        if schema.database_id is None:
            return name
        return f"{identifier(self.state.databases[schema.database_id].name)}.{name}"

    # How names are looked up

    def _find(self, parts: tuple[str, ...], strict: bool = True) -> Item | BuiltinTable | None:
        """With `strict`, an unknown schema or database is the user's error."""
        if len(parts) == 1:
            for schema in self._searched_schemas():
                found = self._find_in(schema, parts[0])
                if found is not None:
                    return found
            return None
        if len(parts) > 3:
            if strict:
                raise UserError(
                    f"qualified name did not have between 1 and 3 components: {'.'.join(parts)}", "42601"
                )
            return None
        container = self.resolve_schema(parts[:-1]) if strict else self.find_schema(parts[:-1])
        return None if container is None else self._find_in(container, parts[-1])

    def _find_in(self, schema: Schema, name: str) -> Item | BuiltinTable | None:
        if schema.id == TEMPORARY_SCHEMA_ID:
            return self.state.item_named(schema.id, name, self.backend_pid)
        if schema.database_id is None:
            return BUILTINS_BY_NAME.get((schema.name, name))
        return self.state.item_named(schema.id, name)

    def _find_schema(self, parts: tuple[str, ...]) -> Schema | None:
        if len(parts) == 2:
            database = self.resolve_database(parts[0])
        elif len(parts) == 1:
            known = self.state.database_named(self.database)
            if known is None:
                return self._system_schema(parts[0])
            database = known
        else:
            return None
        return self.state.schema_named(database.id, parts[-1]) or self._system_schema(parts[-1])

    def _system_schema(self, name: str) -> Schema | None:
        return self.state.schema_named(None, "mz_temp" if name == "pg_temp" else name)

    def _path_schemas(self) -> Iterator[Schema]:
        for name in self.search_path:
            schema = self._find_schema((name,))
            if schema is not None:
                yield schema

    def _searched_schemas(self) -> Iterator[Schema]:
        if "mz_temp" not in self.search_path and "pg_temp" not in self.search_path:
            yield SYSTEM_SCHEMAS[TEMPORARY_SCHEMA_ID]
        for name in IMPLICIT_SCHEMAS:
            if name not in self.search_path:
                yield SYSTEM_SCHEMAS[SYSTEM_SCHEMA_IDS[name]]
        yield from self._path_schemas()

    def _named(self, found: Item | BuiltinTable) -> NamedRelation:
        if isinstance(found, BuiltinTable):
            return NamedRelation(found.id, None, found.schema, found.name, "system table", found.relation)
        if found.kind not in RELATION_KINDS:
            raise UserError(
                f"catalog item '{self.full_name(found)}' is {with_article(found.kind)}"
                " and so cannot be depended upon",
                "42809",
            )
        schema = self.state.schema(found.schema_id)
        database = self.state.database_of(found)
        return NamedRelation(
            found.id,
            None if database is None else database.name,
            schema.name,
            found.name,
            cast(ItemKind, found.kind),
            found.relation,
            found.definition,
        )

    def _named_if_readable(self, found: Item | BuiltinTable | None) -> NamedRelation | None:
        if found is None or (isinstance(found, Item) and found.kind not in RELATION_KINDS):
            return None
        return self._named(found)

    # Hints

    def _unknown_item(self, parts: tuple[str, ...]) -> UserError:
        return UserError(f"unknown catalog item '{'.'.join(parts)}'", "42P01", hint=self._near_item(parts))

    def _near_item(self, parts: tuple[str, ...]) -> str | None:
        """A name like it where it was looked for, or the same name elsewhere."""
        name = parts[-1]
        searched = (
            list(self._searched_schemas())
            if len(parts) == 1
            else [schema for schema in (self.find_schema(parts[:-1]),) if schema is not None]
        )
        hint = _did_you_mean(name, [n for schema in searched for n in self._names_in(schema)])
        if hint is not None:
            return hint
        for item in self.state.items.values():
            if item.name == name and item.temporary_pid is None:
                return f"Did you mean {self.full_name(item)}?"
        for schema_name in ("mz_internal", "mz_catalog", "pg_catalog", "information_schema"):
            if (schema_name, name) in BUILTINS_BY_NAME:
                return f"Did you mean {schema_name}.{name}?"
        return None

    def _names_in(self, schema: Schema) -> Iterable[str]:
        if schema.id == TEMPORARY_SCHEMA_ID:
            return [item.name for item in self.state.temporary_items_of(self.backend_pid)]
        if schema.database_id is None:
            return [builtin.name for builtin in BUILTINS.values() if builtin.schema == schema.name]
        return [item.name for item in self.state.items_of(schema.id)]

    def _near_schema(self, parts: tuple[str, ...]) -> str | None:
        database = self.state.database_named(parts[0] if len(parts) == 2 else self.database)
        own = [] if database is None else [s.name for s in self.state.schemas_of(database.id)]
        return _did_you_mean(parts[-1], [*own, *SYSTEM_SCHEMA_IDS])


def _did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    near = difflib.get_close_matches(name, list(candidates), n=1, cutoff=0.75)
    return f'Did you mean "{near[0]}"?' if near else None
