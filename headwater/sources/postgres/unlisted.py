"""Why a relation that the upstream has is no reference: asked once somebody has named it in vain.

a partition              the publication publishes its root instead (publish_via_partition_root)
a partitioned table      the publication publishes its partitions one by one
another table            it is not in the publication, or cannot be
a view and so on         nothing of it is ever published
"""

from __future__ import annotations

from typing import Any, Final

import psycopg

from headwater.sources.contract import Options, Secrets, Unlisted
from headwater.sources.postgres.connection import connect
from headwater.sources.postgres.pin import quoted
from headwater.sources.postgres.silence import bounded
from headwater.sources.postgres.trouble import trouble

_RELATIONS: Final = """
    SELECT current_database(), n.nspname, c.relname, c.relkind::text, c.relpersistence::text, p.pubviaroot,
        root.nspname, root.relname, EXISTS (
            SELECT FROM pg_get_publication_tables(p.pubname) AS published
            WHERE published.relid IN (SELECT relid FROM pg_partition_tree(c.oid))
        )
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    JOIN pg_publication AS p ON p.pubname = %(publication)s
    LEFT JOIN LATERAL (
        SELECT above.nspname, ancestor.relname FROM pg_get_publication_tables(p.pubname) AS published
        JOIN pg_partition_ancestors(c.oid) AS up ON up.relid = published.relid AND up.relid <> c.oid
        JOIN pg_class AS ancestor ON ancestor.oid = up.relid
        JOIN pg_namespace AS above ON above.oid = ancestor.relnamespace
        WHERE c.relispartition LIMIT 1
    ) AS root ON true
    WHERE c.relname = %(name)s AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
        AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
    ORDER BY n.nspname
"""
_KINDS: Final = {"v": "a view", "m": "a materialized view", "f": "a foreign table"}
_PERSISTENCE: Final = {"t": "TEMPORARY", "u": "UNLOGGED"}


def unlisted(options: Options, secrets: Secrets, name: str) -> tuple[Unlisted, ...]:
    """What is called so and is not published under this name."""
    publication = options["publication"]
    try:
        with connect(options["connection"], secrets) as connection, bounded(connection):
            rows = connection.execute(_RELATIONS, {"publication": publication, "name": name}).fetchall()
    except psycopg.Error as error:
        raise trouble(error) from error
    return tuple(Unlisted(row[:3], *_why(publication, *row[1:])) for row in rows)


def _why(
    publication: str,
    schema: str,
    name: str,
    kind: str,
    persistence: str,
    via_root: bool,
    root_schema: str | None,
    root: str | None,
    has_published: Any,
) -> tuple[str, str]:
    full, p = f"{quoted(schema)}.{quoted(name)}", quoted(publication)
    if kind in _KINDS:
        return (
            f"is {_KINDS[kind]}, and changes of tables alone are published",
            "Name the tables it is made of.",
        )
    if persistence in _PERSISTENCE:
        return (
            f"is {_PERSISTENCE[persistence]}, and its changes are not in the log",
            "ALTER TABLE .. SET LOGGED in the upstream makes an UNLOGGED table one that can be published.",
        )
    if root is not None and root_schema is not None:
        above = f"{quoted(root_schema)}.{quoted(root)}"
        return (
            f"is a partition of {above}, and publication {p} publishes it as part of that"
            " (publish_via_partition_root)",
            f"Take all of it: (REFERENCE {above}). Or, in the upstream: ALTER PUBLICATION {p}"
            " SET (publish_via_partition_root = false), which ends tables that take the whole.",
        )
    if kind == "p" and has_published and not via_root:
        return (
            f"is partitioned, and publication {p} publishes its partitions one by one",
            f"Take its partitions. Or, in the upstream: ALTER PUBLICATION {p}"
            " SET (publish_via_partition_root = true), which ends tables that take partitions.",
        )
    return (
        f"is not in publication {p}",
        f"In the upstream: ALTER PUBLICATION {p} ADD TABLE {full}",
    )
