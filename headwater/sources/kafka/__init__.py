"""Kafka as an upstream: what is written of it (grammar.py), and system relations.

It cannot be read yet.
"""

from __future__ import annotations

from headwater.sources.kafka.grammar import GRAMMAR
from headwater.sources.kafka.relations import MZ_KAFKA_SOURCE_TABLES

__all__ = ["GRAMMAR", "RELATIONS"]

RELATIONS = (MZ_KAFKA_SOURCE_TABLES,)
