"""Which columns a table takes: by a list, by what PostgreSQL can send, and what it says of the others.

Method: a real PostgreSQL and a real server; statements run upstream, and the tables here must come to have
exactly the rows of there.
"""

from __future__ import annotations

import psycopg
import pytest

from tests.support.database import Database
from tests.support.following import Following, following
from tests.support.server import HeadwaterServer

TABLE = (
    "CREATE TABLE t (id int, name text NOT NULL, at timestamptz, n int, PRIMARY KEY (id),"
    " twice int GENERATED ALWAYS AS (n * 2) STORED, address inet)"
)
ROWS = "INSERT INTO t (id, name, n) SELECT g, 'row ' || g, g FROM generate_series(1, 5) AS g"


def notices_of(here: Following) -> list[tuple[str | None, str | None]]:
    """Fills with the text and the hint of each notice."""
    found: list[tuple[str | None, str | None]] = []
    here.session.add_notice_handler(
        lambda notice: found.append((notice.message_primary, notice.message_hint))
    )
    return found


class Refusal:
    """What a statement is refused with."""

    def __init__(self, here: Following, text: str) -> None:
        with pytest.raises(psycopg.Error) as error:
            here.run(text)
        diag = error.value.diag
        self.code, self.message = diag.sqlstate, str(diag.message_primary)
        self.detail, self.hint = str(diag.message_detail), str(diag.message_hint)


def test_a_list_of_columns_says_which_are_taken_and_in_which_order(
    server: HeadwaterServer, database: Database
) -> None:
    with following(server, database, TABLE, ROWS) as here:
        notices = notices_of(here)
        here.run("CREATE TABLE t (name, n, id) FROM SOURCE src (REFERENCE t)")
        here.run("CREATE TABLE w (address, id) FROM SOURCE src (REFERENCE t) WITH (TEXT COLUMNS (address))")
        assert notices == []
        ((_, text),) = here.rows("SHOW CREATE TABLE t")
        assert f"CREATE TABLE materialize.{here.schema}.t (name, n, id)\nFROM SOURCE" in text
        here.follows("t", columns="name, n, id")
        database.run(
            "CREATE TYPE mood AS ENUM ('sad', 'ok')",
            "ALTER TABLE t ADD COLUMN m mood DEFAULT 'ok', ADD COLUMN place point, DROP COLUMN address",
            "ALTER TABLE t ALTER at TYPE text, DROP COLUMN twice",
            "ALTER TABLE t RENAME at TO moment",
            "UPDATE t SET name = 'two', m = 'sad' WHERE id = 2; INSERT INTO t VALUES (6, 'six')",
            "DELETE FROM t WHERE id = 1",
        )
        here.follows("t", columns="name, n, id")
        assert "has been altered: column address was dropped" in here.error_of("w")
        full = f"materialize.{here.schema}.w"
        assert Refusal(here, "SELECT * FROM w").hint.startswith(
            f"CREATE TABLE {full}_new (address, id) FROM SOURCE materialize.{here.schema}.src"
            f" (REFERENCE = {database.name}.public.t) WITH (TEXT COLUMNS = (address));"
            f" ALTER TABLE {full} SWAP WITH w_new; DROP TABLE {full}_new;"
        )
        assert "leave out those that the upstream no longer has" in Refusal(here, "SELECT * FROM w").hint
        here.run(f"DROP TABLE w; {text.replace('.t (name', '.again (name')}")
        here.run("ALTER TABLE again ADD COLUMN m")
        here.follows("again", "t", columns="name, n, id, m")
        assert ".again (name, n, id, m)\n" in here.rows("SHOW CREATE TABLE again")[0][1]


def test_what_a_list_of_columns_cannot_say_is_refused_by_name(
    server: HeadwaterServer, database: Database
) -> None:
    create = "CREATE TABLE t ({}) FROM SOURCE src (REFERENCE t){}"
    path = f"{database.name}.public.t"
    with following(server, database, TABLE, "CREATE TABLE nothing ()") as here:
        unknown = Refusal(here, create.format("id, nome", ""))
        assert (unknown.code, unknown.message) == ("42703", f'column "nome" does not exist in {path}')
        assert unknown.hint == "There are id, name, at, n, address."
        generated = Refusal(here, create.format("id, twice", ""))
        assert generated.message == (
            f'column "twice" of {path} cannot be taken: it is generated, and PostgreSQL'
            f" {database.connection.info.server_version // 10_000} does not send generated columns"
        )
        assert generated.hint == "A view here can compute it; in the upstream it is (n * 2)."
        for columns, options, words in (
            (
                "id, name",
                " WITH (EXCLUDE COLUMNS (name))",
                'EXCLUDE COLUMNS names "name", which is in the list',
            ),
            ("id, name", " WITH (TEXT COLUMNS (n))", 'TEXT COLUMNS names "n", which is not in the list'),
            ("id, id", "", 'column "id" specified more than once'),
        ):
            assert words in Refusal(here, create.format(columns, options)).message
        for left_out in (
            "CREATE TABLE t (name) FROM SOURCE src (REFERENCE t)",
            "CREATE TABLE t FROM SOURCE src (REFERENCE t) WITH (EXCLUDE COLUMNS (id, address))",
        ):
            keyless = Refusal(here, left_out)
            assert keyless.detail.endswith("its changes are told by its key, of which id is left out")
            assert keyless.hint == (
                "Take id as well. Or, in the upstream: ALTER TABLE public.t REPLICA IDENTITY FULL"
            )
        here.run("CREATE TABLE t (id) FROM SOURCE src (REFERENCE t) WITH (EXCLUDE COLUMNS (name, twice))")


def test_a_notice_tells_of_what_is_left_out(server: HeadwaterServer, database: Database) -> None:
    with following(server, database, TABLE, "ALTER TABLE t REPLICA IDENTITY FULL", ROWS) as here:
        notices = notices_of(here)
        here.create_table("t", options="EXCLUDE COLUMNS (id, address)")
        assert notices[0] == (
            f'column "twice" of {database.name}.public.t is left out: it is generated, and PostgreSQL'
            f" {database.connection.info.server_version // 10_000} does not send generated columns",
            "A view here can compute it; in the upstream it is (n * 2).",
        )
        assert notices[1][0] == "the table has no key, as id of public.t is left out"
        here.follows("t", columns="name, at, n")
        notices.clear()
        here.create_table("quiet", "t", options="EXCLUDE COLUMNS (twice, address)")
        assert notices == []
