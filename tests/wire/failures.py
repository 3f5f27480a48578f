"""Everything that can fail between a client and a server, in everything that it can fail in.

    FAILURES   messages that fail, by what is wrong with them
    PLACES     what is sent around them: a block, statements of one query, a pipeline

and longer conversations (conversations.py).

Each failure in each place is one exchange that writes a row into `t` before and after, and looks
what is there in the end.

    python -m tests.wire.failures HOST PORT

asks a PostgreSQL and writes its answers to failures.txt, which test_failures.py compares with ours.  Of an
error only severity and SQLSTATE are kept: the words differ.  ParseComplete and BindComplete are left out:
PostgreSQL meets some errors one message earlier.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg

from tests.wire.conversations import CONVERSATIONS
from tests.wire.replay import Conversation

RECORDED = Path(__file__).parent / "failures.txt"
SETUP = ("DROP TABLE IF EXISTS t", "CREATE TABLE t (a int, b text)")

Lines = tuple[str, ...]

_SIMPLE: dict[str, str] = {
    "syntax error": "SELEC 1",
    "unknown relation": "SELECT * FROM nothing",
    "unknown column": "SELECT nothing FROM t",
    "division by zero": "INSERT INTO t VALUES (1/0, 'zero')",
    "bad value": "INSERT INTO t VALUES ('x')",
    "unknown statement": "EXECUTE nothing",
    "unknown cursor": "FETCH 1 FROM nothing",
    "parameter without a value": "SELECT $1::int4",
    "unknown setting": "SET nothing_of_the_kind = 1",
    "unknown savepoint": "ROLLBACK TO nothing",
    "refused in a block": "DISCARD ALL",
}
_COPY: dict[str, Lines] = {
    "bad data of COPY": ('CopyData "x\\ty\\n"', "CopyDone"),
    "too few columns in COPY": ('CopyData "1\\n"', "CopyDone"),
    "COPY given up": ('CopyFail "no"',),
}
_EXTENDED: dict[str, Lines] = {
    "syntax error in Parse": ('Parse "SELEC 1"',),
    "unknown relation in Parse": ('Parse "SELECT * FROM nothing"',),
    "two statements in Parse": ('Parse "SELECT 1; SELECT 1"',),
    "unknown type in Parse": ('Parse "SELECT $1", "", (999999,)',),
    "name taken in Parse": ('Parse "SELECT 1", "taken"', 'Parse "SELECT 1", "taken"'),
    "unknown statement in Bind": ('Bind (), (), (), "", "nothing"',),
    "too few values in Bind": ('Parse "SELECT $1::int4"', "Bind"),
    "wrong number of formats in Bind": ('Parse "SELECT $1::int4"', 'Bind (b"1",), (0, 0)'),
    "unknown format in Bind": ('Parse "SELECT $1::int4"', 'Bind (b"1",), (7,)'),
    "wrong result formats in Bind": ('Parse "SELECT 1"', "Bind (), (), (0, 0)"),
    "bad text in Bind": ('Parse "SELECT $1::text"', 'Bind (b"\\xff",)'),
    "bad binary value in Bind": ('Parse "SELECT $1::int4"', 'Bind (b"\\x00\\x00\\x00\\x00\\x07",), (1,)'),
    "bad value in Bind": ('Parse "INSERT INTO t VALUES ($1)"', 'Bind (b"x",)', "Execute"),
    "portal taken in Bind": ('Parse "SELECT 1"', 'Bind (), (), (), "taken"', 'Bind (), (), (), "taken"'),
    "unknown statement in Describe": ('Describe "S", "nothing"',),
    "unknown portal in Describe": ('Describe "P", "nothing"',),
    "unknown portal in Execute": ('Execute 0, "nothing"',),
    "division by zero in Execute": ('Parse "INSERT INTO t VALUES (1/$1::int4)"', 'Bind (b"0",)', "Execute"),
    "malformed message": ('Raw "D", b"S"',),
    "wrong kind in Describe": ('Raw "D", b"Xnothing\\x00"',),
    "more in a message than belongs there": ('Raw "C", b"Snothing\\x00more"',),
    "function call": ('Raw "F", b"\\x00\\x00\\xff\\xff\\x00\\x00\\x00\\x00\\x00\\x00"',),
}
_INSERT = "INSERT INTO t VALUES (%d, '%s')"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'


def _run(text: str) -> Lines:
    return (f"Parse {_quoted(text)}", "Bind", "Execute")


def _failing_messages() -> dict[str, Lines]:
    """What is sent in a pipeline."""
    failing = {name: _run(text) for name, text in _SIMPLE.items() if name != "parameter without a value"}
    failing |= {name: (*_run("COPY t FROM STDIN"), *data) for name, data in _COPY.items()}
    return failing | _EXTENDED


def failing_queries() -> dict[str, Lines]:
    """What is sent as a message of its own."""
    failing: dict[str, Lines] = {name: (f"Query {_quoted(text)}",) for name, text in _SIMPLE.items()}
    failing |= {name: ('Query "COPY t FROM STDIN"', *data) for name, data in _COPY.items()}
    return failing | {name: (*lines, *_sync(lines)) for name, lines in _EXTENDED.items()}


def _sync(lines: Lines) -> Lines:
    """A function call is answered like a query, everything else up to a Sync."""
    return () if lines[-1].startswith('Raw "F"') else ("Sync",)


def cases() -> Iterator[tuple[str, list[Lines]]]:
    """Every exchange by name: what is sent, message group by message group."""
    before, after = _INSERT % (1, "before"), _INSERT % (2, "after")
    look: list[Lines] = [('Query "SELECT a, b FROM t ORDER BY a"',), ('Query "DELETE FROM t"',)]
    for name, lines in failing_queries().items():
        block: list[Lines] = [('Query "BEGIN"',), (f'Query "{before}"',), lines, (f'Query "{after}"',)]
        yield f"{name}, in a block that is committed", [*block, ('Query "COMMIT"',), *look]
    for name, text in _SIMPLE.items():
        if name == "unknown savepoint":
            continue
        several = f"{before}; {text}; {after}"
        yield f"{name}, between statements of a query", [(f"Query {_quoted(several)}",), *look]
    for name, data in _COPY.items():
        yield (
            f"{name}, between statements of a query",
            [(f'Query "{before}; COPY t FROM STDIN; {after}"', *data), *look],
        )
    for name, lines in _failing_messages().items():
        if name == "unknown savepoint":
            continue
        sent = (*_run(before), *lines, *_run(after), "Sync")
        yield f"{name}, in a pipeline", [sent, *look]
        if name in ("function call", "refused in a block"):
            continue
        begun = (*_run("BEGIN"), *_run(before), *lines, *_run("COMMIT"), "Sync")
        yield f"{name}, in a pipeline with a block", [begun, ('Query "COMMIT"',), *look]
    for name, script in CONVERSATIONS.items():
        yield name, [tuple(group.splitlines()) for group in script.strip().split("\n\n")]


def recorded() -> dict[str, list[str]]:
    """What PostgreSQL answered, by name."""
    answers: dict[str, list[str]] = {}
    for line in RECORDED.read_text().splitlines():
        if line.startswith("# "):
            current = answers[line[2:]] = []
        elif line:
            current.append(line)
    return answers


def answers(conversation: Conversation, groups: list[Lines]) -> list[str]:
    """What a server answers; every group must be answered by as many ReadyForQuery as it asks for."""
    lines: list[str] = []
    for sent in groups:
        conversation.send(sent)
        wanted = sum(_answered_by_ready(line) for line in sent)
        while wanted:
            reply = comparable(conversation.receive(1)[0])
            if reply not in _LEFT_OUT:
                lines.append(reply)
            wanted -= reply.startswith("ReadyForQuery")
    return lines


def _answered_by_ready(line: str) -> bool:
    return line.startswith(("Query", "Sync", 'Raw "F"'))


_LEFT_OUT = ("ParseComplete", "BindComplete", 'ParameterStatus "search_path\\x00other_path"')
"""The last one PostgreSQL tells from version 18 on."""
_SAME = {"42883": "0A000"}
"""What PostgreSQL says of unknown functions to call, and what we say."""


def comparable(reply: str) -> str:
    """A reply without what two servers may say differently."""
    if not reply.startswith(("ErrorResponse", "NoticeResponse")):
        return reply
    kind, severity, sqlstate = reply.split(" ")[:3]
    return f"{kind} {severity} {_SAME.get(sqlstate, sqlstate)}"


def record(host: str, port: int) -> None:
    """Ask a PostgreSQL."""
    with psycopg.connect(host=host, port=port, user="postgres", dbname="postgres", autocommit=True) as setup:
        written = []
        for name, groups in cases():
            for statement in SETUP:
                setup.execute(statement.encode())
            conversation = Conversation(host, port, "postgres", "postgres")
            written.append("\n".join([f"# {name}", *answers(conversation, groups)]))
            conversation.end()
    RECORDED.write_text("\n\n".join(written) + "\n")


if __name__ == "__main__":
    record(sys.argv[1], int(sys.argv[2]))
