"""A folder of JSON lines in SQL.

CREATE CONNECTION c TO LINES (FOLDER '/somewhere')
CREATE SOURCE s FROM LINES CONNECTION c [(SUFFIX '.jsonl')]
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.core.clock import unique_name
from headwater.core.errors import UserError
from headwater.sources.connections import ConnectionKind, string
from headwater.sources.contract import Options, Secrets
from headwater.sources.dialect import Dialect, Examined
from headwater.sql import options as sql
from headwater.sql.upstream import Grammar, Upstream
from tests.kinds.lines import NAME, references


def _validate(options: dict[str, Any], secrets: Secrets) -> None:
    if not Path(options["folder"]).is_dir():
        raise UserError(f'folder "{options["folder"]}" does not exist', "58P01", hint="Make it first.")


def _resolve(upstream: Upstream, now_ms: int) -> dict[str, Any]:
    return {"suffix": upstream.option("SUFFIX") or ".jsonl", "reader": unique_name()}


def _examine(options: Options, secrets: Secrets) -> Examined:
    found = references(options, secrets, None)
    if not found:
        raise UserError(f"LINES source validation: no file ends with {options['suffix']}", "42P01")
    return Examined(found, {"files_at_first": len(found)}, (("files are trusted", "Read them."),))


def _sources(facts: SystemFacts) -> Columns:
    sources = [s for s in facts.state.items.values() if s.ingests and s.ingestion.source_type == NAME]
    return {
        "id": [facts.state.named_source(source.id).id for source in sources],
        "suffix": [source.ingestion.options["suffix"] for source in sources],
    }


DIALECT = Dialect(
    source_type=NAME,
    grammar=Grammar("LINES", {"SUFFIX": sql.string}, connected=True),
    resolve=_resolve,
    examine=_examine,
    connections=(
        ConnectionKind(words="LINES", readers={"FOLDER": string}, required=("FOLDER",), validate=_validate),
    ),
    relations=(
        BuiltinTable(
            number=3_001,
            schema="mz_internal",
            name="mz_lines_sources",
            description="Facts of sources of JSON lines.",
            columns=shape("id text\nsuffix text"),
            rows=_sources,
        ),
    ),
    reference_required=lambda options: "Say which file is wanted: REFERENCE file",
)
