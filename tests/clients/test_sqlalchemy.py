"""SQLAlchemy works: engines on two drivers, reflection, and the ORM on a plain table.

Goal: `inspect` finds what is there, with its types; a mapped class makes the round trip.
Method: SQLAlchemy's own inspector and session against objects made by SQL.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from sqlalchemy import (
    Engine,
    MetaData,
    Numeric,
    String,
    Table,
    create_engine,
    func,
    inspect,
    select,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from tests.support.server import HeadwaterServer

SCHEMA = "sqlalchemy_tests"


class Base(DeclarativeBase):
    pass


class Order(Base):
    """A plain table; its key is ours to keep, the server does not enforce one."""

    __tablename__ = "orders"
    __table_args__ = {"schema": SCHEMA}

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    customer: Mapped[str] = mapped_column(String(40))
    total: Mapped[Decimal] = mapped_column(Numeric(12, 2))
    placed_at: Mapped[datetime | None]


@pytest.fixture(scope="module", params=["psycopg", "psycopg2"])
def engine(request: pytest.FixtureRequest, server: HeadwaterServer, schema: str) -> Iterator[Engine]:
    assert schema == SCHEMA
    made = create_engine(
        f"postgresql+{request.param}://materialize@127.0.0.1:{server.sql_port}/materialize",
        connect_args={"options": f"-c search_path={schema}"},
    )
    yield made
    made.dispose()


@pytest.fixture(scope="module")
def objects(server: HeadwaterServer, schema: str) -> None:
    for statement in (
        "CREATE TABLE {}.things (id bigint NOT NULL, name varchar(20), price numeric(10, 2),"
        " made timestamptz DEFAULT now(), tags text[], extra jsonb, raw bytea, ok bool)",
        "COMMENT ON TABLE {}.things IS 'all our things'",
        "COMMENT ON COLUMN {}.things.name IS 'what it is called'",
        "CREATE VIEW {}.names AS SELECT name FROM {}.things",
        "CREATE SOURCE {}.auction FROM LOAD GENERATOR AUCTION (UP TO 1)",
        "CREATE TABLE {}.users FROM SOURCE {}.auction (REFERENCE users)",
        "CREATE TABLE {}.orders (id int NOT NULL, customer varchar(40), total numeric(12, 2),"
        " placed_at timestamp)",
    ):
        server.query(statement.replace("{}", schema))


@pytest.mark.usefixtures("objects")
def test_relations_are_found(engine: Engine) -> None:
    found = inspect(engine)
    assert {"things", "users", "orders"} <= set(found.get_table_names())
    assert {"things", "users"} <= set(found.get_table_names(schema=SCHEMA))
    assert found.get_view_names(schema=SCHEMA) == ["names"]
    assert found.has_table("things")
    assert not found.has_table("nothing")
    assert found.has_table("pg_class", schema="pg_catalog")
    assert {"public", SCHEMA, "information_schema"} <= set(found.get_schema_names())
    assert found.default_schema_name == SCHEMA
    assert "FROM materialize.sqlalchemy_tests.things" in found.get_view_definition("names")


@pytest.mark.usefixtures("objects")
def test_columns_are_found_with_their_types(engine: Engine) -> None:
    columns = {column["name"]: column for column in inspect(engine).get_columns("things")}
    shown = {name: str(column["type"].compile(engine.dialect)) for name, column in columns.items()}
    assert shown == {
        "id": "BIGINT",
        "name": "VARCHAR(20)",
        "price": "NUMERIC(39, 2)",
        "made": "TIMESTAMP WITH TIME ZONE",
        "tags": "TEXT[]",
        "extra": "JSONB",
        "raw": "BYTEA",
        "ok": "BOOLEAN",
    }
    assert not columns["id"]["nullable"]
    assert columns["name"]["comment"] == "what it is called"
    assert columns["made"]["default"] == "now()"


@pytest.mark.usefixtures("objects")
def test_keys_indexes_and_comments_are_found(engine: Engine) -> None:
    found = inspect(engine)
    assert found.get_pk_constraint("users")["constrained_columns"] == ["id"]
    assert found.get_pk_constraint("things")["constrained_columns"] == []
    assert found.get_table_comment("things") == {"text": "all our things"}
    assert found.get_table_comment("users") == {"text": None}
    assert found.get_foreign_keys("things") == []
    assert found.get_indexes("things") == []
    assert found.get_unique_constraints("things") == []
    assert found.get_check_constraints("things") == []
    assert found.get_sequence_names() == []


@pytest.mark.usefixtures("objects")
def test_a_whole_schema_is_reflected(engine: Engine) -> None:
    metadata = MetaData()
    metadata.reflect(engine, schema=SCHEMA, views=True)
    assert {f"{SCHEMA}.things", f"{SCHEMA}.users", f"{SCHEMA}.names"} <= set(metadata.tables)
    users = Table("users", MetaData(), autoload_with=engine)
    with engine.connect() as connection:
        count = connection.execute(select(func.count()).select_from(users)).scalar_one()
        first = connection.execute(select(users.c.id).order_by(users.c.id).limit(1)).scalar_one()
    assert count > 0
    assert first >= 0


@pytest.mark.usefixtures("objects")
def test_a_mapped_class_makes_the_round_trip(engine: Engine) -> None:
    placed = datetime(2024, 5, 6, 7, 8, 9)
    with Session(engine) as session:
        session.add_all(
            [Order(id=n, customer=f"c{n}", total=Decimal(n) / 4, placed_at=placed) for n in range(3)]
        )
        session.commit()
    with Session(engine) as session:
        found = session.scalars(select(Order).where(Order.id > 0).order_by(Order.id)).all()
        assert [(o.customer, o.total, o.placed_at) for o in found] == [
            ("c1", Decimal("0.25"), placed),
            ("c2", Decimal("0.5"), placed),
        ]
    with Session(engine) as session:
        total = session.execute(text("UPDATE orders SET total = :t WHERE id = :i"), {"t": 9, "i": 1})
        assert total.rowcount == 1  # type: ignore[attr-defined]
        session.commit()
        assert session.scalar(select(func.sum(Order.total))) == Decimal("9.5")
    with Session(engine) as session:
        session.execute(text("DELETE FROM orders"))
        session.commit()
        assert session.scalar(select(func.count()).select_from(Order)) == 0


@pytest.mark.usefixtures("objects")
def test_an_object_is_changed_and_deleted_in_transactions_of_their_own(engine: Engine) -> None:
    """A transaction that has read may not write here, so the object is attached without reading it."""
    with Session(engine) as session:
        session.add(
            Order(id=50, customer="old", total=Decimal(1), placed_at=datetime.now(UTC).replace(tzinfo=None))
        )
        session.commit()
    with Session(engine, expire_on_commit=False) as session:
        order = session.get_one(Order, 50)
        session.commit()
        order.customer = "new"
        session.commit()
        session.delete(order)
        session.commit()
        assert session.get(Order, 50) is None
