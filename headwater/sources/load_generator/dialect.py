"""Load generators in SQL: from what was written to what a source keeps."""

from __future__ import annotations

from typing import Any, Final

from headwater.sources.contract import Options, Secrets
from headwater.sources.dialect import Dialect, Examined
from headwater.sources.load_generator.grammar import GRAMMAR
from headwater.sources.load_generator.options import resolve_options
from headwater.sources.load_generator.read import SOURCE_TYPE
from headwater.sources.load_generator.references import references
from headwater.sql.options import Duration
from headwater.sql.upstream import Upstream


def _resolve(upstream: Upstream, now_ms: int) -> dict[str, Any]:
    written = {name: value.text if isinstance(value, Duration) else value for name, value in upstream.options}
    return resolve_options(upstream.variant or "", written, now_ms)


def _examine(options: Options, secrets: Secrets) -> Examined:
    return Examined(references(options))


DIALECT: Final = Dialect(
    source_type=SOURCE_TYPE,
    grammar=GRAMMAR,
    resolve=_resolve,
    examine=_examine,
    switches={
        variant: f"enable_load_generator_{variant.lower().replace(' ', '_')}"
        for variant in ("COUNTER", "CLOCK", "DATUMS", "KEY VALUE")
    },
    chooses_subsources=False,
    unnamed="multi-output sources require a FOR TABLES (..) or FOR ALL TABLES statement",
)
