"""Whether a table has been published all the time: what the stream does not say.

A publication may be narrowed and widened again, or a table be taken out and put back.  The changes of
that time are not in the stream, and nothing in it tells.  The catalog does: the rows of it by which a table
is published, each as oid.xmin, are its identity.  A row that is the same row in the same version has been
there all the time; one that was altered, or dropped and made again, is another one.

Not here: when that is asked (watch.py), what a table looks like (facts.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg

VERSION_SCHEMAS: Final = 150_000
"""Publications of schemas came with 15."""
_OF_ANCESTORS: Final = "ARN"


@dataclass(frozen=True, slots=True)
class Published:
    """How tables are published, at one moment."""

    via_root: bool = False
    identities: Mapping[int, frozenset[str]] = field(default_factory=dict)  # by table

    def identity(self, oid: int) -> list[str]:
        """As it is kept."""
        return sorted(self.identities.get(oid, ()))


# Rows of it, by the letter they begin with: p the publication; r, n the table or its schema is named in it;
# R, N that of a table above it; A its place below that.
_PUBLISHED: Final = """
    WITH RECURSIVE pub AS (
        SELECT oid, xmin, pubviaroot, puballtables AND NOT pubviaroot AS each
        FROM pg_publication WHERE pubname = %(publication)s
    ), wanted AS (
        SELECT t AS oid FROM unnest(%(oids)s::oid[]) AS t
    ), above (oid, rel, link) AS (
        SELECT oid, oid, NULL FROM wanted
        UNION ALL
        SELECT above.oid, i.inhparent, format('A%%s.%%s.%%s', i.inhrelid, i.inhparent, i.xmin)
        FROM above JOIN pg_inherits AS i ON i.inhrelid = above.rel
        JOIN pg_class AS c ON c.oid = i.inhrelid AND c.relispartition
        WHERE NOT (SELECT each FROM pub)
    ), identity (oid, part) AS (
        SELECT wanted.oid, format('p%%s.%%s', pub.oid, pub.xmin) FROM wanted, pub
        UNION ALL SELECT oid, link FROM above WHERE link IS NOT NULL
        UNION ALL
        SELECT above.oid,
            format('%%s%%s.%%s', CASE WHEN above.oid = above.rel THEN 'r' ELSE 'R' END, m.oid, m.xmin)
        FROM pub JOIN pg_publication_rel AS m ON m.prpubid = pub.oid JOIN above ON above.rel = m.prrelid
        {by_schema}
    )
    SELECT coalesce((SELECT pubviaroot FROM pub), false),
        (SELECT json_agg(json_build_array(oid::int8, part)) FROM identity)
"""
_BY_SCHEMA: Final = """
        UNION ALL
        SELECT above.oid,
            format('%%s%%s.%%s', CASE WHEN above.oid = above.rel THEN 'n' ELSE 'N' END, m.oid, m.xmin)
        FROM pub JOIN pg_publication_namespace AS m ON m.pnpubid = pub.oid
        JOIN pg_class AS c ON c.relnamespace = m.pnnspid JOIN above ON above.rel = c.oid
"""


def published(connection: psycopg.Connection[Any], publication: str, oids: Iterable[int]) -> Published:
    """How these tables are published now."""
    by_schema = connection.info.server_version >= VERSION_SCHEMAS
    row = connection.execute(
        _PUBLISHED.format(by_schema=_BY_SCHEMA if by_schema else "").encode(),
        {"publication": publication, "oids": list(oids)},
    ).fetchone()
    via_root, listed = row or (False, None)
    identities: dict[int, set[str]] = {}
    for oid, part in listed or ():
        identities.setdefault(oid, set()).add(part)
    return Published(via_root, {oid: frozenset(parts) for oid, parts in identities.items()})


def interrupted(before: Sequence[str], oid: int, now: Published, publication: str) -> str | None:
    """Why some changes of a table that had this identity may not have been published; None: all were."""
    was, is_ = frozenset(before), now.identities.get(oid, frozenset())
    if not {part for part in was if part[0] == "p"} <= is_:
        return f'publication "{publication}" was altered, so that changes may be missing'
    # What comes above a table takes it out of its place, if a publication publishes roots.
    risen = {part for part in is_ - was if part[0] in _OF_ANCESTORS} if now.via_root else set()
    if was <= is_ and not risen:
        return None
    return (
        f'table was taken out of publication "{publication}" and added again, so that changes may be missing'
    )
