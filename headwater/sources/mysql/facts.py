"""What an upstream says of itself, as values.

    ServerFacts      which server it is, and its system variables
    TableFacts       a base table
      ColumnFacts    a column, as information_schema.columns has it
      KeyFacts       a primary or unique key over columns

Not here: asking (inspect.py), pinning (pin.py), comparing with what was pinned (altered.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

Flavour = Literal["mysql", "mariadb"]

ENGINE: Final = "InnoDB"
"""The one whose tables can be read as they were at one moment."""

_LABELLED: Final = ("enum", "set")
_LABEL: Final = re.compile(r"'((?:[^'\\]|''|\\.)*)'", re.DOTALL)
_ESCAPED: Final = re.compile(r"''|\\(.)", re.DOTALL)
_ESCAPES: Final = {"0": "\0", "n": "\n", "r": "\r"}


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """A column; `data_type` is "int", `column_type` "int unsigned" or "enum('a','b')"."""

    name: str
    data_type: str
    column_type: str
    nullable: bool = True
    length: int | None = None  # of texts in characters, of binaries in bytes
    precision: int | None = None
    scale: int | None = None
    fraction: int | None = None  # digits of seconds
    charset: str | None = None
    collation: str | None = None
    generated: bool = False
    invisible: bool = False
    expression: str | None = None  # of a generated one
    place: int = 0  # among the table's columns

    @property
    def unsigned(self) -> bool:
        """Whether it is a number that cannot be below zero."""
        return self.data_type not in _LABELLED and "unsigned" in self.column_type.split()

    @property
    def labels(self) -> tuple[str, ...]:
        """What the values of an enum or a set are called."""
        if self.data_type not in _LABELLED:
            return ()
        return tuple(_ESCAPED.sub(_unescaped, label) for label in _LABEL.findall(self.column_type))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> ColumnFacts:
        """Of what is pinned, which may say more."""
        return ColumnFacts(**{name: value[name] for name in ColumnFacts.__dataclass_fields__})


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """A primary or unique key; none of its parts is an expression."""

    name: str
    columns: tuple[str, ...]
    primary: bool = False

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "columns": list(self.columns), "primary": self.primary}


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A base table; of columns that we may not see nothing is known."""

    schema: str
    name: str
    columns: tuple[ColumnFacts, ...]
    keys: tuple[KeyFacts, ...] = ()
    engine: str = ENGINE
    rows_estimate: int = 0
    cascades: tuple[str, ...] = ()  # foreign keys that change its rows, where that is not logged


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """A server; `variables`: some of its own, as `SHOW VARIABLES` prints them; what it has not is absent."""

    flavour: Flavour
    version: tuple[int, int, int]
    server_id: int
    variables: Mapping[str, str] = field(default_factory=dict)
    user: str = ""  # as whom we are logged in: 'reader'@'%'

    @property
    def title(self) -> str:
        """In messages: MariaDB 10.11.6."""
        return f"{'MariaDB' if self.flavour == 'mariadb' else 'MySQL'} {'.'.join(map(str, self.version))}"

    @property
    def identity(self) -> str:
        """What no other server of a replication is called."""
        return self.variables.get("server_uuid") or str(self.server_id)

    @property
    def executed(self) -> str:
        """All transactions that it has in its binary log, or had: GTIDs as it prints them."""
        name = "gtid_binlog_pos" if self.flavour == "mariadb" else "gtid_executed"
        return self.variables.get(name, "").replace("\n", "")


def _unescaped(match: re.Match[str]) -> str:
    escaped = match.group(1)
    return "'" if escaped is None else _ESCAPES.get(escaped, escaped)
