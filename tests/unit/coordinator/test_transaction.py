"""What a transaction writes is in memory until it is durable, and that is bounded."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from headwater.catalog.state import Item
from headwater.coordinator.tables import check_written_size, inserted, written_size
from headwater.coordinator.transaction import Transaction
from headwater.coordinator.variables import Settings
from headwater.core.errors import UserError
from headwater.core.limits import WRITE_BYTES_MAX, WRITE_ROW_BYTES
from tests.unit.coordinator.scopes import Catalog


def table(id_: str) -> Item:
    made = next(iter(Catalog().run("CREATE TABLE t (a int)").state.items.values()))
    return replace(made, id=id_)


def rows(count: int) -> pa.Table:
    return inserted(pa.table({"a": pa.array(range(count), pa.int32())}))


def test_narrow_rows_count_with_what_is_written_beside_them() -> None:
    assert written_size(rows(1_000)) >= 1_000 * (4 + WRITE_ROW_BYTES)
    assert written_size(rows(0)) == 0


def test_more_than_the_bound_is_refused_with_what_to_do() -> None:
    check_written_size(WRITE_BYTES_MAX, "t")
    with pytest.raises(UserError, match='1024 MiB of rows at once into table "t"') as told:
        check_written_size(WRITE_BYTES_MAX + 1, "t")
    assert told.value.sqlstate == "53200"
    assert "several parts" in (told.value.hint or "")


def test_all_that_a_transaction_writes_counts_and_what_is_taken_back_does_not() -> None:
    transaction = Transaction(explicit=True)
    transaction.add_write(table("u1"), "t", rows(10))
    transaction.save("s", Settings({}).keep())
    kept = transaction.size
    for id_ in ("u1", "u2"):
        transaction.add_write(table(id_), "t", rows(100))
    assert transaction.size == kept + 2 * written_size(rows(100))
    transaction.go_back("s")
    assert transaction.size == kept == written_size(rows(10))
    transaction.size = WRITE_BYTES_MAX
    with pytest.raises(UserError, match='into table "t"'):
        transaction.add_write(table("u2"), "t", rows(1))
    assert list(transaction.writes) == ["u1"], "what is refused is not written"
