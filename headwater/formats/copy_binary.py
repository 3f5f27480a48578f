"""COPY ... FROM with FORMAT binary: a header, rows of fields with lengths, a trailer.

Not here: the form of a value (binary.py), the other formats (copy.py).
"""

from __future__ import annotations

import struct
from typing import Final

import pyarrow as pa

from headwater.core.errors import UserError
from headwater.core.relation import Column
from headwater.formats.binary import binary_to_text
from headwater.formats.byte_columns import split_fields

COPY_SIGNATURE: Final = b"PGCOPY\n\xff\r\n\x00"
_COPY_HEADER: Final = struct.Struct(">11sII")


class BinaryRows:
    """Rows of COPY's binary format: a header, rows of fields with lengths, a trailer.

    Where a row begins is known only when the one before has been read, so there is a
    loop here; it cuts, and each column is then converted by one function.
    """

    def __init__(self, columns: tuple[Column, ...], table: str) -> None:
        self._columns = columns
        self._table = table
        self._begun = False
        self._ended = False
        self._row_count = 0

    def take(self, data: bytes, last: bool) -> tuple[pa.RecordBatch | None, int]:
        """The complete rows of `data`, and how many bytes of it they were."""
        at = 0
        if not self._begun:
            at = self._header(data, last)
            if not at:
                return None, 0
        rows: list[list[bytes | None]] = []
        while not self._ended and at < len(data):
            following = self._row(data, at, rows)
            if following is None:
                break
            at = following
        if self._ended and at < len(data):
            raise self._wrong("received copy data after EOF marker")
        if last and at < len(data):
            raise self._wrong("unexpected EOF in COPY data")
        return self._batch(rows), at

    def _header(self, data: bytes, last: bool) -> int:
        """Where the rows begin, 0 if that is not known yet."""
        if data[: len(COPY_SIGNATURE)] != COPY_SIGNATURE[: len(data)]:
            raise self._wrong("COPY file signature not recognized")
        if len(data) >= _COPY_HEADER.size:
            _, flags, extension_bytes = _COPY_HEADER.unpack_from(data)
            if flags & 0xFFFF0000:
                raise self._wrong("unrecognized critical flags in COPY file header")
            end: int = _COPY_HEADER.size + extension_bytes
            if end <= len(data):
                self._begun = True
                return end
        if last:
            raise self._wrong(
                "COPY file signature not recognized" if not data else "invalid COPY file header"
            )
        return 0

    def _row(self, data: bytes, at: int, rows: list[list[bytes | None]]) -> int | None:
        """Append the row at this place; where the next one begins, None if it is not complete."""
        if at + 2 > len(data):
            return None
        count = int.from_bytes(data[at : at + 2], "big", signed=True)
        if count == -1:
            self._ended = True
            return at + 2
        if count != len(self._columns):
            self._row_count += len(rows)
            raise self._wrong(f"row field count is {count}, expected {len(self._columns)}")
        try:
            fields, at = split_fields(data, at + 2, count)
        except IndexError:
            return None
        except ValueError:
            raise self._wrong("field size in COPY data is less than nothing") from None
        rows.append(fields)
        return at

    def _batch(self, rows: list[list[bytes | None]]) -> pa.RecordBatch:
        arrays = []
        for index, column in enumerate(self._columns):
            values = [row[index] for row in rows]
            texts = [None if value is None else binary_to_text(value, column.type) for value in values]
            arrays.append(pa.array(texts, pa.string()))
        self._row_count += len(rows)
        return pa.RecordBatch.from_arrays(arrays, [column.name for column in self._columns])

    def _wrong(self, message: str) -> UserError:
        return UserError(message, "22P04", context=f"COPY {self._table}, line {self._row_count + 1}")
