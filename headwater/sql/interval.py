"""The name by which the coordinator knows the reader of interval text (core/interval.py)."""

from __future__ import annotations

from headwater.core.interval import parse_interval

__all__ = ["parse_interval"]
