"""Ids: text that names a thing for ever, whatever its name becomes.

    u1, u2, ...    what users made, drawn from one counter per kind of namespace
    s1, s2, ...    what the product itself has

Order of creation is the order of the number, and tools sort by it.
"""

from __future__ import annotations

from typing import NewType

ItemId = NewType("ItemId", str)
DatabaseId = NewType("DatabaseId", str)
SchemaId = NewType("SchemaId", str)
ClusterId = NewType("ClusterId", str)
RoleId = NewType("RoleId", str)


def id_number(identity: str) -> int:
    """The number behind the letter: 12 of `u12`."""
    return int(identity[1:])


def is_user_id(identity: str) -> bool:
    """Whether a user made the thing."""
    return identity.startswith("u")
