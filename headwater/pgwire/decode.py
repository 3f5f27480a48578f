"""Arguments of Bind, in whichever format, to the text the coordinator takes.

Not here: the binary forms themselves (formats/binary.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.core.errors import UserError
from headwater.core.types import SqlType
from headwater.formats.binary import binary_to_text
from headwater.pgwire.codec import decoded, malformed


def spread_formats(formats: Sequence[int], count: int, mismatch: str) -> tuple[int, ...]:
    """One format for each: none given is text for all, one is for all, else there must be `count`."""
    for format_ in formats:
        if format_ not in (0, 1):
            raise UserError(f"unsupported format code: {format_}", "22023")
    if len(formats) == count:
        return tuple(formats)
    if len(formats) > 1:
        raise malformed(mismatch)
    return (formats[0] if formats else 0,) * count


def arguments_text(
    arguments: Sequence[bytes | None], formats: Sequence[int], types: Sequence[SqlType]
) -> tuple[str | None, ...]:
    """The text of each argument; NULL is None."""
    spread = spread_formats(
        formats,
        len(arguments),
        f"bind message has {len(formats)} parameter formats but {len(arguments)} parameters",
    )
    return tuple(
        None if argument is None else _argument_text(argument, format_, type_, number)
        for number, (argument, format_, type_) in enumerate(zip(arguments, spread, types, strict=True), 1)
    )


def _argument_text(argument: bytes, format_: int, type_: SqlType, number: int) -> str:
    if format_ == 1:
        try:
            return binary_to_text(argument, type_)
        except UserError as error:
            if error.sqlstate == "22P03":
                error.message = f"incorrect binary data format in bind parameter {number}"
            raise
    if b"\x00" in argument:
        raise UserError('invalid byte sequence for encoding "UTF8": 0x00', "22021")
    return decoded(argument)
