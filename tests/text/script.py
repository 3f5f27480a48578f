"""Scripts of statements and what they answer, and how they are run.

A script is a text file of blocks, separated by blank lines:

    # a remark
    > SELECT 1, NULL, 'a b';          a statement and the rows it returns, in any order
    1 | <null> | a b                  unless it says ORDER BY; `...` stands for any value

    = INSERT INTO t VALUES (1);       a statement and its command tag
    INSERT 0 1

    ! SELECT * FROM nothing;          a statement and its error: SQLSTATE, message, and any of
    42P01: unknown catalog item 'nothing'     DETAIL, HINT and POSITION that are worth checking
    POSITION: 15

    ? SELECT count(*) FROM t;         as `>`, asked again until it is so (or time is up)
    3

    other> SELECT 1;                  the same in another session, which begins when first named
    1
    other- drop                       and ends here

    operator= ALTER SYSTEM RESET ALL; a session of this name is one on the operator's address
    ALTER SYSTEM

A statement may have several lines, and ends with the last `;` of a line.  Lines `NOTICE: ...`
or `WARNING: ...` are notices that must come.  Lines `< ...` after COPY ... FROM STDIN are its data.
`$schema` is the name of the schema that the script has for itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg import pq

from tests.support.server import HeadwaterServer, eventually

_BEGIN = re.compile(r"^(?P<session>\w*)(?P<kind>[>=!?-]) (?P<text>.*)$")
_NOTICE = re.compile(r"^(NOTICE|WARNING|INFO|DEBUG): ")
_ROWS = (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.SINGLE_TUPLE)


@dataclass(slots=True)
class Block:
    """One statement and what is expected of it."""

    line: int
    session: str
    kind: str
    statement: str
    expected: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    data: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Answer:
    """What a statement did: rows as lines, tags, an error, notices."""

    rows: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    error: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)


def read_script(path: Path) -> list[Block]:
    """The blocks of a script."""
    blocks: list[Block] = []
    current: Block | None = None
    complete = True
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if current is not None and not complete:
            current.statement += "\n" + line
        elif not line.strip():
            current = None
        elif line.startswith("#") and current is None:
            continue
        elif (begin := _BEGIN.match(line)) is not None:
            current = Block(number, begin["session"], begin["kind"], begin["text"])
            blocks.append(current)
        elif current is None:
            raise ValueError(f"{path.name}:{number}: a line that belongs to no statement: {line}")
        elif _NOTICE.match(line):
            current.notices.append(line)
        elif line.startswith("< "):
            current.data.append(line[2:])
        else:
            current.expected.append(line)
        complete = current is None or current.kind == "-" or current.statement.rstrip().endswith(";")
    return blocks


class Sessions:
    """The sessions of one script, each in the script's own schema."""

    def __init__(self, server: HeadwaterServer, schema: str) -> None:
        self._server = server
        self._schema = schema
        self._open: dict[str, tuple[psycopg.Connection[object], list[str]]] = {}

    def ask(self, block: Block) -> Answer:
        """Run a block's statement in its session."""
        connection, notices = self._session(block.session)
        notices.clear()
        answer = Answer()
        connection.pgconn.send_query(block.statement.replace("$schema", self._schema).encode())
        while (result := connection.pgconn.get_result()) is not None:
            _collect(connection.pgconn, result, block, answer)
        answer.notices += notices
        return answer

    def close(self, name: str | None = None) -> None:
        """End one session, or all."""
        for key in [name] if name is not None else list(self._open):
            connection, _ = self._open.pop(key)
            connection.close()

    def _session(self, name: str) -> tuple[psycopg.Connection[object], list[str]]:
        if name not in self._open:
            connection = self._server.connect_operator() if name == "operator" else self._server.connect()
            notices: list[str] = []
            connection.add_notice_handler(lambda d: notices.append(f"{d.severity}: {d.message_primary}"))
            connection.execute(f"SET search_path = {self._schema}".encode())
            connection.execute(b"SET statement_timeout = '60s'")
            self._open[name] = (connection, notices)
        return self._open[name]


def _collect(wire: pq.abc.PGconn, result: pq.abc.PGresult, block: Block, answer: Answer) -> None:
    status = result.status
    if status in _ROWS:
        answer.rows += _lines(result)
        answer.tags.append((result.command_status or b"").decode())
    elif status == pq.ExecStatus.COMMAND_OK:
        answer.tags.append((result.command_status or b"").decode())
    elif status == pq.ExecStatus.COPY_IN:
        for line in block.data:
            wire.put_copy_data(line.replace("\\t", "\t").encode() + b"\n")
        wire.put_copy_end()
    elif status == pq.ExecStatus.COPY_OUT:
        while True:
            count, data = wire.get_copy_data(0)
            if count < 0:
                return
            answer.rows.append(bytes(data).decode().rstrip("\n").replace("\t", " | "))
    elif status == pq.ExecStatus.FATAL_ERROR:
        answer.error = list(_error(result))


def _lines(result: pq.abc.PGresult) -> Iterator[str]:
    for row in range(result.ntuples):
        values = (result.get_value(row, column) for column in range(result.nfields))
        yield " | ".join("<null>" if v is None else v.decode().replace("\n", "\\n") for v in values)


def _error(result: pq.abc.PGresult) -> Iterator[str]:
    field_of = pq.DiagnosticField
    texts = {
        name: (result.error_field(code) or b"").decode()
        for name, code in (
            ("SQLSTATE", field_of.SQLSTATE),
            ("MESSAGE", field_of.MESSAGE_PRIMARY),
            ("DETAIL", field_of.MESSAGE_DETAIL),
            ("HINT", field_of.MESSAGE_HINT),
            ("POSITION", field_of.STATEMENT_POSITION),
            ("CONTEXT", field_of.CONTEXT),
        )
    }
    yield f"{texts.pop('SQLSTATE')}: {texts.pop('MESSAGE')}"
    yield from (f"{name}: {text}" for name, text in texts.items() if text)


def complaint(block: Block, answer: Answer, schema: str) -> str | None:
    """What is wrong with an answer; None when nothing is."""
    expected = [line.replace("$schema", schema) for line in block.expected]
    notices = [line.replace("$schema", schema) for line in block.notices]
    if block.kind == "!":
        right = bool(answer.error) and not _missing(expected, answer.error)
        what, given = "an error with", answer.error or [*answer.rows, *answer.tags]
    elif answer.error:
        right, what, given = False, "no error", answer.error
    elif block.kind == "=":
        right, what, given = answer.tags == expected, "the tag", answer.tags
    else:
        right = _same_rows(expected, answer.rows, "order by" in block.statement.lower())
        what, given = "the rows", answer.rows
    if right and _missing(notices, answer.notices):
        right, what, expected, given = False, "notices", notices, answer.notices
    if right:
        return None
    lines = ["wanted:", *(f"  {line}" for line in expected), "got:", *(f"  {line}" for line in given)]
    return f"line {block.line}: expected {what} of\n{block.statement}\n" + "\n".join(lines)


def _missing(expected: list[str], given: list[str]) -> list[str]:
    return [line for line in expected if not any(_like(line, one) for one in given)]


def _same_rows(expected: list[str], given: list[str], ordered: bool) -> bool:
    if len(expected) != len(given):
        return False
    if ordered:
        return all(_like(a, b) for a, b in zip(expected, given, strict=True))
    left = list(given)
    for line in sorted(expected, key=lambda line: "..." in line):
        found = next((one for one in left if _like(line, one)), None)
        if found is None:
            return False
        left.remove(found)
    return True


def _like(expected: str, given: str) -> bool:
    pattern = re.escape(expected).replace(re.escape("..."), ".*")
    return re.fullmatch(pattern, given, re.DOTALL) is not None


def run_script(server: HeadwaterServer, path: Path, schema: str) -> list[str]:
    """Run a whole script in a schema of its own; all that was wrong."""
    server.query(f"CREATE SCHEMA {schema}")
    sessions = Sessions(server, schema)
    complaints = []
    try:
        for block in read_script(path):
            if block.kind == "-":
                sessions.close(block.session)
                continue
            found = _run(sessions, block, schema)
            if found is not None:
                complaints.append(f"{path.name}, {found}")
    finally:
        sessions.close()
        server.query(f"DROP SCHEMA {schema} CASCADE")
    return complaints


def _run(sessions: Sessions, block: Block, schema: str) -> str | None:
    found = complaint(block, sessions.ask(block), schema)
    if found is None or block.kind != "?":
        return found
    try:
        eventually(lambda: complaint(block, sessions.ask(block), schema) is None)
    except AssertionError:
        return complaint(block, sessions.ask(block), schema)
    return None
