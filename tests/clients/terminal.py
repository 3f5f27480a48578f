"""psql as a person has it: in a terminal, with keys pressed and answers awaited."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import time

from tests.support.server import HeadwaterServer, eventually

WITHIN_S = 60.0
PROMPT = r"[=*!-][>#] "


class Terminal:
    """psql in a pseudo-terminal."""

    def __init__(self, server: HeadwaterServer, *arguments: str) -> None:
        self.shown = ""
        self._seen = 0
        command = [
            "psql",
            "-X",
            "-h",
            "127.0.0.1",
            "-p",
            str(server.sql_port),
            "-U",
            "materialize",
            *arguments,
        ]
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="dumb", PAGER="cat", PSQL_HISTORY="/dev/null")
            os.execvp(command[0], command)
        self.expect("=[>#] ")

    def begin(self, statement: str, server: HeadwaterServer) -> None:
        """Type a statement, and wait until the server runs it."""
        self.type(statement + "\n")
        running = "SELECT query FROM pg_stat_activity WHERE state = 'active'"
        eventually(lambda: (statement.rstrip(";"),) in server.query(running))

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._terminal, text.encode())

    def interrupt(self, answer: str) -> None:
        """Ctrl-C, what it leads to, and the prompt after that."""
        os.kill(self.pid, signal.SIGINT)
        self.expect(answer)
        self.expect(PROMPT)

    def expect(self, pattern: str) -> str:
        """Wait until something new matches; returns what was shown up to its end."""
        deadline = time.monotonic() + WITHIN_S
        while True:
            found = re.search(pattern, self.shown[self._seen :])
            if found is not None:
                begin, self._seen = self._seen, self._seen + found.end()
                return self.shown[begin : self._seen]
            if time.monotonic() > deadline or not self._read(0.5):
                raise AssertionError(f"{pattern!r} was not shown, but:\n{self.shown[self._seen :]}")

    def run(self, statement: str) -> str:
        """A line and its answer, up to the prompt after it."""
        self.type(statement + "\n")
        self.expect(re.escape(statement) + "\n")
        return self.expect(PROMPT)

    def close(self) -> None:
        """End psql whatever it does."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._terminal)

    def _read(self, within_s: float) -> bool:
        """Take what is there; False when psql has gone."""
        ready, _, _ = select.select([self._terminal], [], [], within_s)
        if not ready:
            return True
        try:
            data = os.read(self._terminal, 65536)
        except OSError:
            return False
        self.shown += data.decode(errors="replace").replace("\r", "").replace("\x07", "")
        return bool(data)
