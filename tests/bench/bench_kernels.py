"""What kernels take for a row.

Goal: no kernel that ordinary queries meet is slow without anybody knowing, and those that work by columns
are at least five times as fast as the same function row by row.
Method: every kernel over 100,000 rows in batches of 2,048, as DuckDB hands them over: ordinary values, some
NULLs, a few odd ones.  Processor time, because others work on the machine too; the best of three runs.
Those that work by columns are in docs/benchmarks.md.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from headwater.core.errors import UserError
from headwater.sql.select.kernels import KERNELS, Kernel
from headwater.sql.select.kernels.kernel import array_of_values
from tests.bench.figures import Figures
from tests.support.times_by_row import MODELS

ROWS: Final = 100_000
BATCH: Final = 2_048
GAIN_MIN: Final = 5.0

Maker = Callable[[random.Random], Any]


def _word(chance: random.Random) -> str:
    return " ".join(chance.choice(("order", "Invoice", "ready", "a", "of Paris")) for _ in range(3))


def _document(chance: random.Random) -> str:
    number, name = chance.randrange(10_000), _word(chance)
    return f'{{"id": {number}, "name": "{name}", "price": {number / 100}, "active": true}}'


ORDINARY: Final[dict[str, Maker]] = {
    "bool": lambda chance: chance.random() < 0.5,
    "int2": lambda chance: chance.randrange(1, 100),
    "int4": lambda chance: chance.randrange(1, 1_000),
    "int8": lambda chance: chance.randrange(1, 1_000),
    "float4": lambda chance: chance.randrange(1, 10_000) / 8,
    "float8": lambda chance: chance.random() * 1_000,
    "text": _word,
    "bytea": lambda chance: _word(chance).encode(),
    "date": lambda chance: chance.randrange(10_000, 20_000),
    "timestamp": lambda chance: chance.randrange(10**15, 2 * 10**15),
    "timestamptz": lambda chance: chance.randrange(10**15, 2 * 10**15),
    "interval": lambda chance: (chance.randrange(30), chance.randrange(60), chance.randrange(10**10)),
    "decimal(38,0)": lambda chance: chance.randrange(10**6),
}

NUMERIC: Final[Maker] = lambda chance: f"{chance.randrange(-100_000, 10_000_000) / 100:.2f}"  # noqa: E731
PLAIN_NUMERIC: Final[Maker] = lambda chance: NUMERIC(chance)  # noqa: E731
"""None of them odd, for what refuses those."""
ODD: Final[dict[str, tuple[Any, ...]]] = {
    "numeric": ("NaN", "1" * 40, "-0.000000000000000000000000000001"),
    "text": ("größer", "😀 and 😀"),
}


def _constant(value: Any) -> Maker:
    return lambda chance: value


_DATE: Final[tuple[Maker, ...]] = (
    lambda chance: chance.randrange(1970, 2030),
    lambda chance: chance.randrange(1, 13),
    lambda chance: chance.randrange(1, 29),
)
_CLOCK: Final[tuple[Maker, ...]] = (
    lambda chance: chance.randrange(24),
    lambda chance: chance.randrange(60),
    lambda chance: chance.random() * 60,
)

MADE: Final[dict[str, tuple[Maker, ...]]] = {
    "hw_substring": (_word, _constant(3), _constant(5)),
    "hw_substring_from": (_word, _constant(3)),
    "hw_left": (_word, _constant(5)),
    "hw_right": (_word, _constant(5)),
    "hw_overlay": (_word, _constant("xyz"), _constant(3), _constant(2)),
    "hw_split_part": (_word, _constant(" "), _constant(2)),
    "hw_lpad": (_word, _constant(30), _constant(" ")),
    "hw_rpad": (_word, _constant(30), _constant(" ")),
    "hw_repeat": (_word, _constant(3)),
    "hw_replace": (_word, _constant("order"), _constant("bill")),
    "hw_translate": (_word, _constant("abc"), _constant("xyz")),
    **{f"hw_{side}trim": (_word, _constant(" ")) for side in "blr"},
    "hw_text_cut": (_word, _constant(10), _constant("varchar")),
    "hw_text_fit": (_word, _constant(100), _constant("varchar")),
    "hw_like": (_word, _constant("%in\\voice%")),
    "hw_ilike": (_word, _constant("%invoice%")),
    "hw_regexp_matches": (_word, _constant("In.*e"), _constant("")),
    "hw_regexp_replace": (_word, _constant("In.*e"), _constant("x"), _constant("g")),
    "hw_regexp_match": (_word, _constant("In.*e"), _constant("")),
    "hw_regexp_all": (_word, _constant("In.*e"), _constant("g")),
    "hw_regexp_substring": (_word, _constant("In.*e")),
    "hw_regexp_split": (_word, _constant(" +"), _constant("")),
    "hw_regexp_count": (_word, _constant("r"), _constant(1), _constant("")),
    "hw_like_escape": (_word, _constant("#")),
    "hw_similar_to_escape": (_word, _constant("\\")),
    "hw_string_to_array": (_word, _constant(" "), _constant(None)),
    "hw_encode": (ORDINARY["bytea"], _constant("hex")),
    "hw_decode": (_constant("abcdef0123"), _constant("hex")),
    "hw_digest": (ORDINARY["bytea"], _constant("sha256")),
    "hw_hmac": (ORDINARY["bytea"], _constant(b"key"), _constant("sha256")),
    "hw_convert_from": (ORDINARY["bytea"], _constant("UTF8")),
    "hw_convert_to": (_word, _constant("UTF8")),
    "hw_get_byte": (ORDINARY["bytea"], _constant(0)),
    "hw_numeric_round": (NUMERIC, _constant(1)),
    "hw_numeric_trunc": (NUMERIC, _constant(1)),
    "hw_numeric_fit": (PLAIN_NUMERIC, _constant(1)),
    "hw_numeric_sum": (lambda chance: [NUMERIC(chance) for _ in range(10)],),
    "hw_numeric_to_int2": (lambda chance: f"{chance.randrange(30_000) / 100:.2f}",),
    "hw_numeric_to_int4": (PLAIN_NUMERIC,),
    "hw_numeric_to_int8": (PLAIN_NUMERIC,),
    "hw_numeric_power": (NUMERIC, _constant("2")),
    "hw_numeric_extreme": (lambda chance: [NUMERIC(chance), NUMERIC(chance)], _constant("greatest")),
    "hw_numeric_factorial": (lambda chance: chance.randrange(20),),
    "hw_jsonb_item": (_constant('[1, "two", 3]'), _constant(1)),
    "hw_jsonb_item_text": (_constant('[1, "two", 3]'), _constant(1)),
    "hw_jsonb_path": (_document, _constant(["name"])),
    "hw_jsonb_path_text": (_document, _constant(["name"])),
    "hw_jsonb_contains": (_document, _constant('{"active": true}')),
    "hw_jsonb_concat": (_document, _constant('{"active": false}')),
    "hw_jsonb_delete_item": (_constant('[1, "two", 3]'), _constant(1)),
    "hw_jsonb_delete_path": (_document, _constant(["name"])),
    "hw_jsonb_set": (_document, _constant(["name"]), _constant('"x"'), _constant(True)),
    "hw_jsonb_array_length": (_constant('[1, "two", 3]'),),
    "hw_jsonb_elements": (_constant('[1, "two", 3]'),),
    "hw_jsonb_elements_text": (_constant('[1, "two", 3]'),),
    "hw_jsonb_to_bool": (_constant("true"),),
    "hw_jsonb_to_numeric": (NUMERIC, _constant("numeric")),
    "hw_float8_regression": (lambda chance: [[1.0, 2.0], [3.0, 5.0]], _constant("corr")),
    "hw_percentile_cont": (_constant(0.5), lambda chance: [1.0, 2.0]),
    "hw_fraction": (lambda chance: chance.random(),),
    "hw_extract_date": (_constant("year"), ORDINARY["date"]),
    "hw_make_date": _DATE,
    "hw_make_time": _CLOCK,
    "hw_make_timestamp": (*_DATE, *_CLOCK),
    "hw_make_timestamptz": (*_DATE, *_CLOCK),
    "hw_time_scale": (lambda chance: chance.randrange(8 * 10**10), _constant(3)),
    "hw_timestamp_scale": (ORDINARY["timestamp"], _constant(3)),
    "hw_timestamptz_scale": (ORDINARY["timestamptz"], _constant(3)),
    "hw_date_bin_timestamp": (_constant((0, 0, 900_000_000)), ORDINARY["timestamp"], _constant(0)),
    "hw_date_bin_timestamptz": (_constant((0, 0, 900_000_000)), ORDINARY["timestamptz"], _constant(0)),
    "hw_to_zone": (_constant("Europe/Berlin"), ORDINARY["timestamptz"]),
    "hw_from_zone": (_constant("Europe/Berlin"), ORDINARY["timestamp"]),
    "hw_string_agg": (lambda chance: [["a", ","], ["b", ","]],),
    "hw_bytea_agg": (lambda chance: [[b"a", b","], [b"b", b","]],),
    "hw_concat": (lambda chance: [_word(chance), "x"],),
    "hw_concat_ws": (_constant(", "), lambda chance: [_word(chance), "x"]),
    "hw_format": (_constant("%s of %s"), lambda chance: [_word(chance), "x"]),
    "hw_numeric_to_char": (NUMERIC, _constant("999,999.99")),
}
"""Arguments that the type alone does not tell; constants as queries have them."""

FIELDS: Final = {"hw_date_trunc": "month", "hw_extract": "hour", "hw_date_part": "hour"}


def _makers(kernel: Kernel) -> tuple[Maker, ...]:
    if kernel.name in MADE:
        return MADE[kernel.name]
    for prefix, field in FIELDS.items():
        if kernel.name.startswith(prefix):
            zone = (_constant("Europe/Berlin"),) * (len(kernel.arguments) - 2)
            return (_constant(field), ORDINARY[kernel.arguments[1]], *zone)
    numeric = kernel.name.startswith(("hw_numeric_", "hw_text_to_numeric"))
    jsonb = kernel.name.startswith(("hw_jsonb_", "hw_text_to_json"))
    makers: list[Maker] = []
    for place, name in enumerate(kernel.arguments):
        inner = name.rstrip("[]")
        maker = ORDINARY[inner]
        if inner == "text" and numeric:
            maker = NUMERIC
        elif inner == "text" and jsonb:
            maker = _document if place == 0 else _constant("name")
        depth = name.count("[]")
        for _ in range(depth):
            maker = (lambda item: lambda chance: [item(chance) for _ in range(2)])(maker)
        makers.append(maker)
    return tuple(makers)


def columns(kernel: Kernel) -> list[pa.Array]:
    """A kernel's arguments, for all rows: one in fifty is NULL, one in a thousand odd."""
    chance = random.Random(7)
    made: list[pa.Array] = []
    for place, (maker, name) in enumerate(zip(_makers(kernel), kernel.arguments, strict=True)):
        odd: tuple[Any, ...] = ODD["numeric"] if maker is NUMERIC else ODD["text"] if maker is _word else ()
        values = [
            None
            if row % 50 == 7 and place == 0
            else chance.choice(odd)
            if odd and row % 1_000 == 3
            else maker(chance)
            for row in range(ROWS)
        ]
        made.append(array_of_values(values, name))
    return made


def ns_per_row(function: Callable[..., pa.Array], arguments: list[pa.Array]) -> float:
    """The best of three, each within seconds."""
    batches = [[column.slice(at, BATCH) for column in arguments] for at in range(0, ROWS, BATCH)]
    best = float("inf")
    for _ in range(3):
        rows, began_ns = 0, time.thread_time_ns()
        for batch in batches:
            function(*batch)
            rows += len(batch[0])
            if time.thread_time_ns() - began_ns > 2 * 10**9:
                break
        best = min(best, (time.thread_time_ns() - began_ns) / rows)
    return best


def measured(only: Callable[[Kernel], bool] = lambda kernel: True) -> dict[str, tuple[float, float | None]]:
    """For each kernel ns per row, and the same row by row where it works by columns."""
    found: dict[str, tuple[float, float | None]] = {}
    for kernel in KERNELS:
        if "any" in kernel.arguments or "series" in kernel.name or not only(kernel):
            continue
        try:
            arguments = columns(kernel)
            rows = MODELS.get(kernel.name, kernel).by_row
            by_row = None if kernel.function == rows else rows
            after = ns_per_row(kernel.function, arguments)
            found[kernel.name] = (after, None if by_row is None else ns_per_row(by_row, arguments))
        except (UserError, ValueError, ArithmeticError):
            continue  # of texts that are no such value; kernels of the same family are measured
    return found


def test_kernels() -> None:
    found = measured()
    for name, (ns, before) in sorted(found.items(), key=lambda item: -item[1][0]):
        os.write(1, f"{ns:10.0f} ns  {name}{f' (row by row {before:.0f} ns)' if before else ''}\n".encode())
    written(found)


def written(found: dict[str, tuple[float, float | None]]) -> None:
    """Puts those that work by columns into the docs, what they gain by that first."""
    figures = Figures("Kernels")
    gains = sorted(
        ((before / ns, name) for name, (ns, before) in found.items() if before is not None), reverse=True
    )
    for gain, name in gains:
        ns, before = found[name]
        figures.add(
            f"`{name}`: ns a row by columns / row by row",
            f"{ns:.0f} / {before:.0f} ({gain:.1f} times)",
            f"{GAIN_MIN:.0f} times",
            gain >= GAIN_MIN,
        )
    figures.write()


if __name__ == "__main__":
    print(json.dumps(measured(), indent=1))
