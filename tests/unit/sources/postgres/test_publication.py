"""Whether a table was published all the time, by the rows of the catalog by which it is."""

from __future__ import annotations

import pytest

from headwater.sources.postgres.publication import Published, interrupted

OID = 16_400
WAS = ("n2.701", "p1.700")


@pytest.mark.parametrize(
    ("now", "via_root", "why"),
    [
        (WAS, False, None),
        ((*WAS, "r9.800"), False, None),
        (("n2.701", "p1.777"), False, 'publication "p" was altered'),
        (("n2.701", "p8.800"), False, 'publication "p" was altered'),
        ((), False, 'publication "p" was altered'),
        (("p1.700",), False, "taken out"),
        (("n2.777", "p1.700"), False, "taken out"),
        ((*WAS, "A16400.16500.960", "R3.640"), False, None),
        # Whoever is above a table is published in its place.
        ((*WAS, "A16400.16500.960", "R3.640"), True, "taken out"),
    ],
)
def test_another_version_of_a_row_is_another_row(
    now: tuple[str, ...], via_root: bool, why: str | None
) -> None:
    found = interrupted(WAS, OID, Published(via_root, {OID: frozenset(now)}), "p")
    assert (found is None) if why is None else (why in str(found))


def test_the_identity_of_another_table_does_not_matter() -> None:
    assert interrupted(WAS, OID, Published(False, {OID: frozenset(WAS), 1: frozenset()}), "p") is None
