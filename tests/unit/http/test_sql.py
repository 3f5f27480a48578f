"""POST /api/sql: what comes back, in which form, and what is refused.

Method: an environment in this process, asked over a real socket with requests written by hand.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from headwater.core.errors import UserError
from headwater.core.limits import HTTP_BODY_BYTES_MAX
from headwater.http.access import Access
from tests.support.http import JSON, Served, request, serving


def story(data_dir: Path, told: Callable[[Served], Awaitable[None]], access: Access | None = None) -> None:
    async def run() -> None:
        async with serving(data_dir, access) as served:
            await asyncio.wait_for(told(served), 60)

    asyncio.run(run())


def column(name: str, oid: int, length: int) -> dict[str, Any]:
    return {"name": name, "type_oid": oid, "type_len": length, "type_mod": -1}


def test_statements_of_a_request_are_answered_one_by_one(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        assert await served.sql("CREATE TABLE t (a int, b text)") == [{"ok": "CREATE TABLE", "notices": []}]
        results = await served.sql("INSERT INTO t VALUES (1, 'x'), (2, NULL)")
        assert results == [{"ok": "INSERT 0 2", "notices": []}]
        assert await served.sql("SELECT * FROM t ORDER BY a; SELECT count(*) AS n FROM t") == [
            {
                "desc": {"columns": [column("a", 23, 4), column("b", 25, -1)]},
                "rows": [["1", "x"], ["2", None]],
                "tag": "SELECT 2",
                "notices": [],
            },
            {"desc": {"columns": [column("n", 20, 8)]}, "rows": [["2"]], "tag": "SELECT 1", "notices": []},
        ]
        assert await served.sql("") == []

    story(tmp_path, told)


def test_parameters_are_given_as_texts(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        queries = [
            {"query": "SELECT $1::int + 1, $2::text", "params": ["41", None]},
            {"query": "SELECT 'no parameter'"},
        ]
        results = await served.sql(queries)
        assert [result["rows"] for result in results] == [[["42", None]], [["no parameter"]]]
        (result,) = await served.sql([{"query": "SELECT $1::int", "params": []}])
        assert result["error"]["code"] == "08P01"
        (result,) = await served.sql([{"query": "SELECT 1; SELECT 2"}])
        assert result["error"]["code"] == "42601"
        (result,) = await served.sql("SELECT $1")
        assert result["error"]["code"] == "42P02"
        (result,) = await served.sql([{"query": "SELECT $1::int", "params": ["x"]}])
        assert result["error"]["code"] == "22P02"

    story(tmp_path, told)


def test_a_request_is_one_transaction_and_ends_at_the_first_error(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        await served.sql("CREATE TABLE t (a int NOT NULL)")
        results = await served.sql(
            "INSERT INTO t VALUES (1); INSERT INTO t VALUES (1/0); INSERT INTO t VALUES (2)"
        )
        assert [next(iter(result)) for result in results] == ["ok", "error"]
        assert results[1]["error"]["code"] == "22012"
        assert await served.rows("SELECT count(*) FROM t") == [["0"]]
        results = await served.sql("INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
        assert [result["ok"] for result in results] == ["INSERT 0 1"] * 2
        assert await served.rows("SELECT count(*) FROM t") == [["2"]]
        results = await served.sql("BEGIN; INSERT INTO t VALUES (3)")
        assert results[-1]["notices"][0]["code"] == "25001"
        assert await served.rows("SELECT count(*) FROM t") == [["2"]]
        await served.sql("BEGIN; INSERT INTO t VALUES (3); COMMIT")
        assert await served.rows("SELECT count(*) FROM t") == [["3"]]
        assert not served.coordinator.sessions

    story(tmp_path, told)


def test_errors_say_what_those_of_the_other_protocol_say(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        (result,) = await served.sql("SELECT 1 +\n  nothing")
        assert result["error"] == {
            "message": 'column "nothing" does not exist',
            "code": "42703",
            "position": 14,
        }
        (result,) = await served.sql("SELEC 1")
        assert result["error"]["code"] == "42601"
        results = await served.sql("SELECT 1; SELECT nothing")
        assert results[1]["error"]["position"] == 18, "counted in the text of the request"
        for refused in ("COPY (SELECT 1) TO STDOUT", "SUBSCRIBE (SELECT 1)"):
            (result,) = await served.sql(refused)
            assert result["error"]["code"] == "0A000", refused
        await served.sql("CREATE TABLE t (a int)")
        (result,) = await served.sql("COPY t FROM STDIN")
        assert result["error"]["code"] == "0A000"

    story(tmp_path, told)


def test_an_error_among_the_rows_stands_beside_them(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        (result,) = await served.sql("SELECT 1 / (100000 - x) FROM generate_series(1, 200000) AS g (x)")
        assert result["error"]["code"] == "22012"
        assert "tag" not in result
        assert len(result.get("rows", [])) < 100_000

    story(tmp_path, told)


VALUES = """
    9223372036854775807::int8; 1.5::float8; 'NaN'::float8; '-Infinity'::float4; 'NaN'::numeric
    12345678901234567890.123456789::numeric; true; false; NULL::bool
    NULL::int; NULL::jsonb; 'a"b\\c' || chr(10) || chr(1)
    'é🐘'::text; ''::text; '\\x00ff22'::bytea; interval '1 month -2 days 03:04:05.5'; date '2026-11-19'
    timestamp '2026-11-19 01:02:03.5'; timestamptz '2026-11-19 01:02:03+00'; time '01:02:03'
    '11111111-2222-3333-4444-555555555555'::uuid; 'pg_class'::regclass; 1735689600000::mz_timestamp
    '[1,5)'::int4range; 7::uint8; 'null'::text
"""


def test_values_that_are_no_documents_are_their_texts(tmp_path: Path) -> None:
    """Compared with what the text protocol shows, but for booleans, which JSON has."""

    async def told(served: Served) -> None:
        for expression in (part.strip() for line in VALUES.strip().splitlines() for part in line.split(";")):
            ((value,),) = await served.rows(f"SELECT {expression}")
            ((text,),) = await served.rows(f"SELECT ({expression})::text")
            same = {"true": True, "false": False}.get(text, text) if "bool" not in expression else text
            assert value == same, expression

    story(tmp_path, told)


NESTED = [
    ("ARRAY[1, NULL, 3]", ["1", None, "3"]),
    ("ARRAY[[1, 2], [3, 4]]", [["1", "2"], ["3", "4"]]),
    ("'[0:1]={1,2}'::int[]", ["1", "2"]),
    ("'{}'::int[]", []),
    ("ARRAY['a\"b', 'c,d']", ['a"b', "c,d"]),
    ("LIST[LIST[1], LIST[2, NULL]]", [["1"], ["2", None]]),
    ("ROW(1, 'x', NULL, true)", {"f1": "1", "f2": "x", "f3": None, "f4": True}),
    ("'{a=>1,b=>NULL}'::map[text=>int]", {"a": "1", "b": None}),
    ("ARRAY[ROW(1, ARRAY[2])]", [{"f1": "1", "f2": ["2"]}]),
    ("""'{"a": [1, 2.50, null, "x"]}'::jsonb""", {"a": [1, 2.5, None, "x"]}),
    ("NULL::int[]", None),
    ("NULL::map[text=>int]", None),
]


def test_what_has_parts_is_json(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        for expression, expected in NESTED:
            assert await served.rows(f"SELECT {expression}") == [[expected]], expression
        several = "SELECT x FROM (VALUES (ARRAY[1,2]), (NULL), ('{{3},{4}}'::int[]), ('{}')) AS v (x)"
        assert await served.rows(several) == [[["1", "2"]], [None], [[["3"], ["4"]]], [[]]]
        answer = await served.ask(
            "/api/sql", json.dumps({"query": "SELECT '12345678901234567890.5'::jsonb"}).encode()
        )
        assert b"[[12345678901234567890.5]]" in answer.body, "documents keep all digits of their numbers"

    story(tmp_path, told)


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{", JSON, 400),
        (b"[" * 100_000, JSON, 400),
        (b"\xff", JSON, 400),
        (b"[]", JSON, 422),
        (b'{"query": 1}', JSON, 422),
        (b'{"query": "\\ud800"}', JSON, 422),
        (b'{"query": "x", "queries": []}', JSON, 422),
        (b'{"queries": [{"query": "SELECT 1", "params": [1]}]}', JSON, 422),
        (b'{"query": "SELECT 1"}', {"content-type": "text/plain"}, 415),
        (b'{"query": "SELECT 1"}', {}, 415),
        (b" " * (HTTP_BODY_BYTES_MAX + 1), JSON, 413),
        (b'{"query": "SELECT 1"}', {**JSON, "origin": "http://elsewhere.example"}, 403),
        (b'{"query": "SELECT 1"}', {**JSON, "origin": "null"}, 403),
        (b'{"query": "SELECT 1"}', {**JSON, "origin": "http://["}, 403),
        (b'{"query": "SELECT 1"}', {**JSON, "host": "elsewhere.example:6876"}, 403),
        (b'{"query": "SELECT 1"}', {**JSON, "host": "127.0.0.1:80", "origin": "http://127.0.0.1:81"}, 403),
        (b'{"query": "SELECT 1"}', {**JSON, "authorization": "Bearer x"}, 403),
        (b'{"query": "SELECT 1"}', {**JSON, "authorization": "Basic !"}, 403),
        (b'{"query": "SELECT 1"}', {**JSON, "host": "127.0.0.1:80", "origin": "http://127.0.0.1:80"}, 200),
        (b'{"query": "SELECT 1"}', {**JSON, "host": "127.0.0.1:80", "origin": "https://127.0.0.1:80"}, 200),
        (b'{"query": "SELECT 1"}', {**JSON, "host": "127.0.0.1:80", "origin": "ftp://127.0.0.1:80"}, 403),
        (b'{"query": "SELECT 1"}', {**JSON, "host": "[::1]:6876"}, 200),
    ],
)
def test_a_request_that_is_none_gets_a_status(
    tmp_path: Path, body: bytes, headers: dict[str, str], status: int
) -> None:
    async def told(served: Served) -> None:
        answer = await served.ask("/api/sql", body, headers)
        assert answer.status == status, answer
        assert answer.json()["error"]["code"] if status != 200 else answer.json()["results"]
        assert (await served.ask("/api/sql", method="GET")).status == 405

    story(tmp_path, told)


def test_who_asks_is_said_by_name_and_password(tmp_path: Path) -> None:
    async def identify(user: str | None, password: str | None, address: str) -> str:
        if (user, password) != ("materialize", "right"):
            raise UserError("password authentication failed", "28P01")
        return user or ""

    def basic(text: str) -> dict[str, str]:
        return {**JSON, "authorization": f"Basic {base64.b64encode(text.encode()).decode()}"}

    async def told(served: Served) -> None:
        (result,) = await served.sql("SELECT current_user", basic("materialize:right"))
        assert result["rows"] == [["materialize"]]
        for headers in (basic("materialize:wrong"), basic("materialize"), JSON):
            answer = await served.ask("/api/sql", b'{"query": "SELECT 1"}', headers)
            assert answer.status == 401
            assert answer.headers["www-authenticate"].startswith("basic")
        reader, writer = await asyncio.open_connection(served.address.host, served.address.port)
        head = basic("materialize:wrong")
        writer.write(request("POST", "/api/sql", b" " * 1_000_000, head)[:-999_999])
        assert (await asyncio.wait_for(reader.readline(), 10)).split()[1] == b"401", (
            "before the body has come"
        )
        writer.close()
        named = {**basic("materialize:right"), "host": "sql.example.com"}
        assert (await served.sql("SELECT 1", named))[0]["rows"], "with passwords any name will do"

    story(tmp_path, told, Access(identify, trusted=False))


def test_settings_come_with_the_address(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        options = {"application_name": "curl", "statement_timeout": "200ms"}
        path = f"/api/sql?options={quote(json.dumps(options))}"
        (result,) = await served.sql("SHOW application_name", path=path)
        assert result["rows"] == [["curl"]]
        slow = "SELECT count(*) FROM generate_series(1, 3000000000)"
        (result,) = await served.sql(slow, path=path)
        assert result["error"]["code"] == "57014"
        assert (await served.ask("/api/sql?options=x", b'{"query": "SELECT 1"}')).status == 400

    story(tmp_path, told)


def test_large_results_come_in_pieces_that_wait_for_the_client(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        reader, writer = await asyncio.open_connection(served.address.host, served.address.port)
        query = "SELECT x, repeat('y', 1000) FROM generate_series(1, 1000000) AS g (x)"
        writer.write(request("POST", "/api/sql", json.dumps({"query": query}).encode(), JSON))
        assert await reader.readexactly(100_000)
        (session,) = served.coordinator.sessions.values()
        assert session.active, "it is written while it is made"
        writer.close()
        while served.coordinator.sessions:
            await asyncio.sleep(0.01)

    story(tmp_path, told)


def test_a_client_that_leaves_cancels_what_runs(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        await served.sql("CREATE TABLE t (a int)")
        slow = "SELECT count(*) FROM generate_series(1, 3000000000); INSERT INTO t VALUES (1)"
        _, writer = await asyncio.open_connection(served.address.host, served.address.port)
        writer.write(request("POST", "/api/sql", json.dumps({"query": slow}).encode(), JSON))
        while not any(session.active for session in served.coordinator.sessions.values()):
            await asyncio.sleep(0.01)
        writer.close()
        while served.coordinator.sessions:
            await asyncio.sleep(0.01)
        assert await served.rows("SELECT count(*) FROM t") == [["0"]]

    story(tmp_path, told)


def test_a_session_says_where_its_client_is(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        ((address, port),) = await served.rows(
            "SELECT client_addr, client_port FROM pg_stat_activity WHERE pid = pg_backend_pid()"
        )
        assert address == "127.0.0.1"
        assert int(port) > 0

    story(tmp_path, told)
