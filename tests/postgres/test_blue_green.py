"""A change of shape upstream, and tables that take each other's place here: nobody sees a gap.

Method: transactions upstream move amounts between orders and add orders, so that the sum is always the
same and the count never falls.  Watchers read here without a pause: the table by its name, all of its
columns, through a view, and several times in one transaction.  Every answer of theirs is checked: the
sum, the count against the answer before, one shape for all rows.  Meanwhile the upstream's table is
altered, a second table is made on the same reference and takes the place of the first, which is dropped.

A swap comes as soon as the second table can be read, in the middle of the watchers' transactions: these go
on with the tables they began with.  Drops follow at once.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import psycopg
import pytest

from tests.postgres.watching import (
    GONE_S_MAX,
    REPLANNED,
    ROWS,
    Watch,
    check_gone,
    ids,
    read_by,
    refused,
    shop,
    watching,
)
from tests.support.clients import Follower
from tests.support.database import Database
from tests.support.files import rows_about
from tests.support.following import Following
from tests.support.repeated import Writer, wait_turns
from tests.support.server import HeadwaterServer, eventually

BY_NAME = "SELECT id, amount FROM orders"
BY_VIEW = "SELECT id, amount FROM priced"
EVERY_WAY = ((BY_NAME,), ("SELECT * FROM orders",), (BY_VIEW,), (BY_NAME, BY_VIEW, BY_NAME))


def test_a_table_with_one_more_column_takes_the_place_of_another(
    server: HeadwaterServer, database: Database
) -> None:
    with shop(server, database) as here:
        with watching(here, *EVERY_WAY) as watchers:
            database.run("ALTER TABLE orders ADD COLUMN region text NOT NULL DEFAULT 'north'")
            here.create_table("orders_v2", "orders")
            assert here.value("SELECT count(*) FROM orders_v2") >= ROWS
            before = ids(here)

            here.run("BEGIN", "ALTER TABLE orders SWAP WITH orders_v2", "COMMIT")
            after = ids(here)
            assert (after["orders"], after["orders_v2"]) == (before["orders_v2"], before["orders"])
            # The view reads what has the name now, and nothing keeps the old one from being dropped.
            assert after["priced"] == before["priced"]
            assert read_by(here, after["priced"]) == {before["orders_v2"]}
            here.run("DROP TABLE orders_v2")
            wait_turns(watchers)
            assert ids(here) == {"orders": before["orders_v2"], "priced": before["priced"]}
            check_gone(here, before["orders"])
            assert len(here.slots()) == 1
        assert here.rows("VERIFY TABLE orders")[0][0] == "equal"
    assert watchers[1].steps() == [("id", "amount"), ("id", "amount", "region")]


def test_a_column_that_is_taken_as_text_lives_through_another_name_of_its_type(
    server: HeadwaterServer, database: Database
) -> None:
    """And is read again where its values get other texts."""
    numbers = "SELECT id, amount::numeric AS amount FROM orders"
    with shop(server, database, "TEXT COLUMNS (amount)") as here:
        here.run("CREATE OR REPLACE VIEW priced AS SELECT id, amount::numeric AS amount FROM orders")
        with watching(here, (numbers,), (BY_VIEW,), (numbers, BY_VIEW)) as watchers:
            database.run("CREATE DOMAIN price AS int", "ALTER TABLE orders ALTER amount TYPE price")
            here.create_table("orders_v2", "orders", options="TEXT COLUMNS (amount)")
            assert here.value("SELECT count(*) FROM orders_v2") >= ROWS
            here.run("ALTER TABLE orders SWAP WITH orders_v2")
            wait_turns(watchers)
        for name in ("orders", "orders_v2"):
            assert here.rows(f"VERIFY TABLE {name}")[0][0] == "equal"
        database.run("ALTER TABLE orders ALTER amount TYPE numeric(12, 2) USING amount * 2")
        here.read_again("orders", "values of amount")
        here.follows("orders", columns="id, amount", upstream="id, amount::text")
        here.create_table("orders_v3", "orders")
        here.follows("orders_v3", "orders")
        types = dict(here.rows("SELECT name, type FROM (SHOW COLUMNS FROM orders_v3)"))
        assert types["amount"] == "numeric"


TWO_COLUMNS = (
    "ALTER TABLE orders ADD COLUMN cents int",
    "CREATE FUNCTION in_step() RETURNS trigger LANGUAGE plpgsql AS"
    " 'BEGIN NEW.cents := NEW.amount * 100; RETURN NEW; END'",
    "CREATE TRIGGER in_step BEFORE INSERT OR UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION in_step()",
    "UPDATE orders SET id = id",
)
"""A second column that follows the first, for all rows."""


def test_a_view_hides_that_one_column_takes_the_place_of_another(
    server: HeadwaterServer, database: Database
) -> None:
    with shop(server, database) as here:
        here.run("CREATE VIEW counted AS SELECT count(*) AS n FROM priced")
        with watching(here, (BY_VIEW,), (BY_VIEW, BY_VIEW)) as watchers:
            database.run(*TWO_COLUMNS)
            here.create_table("orders_v2", "orders", "EXCLUDE COLUMNS (amount)")
            here.run("CREATE VIEW priced_v2 AS SELECT id, cents / 100 AS amount FROM orders_v2")
            assert here.value("SELECT count(*) FROM priced_v2") >= ROWS
            before = ids(here)
            here.run("ALTER VIEW priced SWAP WITH priced_v2")
            # A view of the view goes with the name, too.
            assert read_by(here, before["counted"]) == {before["priced_v2"]}
            assert here.value("SELECT n FROM counted") >= ROWS
            assert "still depended upon" in refused(here, "DROP TABLE orders RESTRICT")
            here.run("DROP TABLE orders CASCADE")
            assert ids(here) == {
                "orders_v2": before["orders_v2"],
                "priced": before["priced_v2"],
                "counted": before["counted"],
            }
            wait_turns(watchers)
        # What nobody takes any more the upstream may drop.
        database.run("DROP TRIGGER in_step ON orders", "ALTER TABLE orders DROP COLUMN amount")
        database.run("INSERT INTO orders (id, cents) VALUES (0, 0)")
        eventually(lambda: here.rows("SELECT amount FROM priced WHERE id = 0") == [(0,)], within_s=GONE_S_MAX)
        check_gone(here, before["orders"])


class Crossing(Writer):
    """One unit from an order to its line, and one more of both that are worth nothing."""

    pace_s = 0.02

    def turn(self) -> None:
        n = self.turns
        with self.connection.transaction():
            self.connection.execute("UPDATE orders SET amount = amount - 1 WHERE id = %s", (n % ROWS + 1,))
            self.connection.execute("UPDATE lines SET amount = amount + 1 WHERE id = %s", (n % ROWS + 1,))
            for table in ("orders", "lines"):
                text = f"INSERT INTO {table} (id, amount) VALUES (%s, 0)"
                self.connection.execute(text.encode(), (ROWS + 1 + n,))


def fill(here: Following, schema: str, colour: str) -> None:
    """Both tables, and views that say in which schema they were made."""
    both = f"SELECT id, amount FROM {schema}.orders UNION ALL SELECT -id, amount FROM {schema}.lines"
    here.run(
        f"CREATE SCHEMA {schema}",
        f"CREATE TABLE {schema}.orders FROM SOURCE src (REFERENCE orders)",
        f"CREATE TABLE {schema}.lines FROM SOURCE src (REFERENCE lines)",
        f"CREATE VIEW {schema}.colour AS SELECT '{colour}' AS colour",
        f"CREATE VIEW {schema}.everything AS SELECT id, amount, '{colour}' AS made FROM ({both}) AS b",
    )
    assert here.value(f"SELECT count(*) FROM {schema}.everything") >= 2 * ROWS


class WatchBoth(Watch):
    """Of the views of one schema all are of one colour."""

    def check_rows(self, rows: list[dict[str, Any]]) -> None:
        super().check_rows(rows)
        assert (
            len({colour for row in rows for name, colour in row.items() if name in ("made", "colour")}) <= 1
        )


def test_schemas_with_all_they_have_take_each_others_place(
    server: HeadwaterServer, database: Database
) -> None:
    database.run(
        "CREATE TABLE lines (id int PRIMARY KEY, amount int NOT NULL)",
        f"INSERT INTO lines SELECT g, 0 FROM generate_series(1, {ROWS}) AS g",
    )
    with shop(server, database) as here:
        blue, green = f"{here.schema}_blue", f"{here.schema}_green"
        fill(here, blue, "blue")
        here.run(f"CREATE VIEW outside AS SELECT count(*) AS n FROM {blue}.orders")
        tables = f"SELECT id, amount FROM {blue}.orders UNION ALL SELECT -id, amount FROM {blue}.lines"
        views = f"SELECT id, amount, made, colour FROM {blue}.everything, {blue}.colour"
        with ExitStack() as stack:
            stack.enter_context(Crossing(database))
            watchers = [
                stack.enter_context(WatchBoth(here, *q)) for q in ((tables,), (views,), (views, tables))
            ]
            fill(here, green, "green")
            before = {name: ids(here, name) for name in (blue, green)}
            here.run(f"ALTER SCHEMA {blue} SWAP WITH {green}")
            assert (ids(here, blue), ids(here, green)) == (before[green], before[blue])
            assert here.value(f"SELECT colour FROM {blue}.colour") == "green"
            assert read_by(here, ids(here)["outside"]) == {before[green]["orders"]}
            assert f"{blue}.orders" in here.rows("SHOW CREATE VIEW outside")[0][1]
            wait_turns(watchers)
            assert "CASCADE" in refused(here, f"DROP SCHEMA {green}")
            here.run(f"DROP SCHEMA {green} CASCADE")
            assert here.value("SELECT n FROM outside") >= ROWS
            wait_turns(watchers)
            for name in ("orders", "lines"):
                check_gone(here, before[blue][name])
        assert here.rows(f"VERIFY TABLE {blue}.lines")[0][0] == "equal"
        here.run(f"DROP SCHEMA {blue} CASCADE")


def test_a_table_that_is_dropped_while_it_is_read_is_read_to_the_end(
    server: HeadwaterServer, database: Database
) -> None:
    with shop(server, database) as here, here.connect() as reader:
        here.create_table("orders_v2", "orders")
        here.rows("SELECT count(*) FROM orders_v2")
        old = ids(here)["orders"]
        reader.execute("BEGIN")
        reader.execute("DECLARE c CURSOR FOR SELECT id FROM orders ORDER BY id")
        got = reader.execute("FETCH 10 c").fetchall()
        here.run("ALTER TABLE orders SWAP WITH orders_v2")
        here.run("DROP TABLE orders_v2")
        assert set(ids(here)) == {"orders", "priced"}
        database.run("DELETE FROM orders WHERE id > 100")
        eventually(lambda: here.value("SELECT count(*) FROM orders") == 100, within_s=GONE_S_MAX)
        got += reader.execute("FETCH ALL c").fetchall()
        assert [row[0] for row in got] == list(range(1, ROWS + 1))
        assert rows_about(server.data_dir, old) > 0
        reader.execute("COMMIT")
        check_gone(here, old)


def test_a_transaction_goes_on_with_the_tables_it_began_with(
    server: HeadwaterServer, database: Database
) -> None:
    with shop(server, database) as here, here.connect() as reader:
        star = "SELECT * FROM orders ORDER BY id"
        old = ids(here)["orders"]
        reader.execute("BEGIN")
        first = reader.execute(star).fetchall()
        database.run("ALTER TABLE orders ADD COLUMN region text NOT NULL DEFAULT 'north'")
        here.create_table("orders_v2", "orders")
        here.rows("SELECT count(*) FROM orders_v2")
        here.run("ALTER TABLE orders SWAP WITH orders_v2")
        assert reader.execute(star).fetchall() == first
        here.run("DROP TABLE orders_v2")
        database.run("DELETE FROM orders WHERE id > 100")
        eventually(lambda: here.value("SELECT count(*) FROM orders") == 100, within_s=GONE_S_MAX)
        assert reader.execute(star).fetchall() == first
        assert reader.execute("SELECT id, amount FROM priced ORDER BY id").fetchall() == first
        # What came after it began it does not see.
        with pytest.raises(psycopg.Error, match="unknown catalog item"):
            reader.execute("SELECT * FROM orders_v2")
        reader.execute("ROLLBACK")
        assert len(reader.execute(star).fetchall()) == 100
        assert {len(row) for row in reader.execute(star).fetchall()} == {3}
        check_gone(here, old)


def test_what_is_prepared_goes_on_with_the_other_table_if_it_has_the_columns(
    server: HeadwaterServer, database: Database
) -> None:
    with shop(server, database) as here:
        here.run(
            "PREPARE named AS SELECT id FROM orders WHERE id < $1", "PREPARE star AS SELECT * FROM orders"
        )
        assert len(here.rows("EXECUTE star")) == ROWS
        database.run("ALTER TABLE orders ADD COLUMN region text NOT NULL DEFAULT 'north'")
        here.create_table("orders_v2", "orders")
        here.rows("SELECT count(*) FROM orders_v2")
        here.run("ALTER TABLE orders SWAP WITH orders_v2")
        here.run("DROP TABLE orders_v2")
        assert len(here.rows("EXECUTE named (11)")) == 10
        assert refused(here, "EXECUTE star") == REPLANNED
        here.run("DEALLOCATE star", "PREPARE star AS SELECT * FROM orders")
        assert {len(row) for row in here.rows("EXECUTE star")} == {3}


def moment(here: Following) -> int:
    return int(here.value("SELECT mz_now()::text FROM orders_v2 LIMIT 1"))


def test_a_subscription_goes_on_with_the_table_that_has_the_name(
    server: HeadwaterServer, database: Database
) -> None:
    with shop(server, database) as here:
        old = ids(here)["orders"]
        follower = Follower(server, f"{here.schema}.orders")
        follower.start()
        eventually(lambda: follower.rows.total() == ROWS, within_s=GONE_S_MAX)
        database.run("ALTER TABLE orders ADD COLUMN region text NOT NULL DEFAULT 'north'")
        here.create_table("orders_v2", "orders", options="RETAIN HISTORY FOR '1 hour'")
        here.rows("SELECT count(*) FROM orders_v2")
        eventually(lambda: follower.complete > moment(here), within_s=GONE_S_MAX)
        resumed = follower.complete - 1
        here.run("ALTER TABLE orders SWAP WITH orders_v2", "DROP TABLE orders_v2")
        # Who has the rows of before and comes back would never hear of the difference.
        assert refused(here, f"SUBSCRIBE orders WITH (SNAPSHOT = false) AS OF {resumed}") == (
            "what is subscribed to was swapped or replaced since"
        )
        database.run(f"INSERT INTO orders VALUES ({ROWS + 1}, 5, 'south')")
        eventually(lambda: follower.rows[(ROWS + 1, 5)] == 1, within_s=GONE_S_MAX)
        assert follower.rows.total() == ROWS + 1
        check_gone(here, old)
        # One that has not the columns ends it.
        here.create_table("orders_v3", "orders", options="EXCLUDE COLUMNS (amount)")
        here.rows("SELECT count(*) FROM orders_v3")
        here.run("DROP VIEW priced", "ALTER TABLE orders SWAP WITH orders_v3")
        eventually(lambda: not follower.alive, within_s=GONE_S_MAX)
        with pytest.raises(psycopg.errors.DependentObjectsStillExist, match='uses column "amount"'):
            follower.stop()
