"""PostgreSQL in SQL: from what was written to what a source keeps, and its own system relations."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from headwater.catalog.builtin.exports import upstream_tables
from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.core.clock import unique_name
from headwater.core.errors import UserError
from headwater.sources.contract import Options, Secrets
from headwater.sources.dialect import Dialect, Examined
from headwater.sources.postgres.connection_kind import CONNECTION
from headwater.sources.postgres.grammar import GRAMMAR, PUBLICATION
from headwater.sources.postgres.inspect import check_room, examine
from headwater.sources.postgres.pin import PREFIX
from headwater.sources.postgres.reader import SOURCE_TYPE
from headwater.sql.upstream import Upstream

SLOT_PREFIX: Final = "materialize_"


def _resolve(upstream: Upstream, now_ms: int) -> dict[str, Any]:
    """Nothing is made upstream by this: a slot has its name from here on, and whoever reads makes it."""
    publication = upstream.option(PUBLICATION)
    if publication is None:
        raise UserError(f"{PREFIX}CONNECTION must specify PUBLICATION", "22023")
    return {"publication": publication, "slot": SLOT_PREFIX + unique_name()}


def _examine(options: Options, secrets: Secrets) -> Examined:
    found = examine(options, secrets)
    left_out = found.facts.publication.left_out() if found.facts.publication is not None else ()
    warnings: tuple[tuple[str, str], ...] = ()
    if left_out:
        text = f'publication "{options["publication"]}" does not publish {", ".join(left_out)}'
        warnings = ((text, "Tables will not follow such changes."),)
    room = partial(check_room, found.facts, options["connection"])
    return Examined(found.references, {"identity": found.facts.identity()}, warnings, room)


def _sources(facts: SystemFacts) -> Columns:
    items = facts.state.items.values()
    sources = [s for s in items if s.ingests and s.ingestion.source_type == SOURCE_TYPE]
    options = [source.ingestion.options for source in sources]
    return {
        "id": [facts.state.named_source(source.id).id for source in sources],
        "replication_slot": [option["slot"] for option in options],
        "timeline_id": [option["identity"]["timeline"] for option in options],
    }


MZ_POSTGRES_SOURCES: Final = BuiltinTable(
    number=202,
    schema="mz_internal",
    name="mz_postgres_sources",
    description="Facts of PostgreSQL sources.",
    columns=shape(
        """
        id text
        replication_slot text
        timeline_id uint8?
        """
    ),
    rows=_sources,
)

MZ_POSTGRES_SOURCE_TABLES: Final = BuiltinTable(
    number=203,
    schema="mz_internal",
    name="mz_postgres_source_tables",
    description="Which PostgreSQL table feeds which table.",
    columns=shape(
        """
        id text
        schema_name text
        table_name text
        """
    ),
    rows=lambda facts: upstream_tables(facts, SOURCE_TYPE),
)

DIALECT: Final = Dialect(
    source_type=SOURCE_TYPE,
    grammar=GRAMMAR,
    resolve=_resolve,
    examine=_examine,
    connections=(CONNECTION,),
    relations=(MZ_POSTGRES_SOURCES, MZ_POSTGRES_SOURCE_TABLES),
    reference_required=lambda options: (
        "Say which table is wanted: CREATE TABLE .. FROM SOURCE .. (REFERENCE schema.table)"
    ),
)
