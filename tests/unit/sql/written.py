"""Upstreams as they were written, as values."""

from __future__ import annotations

from typing import Any

from headwater.sources import dialects  # whose words the parser knows from here on
from headwater.sql.cursor import Name
from headwater.sql.options import option_of
from headwater.sql.upstream import Upstream

__all__ = ["dialects", "generator", "kafka", "mysql", "postgres"]


def generator(variant: str, **options: Any) -> Upstream:
    return _with(Upstream("LOAD GENERATOR", variant), options)


def postgres(connection: Name, **options: Any) -> Upstream:
    return _with(Upstream("POSTGRES", connection=connection), options)


def mysql(connection: Name, **options: Any) -> Upstream:
    return _with(Upstream("MYSQL", connection=connection), options)


def kafka(connection: Name, **options: Any) -> Upstream:
    return _with(Upstream("KAFKA", connection=connection), options)


def _with(upstream: Upstream, options: dict[str, Any]) -> Upstream:
    return upstream.with_options({option_of(name): value for name, value in options.items()})
