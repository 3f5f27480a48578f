"""Upstreams: one folder per kind, all of the shape of `contract.SourceType`.

A new kind of source is one folder and one line in `SOURCE_TYPES`.  Nothing in
here imports Spark or another kind's folder.
"""

from __future__ import annotations

from headwater.sources.contract import SourceType
from headwater.sources.load_generator import LOAD_GENERATOR
from headwater.sources.postgres import POSTGRES

SOURCE_TYPES: dict[str, SourceType] = {type_.name: type_ for type_ in (LOAD_GENERATOR, POSTGRES)}
