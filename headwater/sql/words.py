"""Keywords, and trees of keyword phrases.

A word of SQL is a keyword only where the grammar asks for one, so nearly all
of these may also be names.  Three sets tell what is not obvious from a word:

    RESERVED   never a name unless quoted
    KEYWORDS   printed in capitals by errors (`found SOURCE`)
    QUOTED     quoted by the renderer, because a clause could begin with it

A `Branch` is a tree of phrases: statements are found by their first words and
options by their names, and the same walk knows what could have come instead.

These are not the words of queries (select/parse/words.py), and the two cannot be one list.
The grammar of statements is Materialize's: here a name may be `user`, `only` or `do`,
which PostgreSQL reserves, and may not be `like`, which names a function in a query.
There a word has one of four classes, here it is a name or none.

Not here: the grammar itself (statements/), reading words from a text (lexer.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product
from typing import Final, Generic, TypeVar

T = TypeVar("T")

NAME: Final = "<name>"
"""In a phrase: a name of one or more parts."""
ANYTHING: Final = "..."
"""In a phrase: any tokens, up to what follows outside of parentheses."""

_RESERVED: Final = """
    ALL AND ANY ARRAY AS ASC BETWEEN BOTH CASE CAST CHECK COLLATE CONSTRAINT CREATE CROSS
    CURRENT_DATE CURRENT_ROLE CURRENT_TIMESTAMP CURRENT_USER DEFAULT DESC DISTINCT ELSE END EXCEPT EXISTS
    FALSE FETCH FOR FOREIGN FROM FULL GROUP HAVING ILIKE IN INNER INTERSECT INTO IS JOIN LATERAL LEADING
    LEFT LIKE LIMIT NATURAL NOT NULL OFFSET ON OR ORDER OUTER PRIMARY QUALIFY REFERENCES RETURNING
    RIGHT SELECT SESSION_USER SOME TABLE THEN TO TRAILING TRUE UNION UNIQUE USING WHEN WHERE WINDOW
    WITH
"""
_OTHERS: Final = """
    ABORT ACCESS ADD ADMIN ALTER ANALYZE ARN ASSUME AT AUCTION AUTHORITY AUTHORIZATION AVAILABILITY AVRO
    AWS BATCH BEGIN BINARY BODY BROKER BROKERS BY BYPASSRLS BYTES CALL CARDINALITY CASCADE CATALOG
    CERTIFICATE CHAIN CHARACTERISTICS CHECKPOINT CLOCK CLOSE CLUSTER CLUSTERS COLUMN COLUMNS COMMENT
    COMMIT COMMITTED COMPATIBILITY CONFLICT CONFLUENT CONNECTION CONNECTIONS CONSTRAINTS COPY COUNTER
    CREATECLUSTER CREATEDB CREATEROLE CREDENTIAL CSV CURSOR DATABASE DATABASES DATUMS DEALLOCATE
    DEBEZIUM DEBUGGING DECLARE DECODING DECORRELATED DEFAULTS DEFERRABLE DELETE DELIMITED DELIMITER
    DETAILS DISCARD DISK DO DROP DUCKDB ENCRYPTED ENDPOINT ENFORCED ENGINE ENVELOPE ERROR ERRORS ESCAPE
    EXCLUDE EXECUTE EXPLAIN EXPOSE FACTOR FAIL FILTER FIRST FORMAT FORWARD FULLNAME FUNCTION GCP
    GENERATOR GLUE GRANT GRANTED GRANTS HEADER HEADERS HISTORY HOLD HOST HOUR ICEBERG ID IF IGNORE
    INCLUDE INDEX INDEXES INHERIT INLINE INSERT INTERVAL INTROSPECTION ISOLATION JSON KAFKA KEY KEYS
    LAST LATEST LEAST LEVEL LIST LISTEN LOAD LOCAL LOCALLY LOCK LOGIN MANAGED MAP MARKETING MATERIALIZE
    MATERIALIZED MAX MECHANISMS MEMBERSHIP MERGE MESSAGE METADATA MIGRATION MINUTE MODE MOVE MYSQL NAME
    NAMES NETWORK NEXT NO NOBYPASSRLS NOCREATECLUSTER NOCREATEDB NOCREATEROLE NOINHERIT NOLOGIN NONE
    NOREPLICATION NOSUPERUSER NOTIFY NULLS OBJECTS OF ONLY OPTIMIZED OPTION OWNED OWNER PARTITION
    PARTITIONS PASSWORD PHYSICAL PLAN PLANS POLICY PORT POSITION POSTGRES PRECISION PREFIX PREPARE
    PRIVATELINK PRIVILEGES PROGRESS PROTOBUF PROTOCOL PUBLIC QUOTE RAW READ REASSIGN REDACTED
    REFERENCE REFRESH REGEX REGION REGISTRY RELEASE RENAME REPEATABLE REPLACE REPLACEMENT REPLICA
    REPLICAS REPLICATION RESET RESTRICT RESYNC RETAIN REVOKE ROLE ROLES ROLLBACK ROTATE ROUNDS SASL
    SAVEPOINT SCALE SCHEMA SCHEMAS SCOPE SCROLL SECRET SECRETS SECURITY SEED SEQUENCES SERIALIZABLE
    SERVER SERVICE SESSION SET SHARE SHOW SINK SINKS SIZE SNAPSHOT SOURCE SOURCES SPARK SQL SSH SSL
    START STDIN STDOUT STRATEGY STRICT STRONG SUBSCRIBE SUBSOURCE SUBSOURCES SUPERUSER SWAP SYSID SYSTEM
    TABLES TAIL TEMP TEMPORARY TEXT TICK TIME TIMEOUT TIMESTAMP TOKEN TOPIC TPCH TRANSACTION
    TRANSACTIONAL TRUNCATE TUNNEL TYPE TYPES UNCOMMITTED UNLISTEN UNTIL UP UPDATE UPSERT UPSTREAM URL
    USER USERNAME VACUUM VALID VALIDATE VALUE VALUES VARYING VERIFY VIEW VIEWS WAREHOUSE WEBHOOK WIRE
    WITHIN WITHOUT WORK WRITE ZONE ZONES
"""

RESERVED: Final = frozenset(_RESERVED.split())
KEYWORDS: Final = RESERVED | frozenset(_OTHERS.split())
QUOTED: Final = RESERVED | {"FORWARD", "IF", "NEXT", "PREPARE", "REPLICA", "VALUES"}


@dataclass(slots=True)
class Branch(Generic[T]):
    """What may follow some words; `leaf` when they are already a whole phrase.

    What is `hidden` is found like everything else, but not offered by errors.
    """

    children: dict[str, Branch[T]] = field(default_factory=dict)
    leaf: T | None = None
    hidden: bool = False

    def add(self, words: Iterable[str], leaf: T, hidden: bool = False) -> None:
        """Add one phrase; the first one to claim it keeps it."""
        branch = self
        for word in words:
            branch = branch.children.setdefault(word, Branch(hidden=hidden))
        if branch.leaf is None:
            branch.leaf = leaf

    def expected(self) -> tuple[str, ...]:
        """What may come next, as errors name it."""
        offered = [word for word, child in self.children.items() if not child.hidden] or list(self.children)
        return tuple("identifier" if word == NAME else word for word in offered if word != ANYTHING)


def tree(phrases: Iterable[tuple[str, T]], hidden: Iterable[tuple[str, T]] = ()) -> Branch[T]:
    """A tree of phrases in the notation of `expand`."""
    root: Branch[T] = Branch()
    for phrase, leaf in phrases:
        for words in expand(phrase):
            root.add(words, leaf)
    for phrase, leaf in hidden:
        for words in expand(phrase):
            root.add(words, leaf, hidden=True)
    return root


def expand(phrase: str) -> list[tuple[str, ...]]:
    """All readings of a phrase: `A|B` is one of two words, `[A B]` may be left out."""
    choices: list[list[tuple[str, ...]]] = []
    rest = phrase
    while rest := rest.strip():
        if rest.startswith("["):
            group, _, rest = rest[1:].partition("]")
            choices.append([tuple(option.split()) for option in group.split("|")] + [()])
        else:
            word, _, rest = rest.partition(" ")
            choices.append([(option,) for option in word.split("|")])
    return [tuple(word for part in parts for word in part) for parts in product(*choices)]
