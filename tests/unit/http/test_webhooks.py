"""Webhooks: what requests become, what is refused, and that a 200 means what it says.

Method: an environment in this process, asked over real sockets with requests written by hand.  What senders
sign is shown by examples that they have published, or that are made by their published rules.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import time
from pathlib import Path

import pytest

from headwater.catalog.updates import SetSystemVariable
from headwater.coordinator.migration import migrate_sources
from headwater.core.limits import HTTP_BODY_BYTES_MAX
from headwater.observe.failpoints import armed
from tests.support.http import Served
from tests.unit.http.posting import PATH, made, refused, sent, story


def test_bodies_become_rows(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        await made(served, "CREATE TABLE w FROM WEBHOOK BODY FORMAT JSON")
        await made(served, "CREATE TABLE a FROM WEBHOOK BODY FORMAT JSON ARRAY")
        await made(served, "CREATE TABLE t FROM WEBHOOK BODY FORMAT TEXT")
        await made(served, "CREATE TABLE b FROM WEBHOOK BODY FORMAT BYTES")
        base = "/api/webhook/materialize/public/"
        for body in (
            b'{"x":  1.50}',
            b'{"y": "\xc3\xa9"}\n[1, 2]\n\n"z"\n',
            b"  ",
            b"1 2",
            b"12345678901234567890.5",
        ):
            assert (await sent(served, body)).status == 200, body
        rows = await served.rows("SELECT body::text FROM w ORDER BY 1")
        expected = ["1", "12345678901234567890.5", "2", '"z"', "[1, 2]", '{"x": 1.5}', '{"y": "é"}']
        assert sorted(row[0] for row in rows) == sorted(expected)
        for body in (b'[{"a": [1, {"b": 2}]}, "c,]", 3]', b"[]", b'{"alone": true}', b"[[1]]"):
            assert (await sent(served, body, base + "a")).status == 200, body
        rows = await served.rows("SELECT body::text FROM a")
        expected = ['{"a": [1, {"b": 2}]}', '"c,]"', "3", '{"alone": true}', "[1]"]
        assert sorted(row[0] for row in rows) == sorted(expected)
        for body in ("é 'x'".encode(), b""):
            assert (await sent(served, body, base + "t")).status == 200
        assert await served.rows("SELECT body FROM t ORDER BY 1") == [[""], ["é 'x'"]]
        assert (await sent(served, bytes(range(256)), base + "b")).status == 200
        assert await served.rows("SELECT body = decode('" + bytes(range(256)).hex() + "', 'hex') FROM b") == [
            [True]
        ]
        for body, table in ((b"{", "w"), (b"\xff", "w"), (b'{"a":1} x', "w"), (b"[1", "a"), (b"\xff", "t")):
            answer = await sent(served, body, base + table)
            assert (answer.status, answer.body[:1] != b"") == (400, True), body
        assert await served.rows("SELECT count(*) FROM w") == [["7"]]

    story(tmp_path, told)


def test_headers_become_columns(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        await made(
            served,
            "CREATE TABLE w FROM WEBHOOK BODY FORMAT TEXT INCLUDE HEADER 'X-Id' AS id"
            " INCLUDE HEADER 'x-raw' AS raw BYTES INCLUDE HEADERS (NOT 'host', NOT 'X-Raw')",
        )
        columns = await served.rows("SHOW COLUMNS FROM w")
        assert [row[:3] for row in columns] == [
            ["body", False, "text"],
            ["headers", False, "map[text=>text]"],
            ["id", True, "text"],
            ["raw", True, "bytea"],
        ]
        assert (await sent(served, b"1", X_Id="é".encode().decode("latin-1"), x_raw="\xff")).status == 200
        assert (await sent(served, b"2", x_more="m")).status == 200
        rows = await served.rows(
            "SELECT body, headers->'x-more', headers ? 'host', id, raw FROM w ORDER BY 1"
        )
        assert rows == [["1", None, False, "é", "\\xff"], ["2", "m", False, None, None]]
        reader, writer = await asyncio.open_connection(served.address.host, served.address.port)
        writer.write(
            f"POST {PATH} HTTP/1.1\r\nhost: x\r\nx-id: 1\r\nX-ID: 2\r\ncontent-length: 0\r\n\r\n".encode()
        )
        assert (await reader.readline()).split()[1] == b"401"
        writer.close()
        assert (await sent(served, b"3", x_id="\xff")).status == 400

    story(tmp_path, told)


def test_only_a_webhook_that_is_there_is_found(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        await made(served, 'CREATE TABLE "W x" FROM WEBHOOK BODY FORMAT TEXT')
        await made(served, "CREATE TABLE plain (body text)")
        assert (await sent(served, b"", "/api/webhook/materialize/public/W%20x")).status == 200
        for path in (
            "materialize/public/nothing",
            "materialize/public/plain",
            "x/y/z",
            "x",
            "a/b/c/d",
            "%ff/b/c",
        ):
            answer = await sent(served, b"", f"/api/webhook/{path}")
            assert (answer.status, answer.body[:31]) == (404, b"no object was found at the path"), path
        assert (await sent(served, b"", f"/api/webhook/a/b/{'c' * 5_000}")).status == 404
        kept = served.coordinator.webhooks._addresses  # of which a stranger cannot make much
        assert max(len(part) for path in kept for part in path) < 5_000
        assert (await served.ask("/api/webhook/materialize/public/plain", method="GET")).status == 405
        rows = await served.rows("SELECT name, url FROM mz_internal.mz_webhook_sources")
        assert rows == [["W x", "/api/webhook/materialize/public/W%20x"]]
        await made(served, 'ALTER TABLE "W x" RENAME TO w')
        assert (await sent(served, b"", "/api/webhook/materialize/public/W%20x")).status == 404
        assert (await sent(served, b"")).status == 200
        await made(served, "CREATE SCHEMA s")
        await made(served, "ALTER SCHEMA public SWAP WITH s")
        assert (await sent(served, b"")).status == 404
        assert (await sent(served, b"", "/api/webhook/materialize/s/w")).status == 200
        assert await served.rows("SELECT count(*) FROM s.w") == [["3"]]
        await made(served, "DROP TABLE s.w")
        assert (await sent(served, b"", "/api/webhook/materialize/s/w")).status == 404

    story(tmp_path, told)


def test_only_requests_write_it(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        await made(served, "CREATE TABLE w FROM WEBHOOK BODY FORMAT TEXT")
        for sql in ("INSERT INTO w VALUES ('x')", "UPDATE w SET body = ''", "DELETE FROM w"):
            error = await refused(served, sql)
            assert (error["code"], "webhook" in error["detail"]) == ("42809", True), sql
        assert (await refused(served, "COPY w FROM STDIN"))["code"] == "42809"
        await made(served, "COMMENT ON TABLE w IS 'pushed'")
        await made(served, "ALTER TABLE w SET (RETAIN HISTORY FOR '1h')")
        ((_, create),) = await served.rows("SHOW CREATE TABLE w")
        assert "RETAIN HISTORY" in create
        await sent(served, b"abc")
        await sent(served, b"de")
        rows = await served.rows(
            "SELECT s.messages_received, s.bytes_received, s.updates_committed FROM"
            " mz_internal.mz_source_statistics s JOIN mz_tables t USING (id) WHERE t.name = 'w'"
        )
        assert rows == [["2", "5", "2"]]
        rows = await served.rows("SELECT type, status FROM mz_internal.mz_source_statuses WHERE name = 'w'")
        assert rows == [["webhook", "running"]]

    story(tmp_path, told)


def test_limits_have_statuses(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        await made(served, "CREATE TABLE w FROM WEBHOOK BODY FORMAT BYTES")
        assert (await sent(served, bytes(HTTP_BODY_BYTES_MAX))).status == 200
        assert (await sent(served, bytes(HTTP_BODY_BYTES_MAX + 1))).status == 413
        webhooks = served.coordinator.webhooks
        webhooks._in_flight += 500
        assert (await sent(served, b"")).status == 429
        webhooks._in_flight -= 500
        assert (await sent(served, b"")).status == 200
        webhooks.room._held_bytes += 2**40
        answer = await sent(served, b"x")
        assert answer.status == 429
        assert answer.headers["retry-after"]
        webhooks.room._held_bytes -= 2**40
        assert (await sent(served, b"")).status == 200

    story(tmp_path, told)


def test_many_requests_are_one_append(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        await made(served, "CREATE TABLE w FROM WEBHOOK BODY FORMAT TEXT")
        await made(served, "CREATE TABLE v FROM WEBHOOK BODY FORMAT TEXT")
        other = "/api/webhook/materialize/public/v"
        asked = [sent(served, str(n).encode(), PATH if n % 2 else other) for n in range(200)]
        assert {answer.status for answer in await asyncio.gather(*asked)} == {200}
        assert await served.rows("SELECT (SELECT count(*) FROM w), (SELECT count(*) FROM v)") == [
            ["100", "100"]
        ]
        ids = [item.id for item in served.coordinator.catalog.state.items.values() if item.name in "wv"]
        files = [served.coordinator.ledger.change_files(id_, 0, 2**62) for id_ in ids]
        assert 0 < len(files[0]) + len(files[1]) < 100

    story(tmp_path, told)


def test_a_condition_is_a_condition(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        await made(served, "CREATE SECRET s AS 'x'")
        create = "CREATE TABLE w FROM WEBHOOK BODY FORMAT TEXT CHECK "
        for check, text in (
            ("(true)", "does not reference any columns"),
            ("(body = current_user)", "is not deterministic"),
            ("(body = gen_random_uuid()::text)", "is not deterministic"),
            ("(mz_now()::text = body)", "is not deterministic"),
            ("(WITH (BODY AS x, HEADERS AS x) x = '')", 'column reference "x" is ambiguous'),
            ("(nothing = body)", 'column "nothing" does not exist'),
            ("(body)", "boolean"),
            ("(body = (SELECT 'x' FROM mz_tables LIMIT 1))", "reads other relations"),
            ("(WITH (SECRET nothing) nothing = '')", "nothing"),
        ):
            error = await refused(served, create + check)
            assert text in error["message"], (check, error)
        await made(served, create + "(now() > '2020-01-01' AND length(body) < 5)")
        assert (await sent(served, b"1234")).status == 200
        assert (await sent(served, b"12345")).status == 400

    story(tmp_path, told)


def test_one_request_that_raises_does_not_spoil_the_others(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        await made(
            served,
            "CREATE TABLE w FROM WEBHOOK BODY FORMAT TEXT CHECK (decode(headers->'x', 'hex') = 'ab'::bytea)",
        )
        asked = [sent(served, str(n).encode(), x="6162" if n % 3 else "zz") for n in range(60)]
        answers = await asyncio.gather(*asked)
        assert [answer.status for answer in answers] == [200 if n % 3 else 400 for n in range(60)]
        rows = await served.rows("SELECT body::int FROM w ORDER BY 1")
        assert rows == [[str(n)] for n in range(60) if n % 3], "each answer is that of its own request"
        assert (await sent(served, b"", y="1")).body == b"failed to validate the request\n", "NULL is no yes"

    story(tmp_path, told)


def test_an_error_does_not_tell_what_a_secret_is(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        await made(served, "CREATE SECRET s AS 'planted-value'")
        for check in ("s::int = length(body)", "body::int = s::int", "decode(s, 'hex') = body::bytea"):
            with_secret = f"CHECK (WITH (BODY, SECRET s) {check})"
            await made(served, f"CREATE TABLE w FROM WEBHOOK BODY FORMAT TEXT {with_secret}")
            answer = await sent(served, b"1")
            assert (answer.status, answer.body) == (400, b"failed to validate the request\n")
            await made(served, "DROP TABLE w")
        await made(served, "CREATE TABLE w FROM WEBHOOK BODY FORMAT TEXT CHECK (body::int > 0)")
        assert b"invalid input syntax" in (await sent(served, b"x")).body, "without a secret it says why"

    story(tmp_path, told)


def test_a_secret_that_is_no_text_stops_nobody_else(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        await made(served, r"CREATE SECRET s AS decode('ff', 'hex')")
        check = "CHECK (WITH (BODY, SECRET s) s = body)"
        await made(served, f"CREATE TABLE w FROM WEBHOOK BODY FORMAT TEXT {check}")
        await made(served, "CREATE TABLE other FROM WEBHOOK BODY FORMAT TEXT")
        answer = await sent(served, b"1")
        assert (answer.status, answer.body) == (
            400,
            b"failed to validate the request: the secret is not UTF-8 text\n",
        )
        assert (await sent(served, b"1", PATH[:-1] + "other")).status == 200

    story(tmp_path, told)


def test_another_secret_counts_from_then_on(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        await made(served, "CREATE SECRET s AS 'one'")
        await made(
            served,
            "CREATE TABLE w FROM WEBHOOK BODY FORMAT TEXT"
            " CHECK (WITH (HEADERS, SECRET s) headers->'key' = s)",
        )
        assert (await sent(served, b"", key="one")).status == 200
        await made(served, "ALTER SECRET s AS 'two'")
        assert (await sent(served, b"", key="one")).status == 400
        assert (await sent(served, b"", key="two")).status == 200
        assert (await refused(served, "DROP SECRET s"))["code"] == "2BP01"
        await made(served, "ALTER SECRET s RENAME TO z")
        ((_, create),) = await served.rows("SHOW CREATE TABLE w")
        assert "SECRET materialize.public.z AS s" in create
        assert "two" not in create
        assert (await sent(served, b"", key="two")).status == 200

    story(tmp_path, told)


LEGACY = "CREATE SOURCE w IN CLUSTER quickstart FROM WEBHOOK BODY FORMAT JSON"
SHOWN: tuple[tuple[str, list[list[str]]], ...] = (
    ("SHOW SOURCES", [["w", "webhook", "quickstart", ""]]),
    ("SHOW TABLES", []),
    ("SELECT type, cluster_id FROM mz_sources WHERE name = 'w'", [["webhook", "u1"]]),
    ("SELECT type, status FROM mz_internal.mz_source_statuses", [["webhook", "running"]]),
    ("SELECT name FROM mz_internal.mz_webhook_sources", [["w"]]),
    ("SELECT updates_committed FROM mz_internal.mz_source_statistics", [["1"]]),
    ("SELECT type FROM mz_objects WHERE name = 'w'", [["source"]]),
    ("SELECT table_type FROM information_schema.tables WHERE table_name = 'w'", [["SOURCE"]]),
    ("SHOW REFERENCES ON w", []),
)
REFUSED = (
    ("DROP TABLE w", "42809"),
    ("INSERT INTO w VALUES ('1')", "42809"),
    ("ALTER SOURCE w SET (TIMESTAMP INTERVAL '1s')", "0A000"),
    ("ALTER SOURCE w REFRESH REFERENCES", "42809"),
    ("ALTER SOURCE w RESYNC", "42809"),
    ("ALTER SOURCE w ADD SUBSOURCE x", "42809"),
    ("CREATE TABLE t FROM SOURCE w (REFERENCE x)", "42809"),
    ("VERIFY TABLE w", "42809"),
    ("SELECT * FROM w AS OF AT LEAST POSITION '1' OF w", "42809"),
)


def test_the_legacy_syntax_makes_a_source(tmp_path: Path) -> None:
    """As tools for the dialect expect one: they look for it among sources, and drop it as one."""

    async def told(served: Served) -> None:
        result = await made(served, LEGACY)
        assert (result["ok"], result["notices"]) == ("CREATE SOURCE", [])
        assert (await sent(served, b"1")).status == 200
        assert await served.rows("SELECT body FROM w") == [[1]]
        for sql, rows in SHOWN:
            assert await served.rows(sql) == rows, sql
        ((_, text),) = await served.rows("SHOW CREATE SOURCE w")
        assert text.startswith("CREATE SOURCE materialize.public.w\nIN CLUSTER quickstart\nFROM WEBHOOK")
        for sql, code in REFUSED:
            assert (await refused(served, sql))["code"] == code, sql
        await made(served, "ALTER SOURCE w RENAME TO v")
        assert (await sent(served, b"2", f"{PATH[:-1]}v")).status == 200
        await made(served, "COMMENT ON SOURCE v IS 'pushed'")
        await made(served, "GRANT SELECT ON v TO PUBLIC")
        await made(served, "DROP SOURCE v")
        assert (await sent(served, b"3", f"{PATH[:-1]}v")).status == 404
        await made(served, "CREATE CLUSTER c (SIZE 'small')")
        await made(served, LEGACY.replace("quickstart", "c"))
        assert (await refused(served, "DROP CLUSTER c"))["code"] == "2BP01"
        await made(served, "DROP CLUSTER c CASCADE")
        assert (await sent(served, b"3")).status == 404

    story(tmp_path, told)


def test_the_migration_leaves_webhooks_alone(tmp_path: Path) -> None:
    async def before(served: Served) -> None:
        await made(served, LEGACY)
        assert (await sent(served, b"4")).status == 200
        served.coordinator.catalog.transact([], [SetSystemVariable("force_source_table_syntax", "on")])

    async def later(served: Served) -> None:
        migrate_sources(served.coordinator.catalog)
        assert (await sent(served, b"5")).status == 200
        assert await served.rows("SELECT count(*) FROM w") == [["2"]]
        assert await served.rows("SHOW SOURCES") == [["w", "webhook", "quickstart", ""]]
        assert "use CREATE TABLE .. FROM WEBHOOK" in (await refused(served, LEGACY))["message"]

    story(tmp_path, before)
    story(tmp_path, later)


def hex_hmac(secret: str, body: bytes, algorithm: str = "sha256") -> str:
    return hmac.new(secret.encode(), body, algorithm).hexdigest()


STRIPE = b'{\n  "id": "evt_test_webhook",\n  "object": "event"\n}'


def stripe(at_s: int) -> str:
    return f"t={at_s},v1={hex_hmac('whsec_test_secret', f'{at_s}.'.encode() + STRIPE)}"


# Each: a CREATE's CHECK, the secret, a body, and headers as the sender makes them.
SIGNED = {
    # GitHub's documentation gives this secret, payload and signature.
    "github": (
        "(WITH (BODY BYTES, HEADERS, SECRET s BYTES)"
        " constant_time_eq('sha256=' || encode(hmac(body, s, 'sha256'), 'hex'),"
        " headers->'x-hub-signature-256'))",
        "It's a Secret to Everybody",
        b"Hello, World!",
        {"x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"},
    ),
    # Stripe signs the time, a full stop and the body: t=...,v1=...  Its libraries take five minutes.
    "stripe": (
        "(WITH (BODY, HEADERS, SECRET s) constant_time_eq(encode(hmac("
        "regexp_match(headers->'stripe-signature', 't=([0-9]+)')[1] || '.' || body, s, 'sha256'), 'hex'),"
        " regexp_match(headers->'stripe-signature', 'v1=([0-9a-f]+)')[1]) AND abs(extract(epoch FROM now())"
        " - regexp_match(headers->'stripe-signature', 't=([0-9]+)')[1]::numeric) < 300)",
        "whsec_test_secret",
        STRIPE,
        {},  # made when it is sent
    ),
    # Shopify sends base64.
    "shopify": (
        "(WITH (BODY BYTES, HEADERS, SECRET s BYTES)"
        " constant_time_eq(decode(headers->'x-shopify-hmac-sha256', 'base64'), hmac(body, s, 'sha256')))",
        "hush",
        b'{"id":820982911946154508}',
        {
            "x-shopify-hmac-sha256": base64.b64encode(
                hmac.new(b"hush", b'{"id":820982911946154508}', hashlib.sha256).digest()
            ).decode()
        },
    ),
    # Segment signs with SHA-1, in hexadecimal.
    "segment": (
        "(WITH (BODY BYTES, HEADERS, SECRET s BYTES)"
        " decode(headers->'x-signature', 'hex') = hmac(body, s, 'sha1'))",
        "mysecret",
        b'{"type":"track","event":"Bought"}',
        {"x-signature": hex_hmac("mysecret", b'{"type":"track","event":"Bought"}', "sha1")},
    ),
    "a shared key": ("(WITH (HEADERS, SECRET s) headers->'x-key' = s)", "k", b"x", {"x-key": "k"}),
}


@pytest.mark.parametrize("sender", SIGNED)
def test_signatures_of_senders_are_checked(tmp_path: Path, sender: str) -> None:
    check, secret, body, headers = SIGNED[sender]
    if sender == "stripe":
        headers = {"stripe-signature": stripe(int(time.time()))}

    async def told(served: Served) -> None:
        await made(served, "CREATE SECRET s AS '" + secret.replace("'", "''") + "'")
        await made(served, f"CREATE TABLE w FROM WEBHOOK BODY FORMAT BYTES CHECK {check}")
        assert (await served.ask(PATH, body, headers)).status == 200
        if sender != "a shared key":
            assert (await served.ask(PATH, body + b" ", headers)).status == 400
        wrong = {name: value[:-2] + ("00" if value[-2:] != "00" else "11") for name, value in headers.items()}
        assert (await served.ask(PATH, body, wrong)).status == 400
        assert (await served.ask(PATH, body, {})).status == 400
        assert await served.rows("SELECT count(*) FROM w") == [["1"]]

    story(tmp_path, told)


def test_a_signed_time_keeps_late_copies_out(tmp_path: Path) -> None:
    check, secret, body, _ = SIGNED["stripe"]

    async def told(served: Served) -> None:
        await made(served, f"CREATE SECRET s AS '{secret}'")
        await made(served, f"CREATE TABLE w FROM WEBHOOK BODY FORMAT JSON CHECK {check}")
        for late_s, status in ((200, 200), (400, 400), (-400, 400)):
            headers = {"stripe-signature": stripe(int(time.time()) - late_s)}
            assert (await served.ask(PATH, body, headers)).status == status, late_s

    story(tmp_path, told)


def test_a_key_that_was_used_writes_nothing_again(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        await made(served, "CREATE TABLE w FROM WEBHOOK BODY FORMAT TEXT")
        for _ in range(3):
            assert (await sent(served, b"a", idempotency_key="1")).status == 200
        assert (await sent(served, b"b", idempotency_key="1")).status == 422
        assert (await sent(served, b"b", idempotency_key="2")).status == 200
        twins = await asyncio.gather(*[sent(served, b"c", idempotency_key="3") for _ in range(20)])
        assert {answer.status for answer in twins} == {200}
        assert await served.rows("SELECT body FROM w ORDER BY 1") == [["a"], ["b"], ["c"]]

    async def later(served: Served) -> None:
        for body, key in ((b"a", "1"), (b"b", "2"), (b"c", "3")):
            assert (await sent(served, body, idempotency_key=key)).status == 200
        assert (await sent(served, b"b", idempotency_key="1")).status == 422
        assert await served.rows("SELECT count(*) FROM w") == [["3"]]

    story(tmp_path, told)
    story(tmp_path, later)


@pytest.mark.parametrize(
    "failpoint",
    [
        "webhooks.before_append",
        "tables.before_append",
        "ledger.before_commit",
        "ledger.after_commit",
        "webhooks.after_append",
    ],
)
def test_a_failure_loses_nothing_and_a_retry_doubles_nothing(tmp_path: Path, failpoint: str) -> None:
    async def told(served: Served) -> None:
        await made(served, "CREATE TABLE w FROM WEBHOOK BODY FORMAT TEXT")
        with armed(failpoint, "error"):
            first = await sent(served, b"a", idempotency_key="1")
        assert first.status in (200, 503), first
        count = int((await served.rows("SELECT count(*) FROM w"))[0][0])
        assert count or first.status == 503
        assert (await sent(served, b"a", idempotency_key="1")).status == 200
        assert (await sent(served, b"b")).status == 200
        assert await served.rows("SELECT body FROM w ORDER BY 1") == [["a"], ["b"]]

    story(tmp_path, told)


def test_statements_are_kept_as_they_mean(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        await made(served, "CREATE SECRET s AS 'x'")
        await made(
            served,
            "CREATE TABLE w FROM WEBHOOK BODY FORMAT JSON ARRAY INCLUDE HEADERS ('A', 'b')"
            " INCLUDE HEADER 'c' AS d BYTES"
            " CHECK (WITH (BODY AS x BYTES, SECRET s) x = s::bytea)",
        )
        ((_, create),) = await served.rows("SHOW CREATE TABLE w")
        await made(served, "DROP TABLE w")
        await made(served, create)
        assert await served.rows("SHOW CREATE TABLE w") == [["materialize.public.w", create]]

    story(tmp_path, told)
