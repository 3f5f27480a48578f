"""Random schemas, evolutions and corruptions: what is decoded is what fastavro says, or an error.

Whole messages must give fastavro's rows.  Spoiled ones may be refused where fastavro guesses (a boolean of
7, a branch counted from the end), and never give anything else; and their neighbours do not notice.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.decode.avro_oracle import Chance, decode, expected, framed, plain, rows, written

SEEDS = st.integers(0, 2**40)


def oracle(message: bytes, writer: Any, reader: Any) -> Any:
    try:
        return expected(message, writer, reader)
    except Exception as error:
        return error


@given(SEEDS)
@settings(max_examples=150, deadline=None)
def test_messages_of_several_writers_give_what_fastavro_says(seed: int) -> None:
    chance = Chance(seed)
    writer = chance.record()
    reader = chance.evolved_record(writer)
    writers = {7: writer, 2**31 - 1: reader}
    count = chance.random.choice((1, 3, 60))
    sent = [(number, writers[number]) for number in chance.random.choices(list(writers), k=count)]
    bodies = [written(plain(schema), chance.value(schema)) for _, schema in sent]
    decoded = decode(
        [framed(body, number) for body, (number, _) in zip(bodies, sent, strict=True)], reader, writers
    )
    for body, (_, schema), row in zip(bodies, sent, rows(decoded), strict=True):
        wanted = oracle(body, schema, reader)
        if isinstance(wanted, Exception):
            assert isinstance(row, str)
            assert row.startswith("Avro: ")
        else:
            assert row == wanted


@given(SEEDS)
@settings(max_examples=150, deadline=None)
def test_spoiled_messages_give_what_fastavro_says_or_an_error_and_spoil_no_others(seed: int) -> None:
    chance = Chance(seed)
    writer = chance.record()
    reader = chance.evolved_record(writer) if chance.random.random() < 0.5 else writer
    whole = [written(plain(writer), chance.value(writer)) for _ in range(chance.random.choice((2, 40)))]
    spoiled = [chance.random.random() < 0.5 for _ in whole]
    messages = [chance.spoiled(one) if bad else one for one, bad in zip(whole, spoiled, strict=True)]
    decoded = rows(decode([framed(message) for message in messages], reader, {1: writer}))
    for message, bad, row in zip(messages, spoiled, decoded, strict=True):
        wanted = oracle(message, writer, reader)
        if isinstance(wanted, Exception):
            assert isinstance(row, str)
        elif not (bad and isinstance(row, str)):
            assert same(row, wanted)


def same(left: Any, right: Any) -> bool:
    """Equal, or both not a number."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right) or (left != left and right != right)
