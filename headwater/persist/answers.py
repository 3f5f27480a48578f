"""Answers that a source's upstream gave and will always give, in a file each: nobody asks twice.

    sources/<source id>/answers/<hash of the question>

Any task of the source puts them there and finds them, on whichever machine it runs, also after every process
was another one.  They go with the source.

An answer that cannot be kept or read is no error: it is asked for again.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass

from headwater.persist.layout import answer_file
from headwater.persist.store import DataStore


@dataclass(frozen=True, slots=True)
class StoredAnswers:
    """Those of one source."""

    store: DataStore
    source_id: str

    def recall(self, question: str) -> bytes | None:
        """What was answered; None: nobody knows."""
        try:
            with self.store.open(self._path(question)) as file:
                return bytes(file.read())
        except OSError:
            return None

    def keep(self, question: str, answer: bytes) -> None:
        """For whoever asks the same; durable when this returns."""
        with suppress(OSError), self.store.create(self._path(question)) as file:
            file.write(answer)

    def _path(self, question: str) -> str:
        return answer_file(self.source_id, hashlib.sha256(question.encode()).hexdigest())
