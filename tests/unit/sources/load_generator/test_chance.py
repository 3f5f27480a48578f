"""Chance, decks and columns: the arithmetic under all generators.

Method: statistical facts with wide margins (the numbers are fixed, so nothing can
flicker), and decks against a list that is dealt and added up one by one.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.sources.load_generator import columns
from headwater.sources.load_generator.chance import Chance, scrambled
from headwater.sources.load_generator.deck import Deck

INDEX = np.arange(100_000, dtype=np.int64)


def test_a_draw_depends_on_seed_stream_and_index_and_on_nothing_else() -> None:
    whole = Chance(1).draws("a", INDEX)
    assert (Chance(1).draws("a", INDEX[500:600]) == whole[500:600]).all()
    assert len(np.unique(whole)) == len(INDEX)
    for other in (
        Chance(2).draws("a", INDEX),
        Chance(1).draws("b", INDEX),
        Chance(1).draws("a", INDEX, INDEX),
    ):
        assert not (other == whole).any()


def test_numbers_below_a_bound_are_spread_evenly() -> None:
    counts = np.bincount(Chance(0).below(10, "dice", INDEX), minlength=10)
    assert len(counts) == 10
    assert counts.min() > 9_600
    assert counts.max() < 10_400


def test_numbers_between_include_both_ends() -> None:
    found = Chance(0).between(-3, 3, "small", INDEX)
    assert set(found.tolist()) == {-3, -2, -1, 0, 1, 2, 3}


def test_shares_lie_in_the_unit_interval_around_a_half() -> None:
    shares = Chance(0).shares("share", INDEX)
    assert 0 <= shares.min() < 0.001
    assert 0.999 < shares.max() < 1
    assert abs(shares.mean() - 0.5) < 0.01


@pytest.mark.parametrize("width", [1, 7, 8, 9, 100])
def test_bytes_have_the_width_asked_for_and_all_values(width: int) -> None:
    found = Chance(0).bytes(width, "bytes", INDEX)
    assert found.shape == (len(INDEX), width)
    assert len(np.unique(found[:, -1])) == 256


@given(st.integers(1, 3_000))
def test_scrambling_visits_every_place_once(count: int) -> None:
    places = scrambled(np.arange(count, dtype=np.int64), count)
    assert sorted(places.tolist()) == list(range(count))


@settings(deadline=None)
@given(
    low=st.integers(1, 4),
    span=st.integers(1, 8),
    copies=st.integers(1, 8),
    start=st.integers(0, 2_000),
    length=st.integers(0, 500),
)
def test_a_deck_finds_parts_as_adding_up_sizes_does(
    low: int, span: int, copies: int, start: int, length: int
) -> None:
    deck = Deck(low, span, copies, Chance(3), "deck")
    sizes = deck.sizes(np.arange(2_600, dtype=np.int64)).tolist()
    model = [(thing, inner) for thing, size in enumerate(sizes) for inner in range(size)]
    things, inner = deck.parts(start, start + length)
    assert list(zip(things.tolist(), inner.tolist(), strict=True)) == model[start : start + length]


def test_every_deck_holds_each_size_equally_often_in_its_own_order() -> None:
    deck = Deck(2, 8, 8, Chance(0), "bids")
    hands = deck.sizes(np.arange(64 * 200, dtype=np.int64)).reshape(200, 64)
    assert (np.sort(hands, axis=1) == np.repeat(np.arange(2, 10), 8)).all()
    assert len({hand.tobytes() for hand in hands}) > 150


def test_columns_are_in_the_stored_forms() -> None:
    numbers = np.array([0, 7, 12_345], np.int64)
    assert columns.uint8(numbers).to_pylist() == [Decimal(0), Decimal(7), Decimal(12_345)]
    assert columns.money(-numbers).to_pylist() == [Decimal("0.00"), Decimal("-0.07"), Decimal("-123.45")]
    assert columns.text_of_pieces(3, "n#", columns.digits(numbers, 5)).to_pylist() == [
        "n#00000",
        "n#00007",
        "n#12345",
    ]
    assert columns.nullable(columns.int8(numbers), numbers > 5).to_pylist() == [None, 7, 12_345]
    letters = np.frombuffer(b"abcdef", np.uint8).reshape(2, 3)
    assert columns.ragged_text(letters, np.array([1, 3])).to_pylist() == ["a", "def"]
    assert columns.binary(letters).to_pylist() == [b"abc", b"def"]
