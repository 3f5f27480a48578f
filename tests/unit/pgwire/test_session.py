"""The conversation: which messages answer which, and what the coordinator is asked.

Method: a session is a generator, so each test feeds bytes and looks at the steps; the
coordinator is `fake_sessions`.  Orders of messages are those of PostgreSQL 15.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs

from headwater.core.limits import SMALL_MESSAGE_BYTES_MAX, STATEMENT_BYTES_MAX
from headwater.core.types import INT4, TEXT
from headwater.pgwire.steps import Flush, Read, Stopping
from tests.support.wire.driver import (
    COPY_DONE,
    FLUSH,
    SYNC,
    TERMINATE,
    Client,
    bind,
    close,
    describe,
    error_of,
    execute,
    fields,
    goodbye,
    kinds,
    message,
    parse,
    query,
    rows_of,
    text,
)
from tests.support.wire.fake_sessions import FakeSessions, relation


@pytest.fixture
def sessions() -> FakeSessions:
    return FakeSessions(
        relations={
            "one": relation({"a": (INT4, [1])}),
            "five": relation({"a": (INT4, [1, 2, 3, 4, 5]), "b": (TEXT, ["v", None, "x", "y", "z"])}),
            "two_batches": relation({"a": (INT4, [1, 2, 3])}, batch_count=2),
            "none": relation({"a": (INT4, [])}),
        }
    )


@pytest.fixture
def client(sessions: FakeSessions) -> Iterator[Client]:
    client = Client(sessions)
    client.start()
    yield client
    goodbye(client)


# Simple queries


def test_a_query_is_answered_by_description_rows_tag_and_readiness(client: Client) -> None:
    replies = client.send(query("rows five"))
    assert kinds(replies) == "TDDDDDCZ"
    assert rows_of(replies)[:2] == [(b"1", b"v"), (b"2", None)]
    assert replies[-2:] == [("C", b"SELECT 5\x00"), ("Z", b"I")]
    assert isinstance(client.taken[-2], Flush)


def test_a_description_carries_names_types_and_formats(client: Client) -> None:
    (_, body), *_ = client.send(query("rows five"))
    assert body == (
        b"\x00\x02"
        + b"a\x00" + bytes(6) + b"\x00\x00\x00\x17\x00\x04\xff\xff\xff\xff\x00\x00"
        + b"b\x00" + bytes(6) + b"\x00\x00\x00\x19\xff\xff\xff\xff\xff\xff\x00\x00"
    )  # fmt: skip


@pytest.mark.parametrize("sql", ["", " ", ";", " ; ;"])
def test_a_query_of_nothing_has_an_answer_of_its_own(client: Client, sql: str) -> None:
    assert kinds(client.send(query(sql))) == "IZ"


def test_several_statements_are_one_transaction(client: Client, sessions: FakeSessions) -> None:
    assert kinds(client.send(query("rows one; do X; rows none"))) == "TDCCTCZ"
    assert sessions.calls[0] == "begin implicit"
    assert sessions.calls.count("finish well") == 1
    assert sessions.calls[-1] == "finish well"


def test_one_statement_needs_no_implicit_transaction(client: Client, sessions: FakeSessions) -> None:
    client.send(query("rows one;"))
    assert sessions.calls == ["prepare rows one", "execute rows one", "finish well"]


def test_an_error_stops_the_statements_after_it(client: Client, sessions: FakeSessions) -> None:
    replies = client.send(query("rows one; fail 22012 division by zero; rows one"))
    assert kinds(replies) == "TDCEZ"
    assert sessions.calls[-3:] == ["execute fail 22012 division by zero", "fail", "finish failed"]
    assert error_of(replies) == {
        "S": "ERROR",
        "V": "ERROR",
        "C": "22012",
        "M": "division by zero",
        "D": "Some detail.",
        "H": "Some hint.",
        "P": str(len("rows one; ") + 6),
    }


def test_a_position_counts_from_the_start_of_the_query(client: Client) -> None:
    assert error_of(client.send(query("do A;   rows nix")))["P"] == "14"
    assert error_of(client.send(query("do A;   syntax")))["P"] == "9"


def test_the_last_tag_is_sent_after_the_commit(client: Client, sessions: FakeSessions) -> None:
    async def finish(failed: bool) -> None:
        sessions.calls.append(f"finish {failed}")
        if not failed:
            raise ValueError("no commit")

    session = next(iter(sessions.open.values()))
    session.finish = finish  # type: ignore[method-assign]
    with capture_logs():
        assert kinds(client.send(query("do A; do B"))) == "CEZ"
    assert sessions.calls[-3:] == ["finish False", "fail", "finish True"]


def test_notices_come_in_place_and_settings_at_the_end(client: Client) -> None:
    replies = client.send(query("say hello; set application_name x; do Y"))
    assert kinds(replies) == "NCCCSZ"
    assert fields(replies[0][1]) == {"S": "NOTICE", "V": "NOTICE", "C": "00000", "M": "hello"}
    assert replies[4] == ("S", b"application_name\x00x\x00")
    assert kinds(client.send(query("set application_name x"))) == "CZ"


def test_results_are_closed_whether_they_end_well_or_not(client: Client, sessions: FakeSessions) -> None:
    client.send(query("rows one; rows five"))
    assert sessions.closed_results == 2
    goodbye(client)
    assert sessions.closed_results == 2
    assert sessions.calls[-1] == "close"


def test_a_bug_is_reported_by_number_and_the_session_goes_on(client: Client) -> None:
    with capture_logs() as logs:
        replies = client.send(query("bug"))
    error = error_of(replies)
    assert error["C"] == "XX000"
    assert "secret" not in str(replies)
    assert logs[0]["reference"] in error["M"]
    assert kinds(client.send(query("rows one"))) == "TDCZ"


def test_a_statement_that_is_too_long_is_dropped_and_the_session_goes_on(client: Client) -> None:
    length = STATEMENT_BYTES_MAX + 10
    client.send(b"Q" + (length + 4).to_bytes(4, "big"))
    piece = bytes(1024 * 1024)
    replies = []
    while length:
        replies = client.send(piece[: min(length, len(piece))])
        length -= min(length, len(piece))
    assert kinds(replies) == "EZ"
    assert error_of(replies)["C"] == "54000"
    assert kinds(client.send(query("rows one"))) == "TDCZ"


def test_a_simple_query_has_no_parameters(client: Client) -> None:
    assert error_of(client.send(query("echo int4")))["C"] == "42P02"


def test_function_calls_are_refused(client: Client) -> None:
    replies = client.send(message("F", b"anything"))
    assert kinds(replies) == "EZ"
    assert error_of(replies)["C"] == "0A000"


# Extended queries


def test_a_pipeline_is_answered_message_by_message(client: Client, sessions: FakeSessions) -> None:
    data = parse("echo int4 text", "s") + describe("S", "s")
    data += bind((b"7", None), statement="s") + describe("P") + execute() + close("S", "s") + SYNC
    replies = client.send(data)
    assert kinds(replies) == "1tT2TDC3Z"
    assert replies[1][1] == b"\x00\x02\x00\x00\x00\x17\x00\x00\x00\x19"
    assert rows_of(replies) == [(b"7", None)]
    assert sessions.arguments == [("7", None)]
    assert sessions.calls[-1] == "finish well"


def test_a_statement_is_one_of_several_unless_a_sync_follows_it(
    client: Client, sessions: FakeSessions
) -> None:
    client.send(parse("do X", "s") + bind(statement="s") + execute() + SYNC)
    assert "begin implicit" not in sessions.calls
    client.send(bind(statement="s") + execute() + bind(statement="s") + execute() + SYNC)
    assert sessions.calls.count("begin implicit") == 1


def test_arguments_and_results_may_be_binary(client: Client, sessions: FakeSessions) -> None:
    data = parse("echo int4 text") + bind((b"\x00\x00\x00\x07", b"x"), (1, 0), (0, 1)) + execute() + SYNC
    assert rows_of(client.send(data)) == [(b"7", b"x")]
    data = bind((b"\x00\x00\x00\x07", b"x"), (1,), (1,)) + describe("P") + execute() + SYNC
    replies = client.send(data)
    assert rows_of(replies) == [(b"\x00\x00\x00\x07", b"x")]
    assert replies[1][1].endswith(b"\x00\x01")
    assert sessions.arguments == [("7", "x")] * 2


def test_types_given_by_the_client_reach_the_coordinator(client: Client) -> None:
    replies = client.send(parse("echo text", types=(20,)) + describe("S") + SYNC)
    assert replies[1][1] == b"\x00\x01\x00\x00\x00\x14"
    replies = client.send(parse("echo text", types=(705,)) + describe("S") + SYNC)
    assert replies[1][1] == b"\x00\x01\x00\x00\x00\x19"
    assert error_of(client.send(parse("echo text", types=(99999,)) + SYNC))["C"] == "42704"


def test_a_statement_without_rows_describes_as_no_data(client: Client) -> None:
    replies = client.send(parse("do X") + describe("S") + bind() + describe("P") + execute() + SYNC)
    assert kinds(replies) == "1tn2nCZ"


def test_an_empty_statement_can_be_prepared(client: Client) -> None:
    assert kinds(client.send(parse("") + bind() + describe("P") + execute() + SYNC)) == "12nIZ"


def test_a_limit_suspends_a_portal_until_the_rows_are_all_there(client: Client) -> None:
    client.send(query("begin"))
    replies = client.send(parse("rows two_batches") + bind() + execute(2) + FLUSH)
    assert kinds(replies) == "12DDs"
    replies = client.send(execute(2) + execute(2) + execute(2) + execute(2) + SYNC)
    assert kinds(replies) == "DDsDDsCCZ"
    assert [row for (row,) in rows_of(replies)] == [b"3", b"1", b"2", b"3"]
    assert [body for kind, body in replies if kind == "C"] == [b"SELECT 0\x00"] * 2


def test_a_tag_counts_the_rows_of_its_own_execute(client: Client) -> None:
    replies = client.send(parse("rows five") + bind() + execute(3) + execute(3) + SYNC)
    assert kinds(replies) == "12DDDsDDCZ"
    assert ("C", b"SELECT 2\x00") in replies


def test_fetching_one_row_at_a_time_gives_every_row_once(client: Client) -> None:
    replies = client.send(parse("rows two_batches") + bind() + execute(1) * 7 + SYNC)
    assert [row for (row,) in rows_of(replies)] == [b"1", b"2", b"3"] * 2


def test_a_statement_without_rows_runs_once_per_portal(client: Client) -> None:
    replies = client.send(parse("do X") + bind() + execute() + execute() + SYNC)
    assert kinds(replies) == "12CEZ"
    assert error_of(replies)["C"] == "55000"


def test_everything_after_an_error_is_skipped_up_to_sync(client: Client, sessions: FakeSessions) -> None:
    data = parse("fail 22012 x") + bind() + execute() + query("do X") + parse("do Y") + execute()
    assert kinds(client.send(data)) == "12E"
    assert kinds(client.send(SYNC)) == "Z"
    assert sessions.calls[-3:] == ["execute fail 22012 x", "fail", "finish failed"]
    assert kinds(client.send(SYNC)) == "Z"
    assert sessions.calls[-1] == "finish well"


def test_an_error_is_sent_before_sync_comes(client: Client) -> None:
    client.send(execute())
    assert isinstance(client.taken[-2], Flush)


@pytest.mark.parametrize(
    ("data", "sqlstate", "words"),
    [
        (parse("do X", "s") + parse("do X", "s"), "42P05", 'prepared statement "s" already exists'),
        (bind(statement="nix"), "26000", 'prepared statement "nix" does not exist'),
        (bind(), "26000", "unnamed prepared statement does not exist"),
        (describe("S", "nix"), "26000", 'prepared statement "nix" does not exist'),
        (describe("P", "nix"), "34000", 'portal "nix" does not exist'),
        (execute(portal="nix"), "34000", 'portal "nix" does not exist'),
        (parse("do X") + bind(portal="p") + bind(portal="p"), "42P03", 'cursor "p" already exists'),
        (parse("do X; do Y"), "42601", "cannot insert multiple commands into a prepared statement"),
        (
            parse("echo int4", "e") + bind(statement="e"),
            "08P01",
            'bind message supplies 0 parameters, but prepared statement "e" requires 1',
        ),
        (
            parse("echo int4") + bind((b"1",), (0, 0)),
            "08P01",
            "bind message has 2 parameter formats but 1 parameters",
        ),
        (
            parse("rows five") + bind(result_formats=(0, 0, 0)),
            "08P01",
            "bind message has 3 result formats but query has 2 columns",
        ),
        (parse("rows five") + bind(result_formats=(7,)), "22023", "unsupported format code: 7"),
        (
            parse("echo int4") + bind((b"\x00\x01",), (1,)),
            "22P03",
            "incorrect binary data format in bind parameter 1",
        ),
        (
            parse("echo text") + bind((b"a\xffb",)),
            "22021",
            'invalid byte sequence for encoding "UTF8": 0xff',
        ),
        (parse("echo text") + bind((b"a\x00b",)), "22021", 'invalid byte sequence for encoding "UTF8": 0x00'),
        (
            parse("echo text") + bind((b"a\x00b",), (1,)),
            "22021",
            'invalid byte sequence for encoding "UTF8": 0x00',
        ),
        (message("S", b"x"), "08P01", "1 bytes left over at the end of a message"),
        (message("B", b"\x00"), "08P01", "string in message is not terminated"),
        (message("D", b"Zx\x00"), "08P01", "there is no Describe of type 90"),
        (message("P", b"\xff\x00\x00\x00\x00"), "22021", 'invalid byte sequence for encoding "UTF8": 0xff'),
    ],
)
def test_mistakes_of_the_client_have_their_sqlstate(
    client: Client, data: bytes, sqlstate: str, words: str
) -> None:
    error = error_of(client.send(data))
    assert (error["S"], error["C"], error["M"]) == ("ERROR", sqlstate, words)
    assert kinds(client.send(SYNC + query("rows one"))) == "ZTDCZ"


def test_statements_outlive_sync_and_portals_do_not(client: Client, sessions: FakeSessions) -> None:
    client.send(parse("rows five", "s") + bind(statement="s", portal="p") + execute(1, "p") + SYNC)
    assert sessions.closed_results == 1
    assert error_of(client.send(execute(1, "p") + SYNC))["C"] == "34000"
    assert kinds(client.send(bind(statement="s", portal="p") + SYNC)) == "2Z"


def test_portals_live_as_long_as_their_transaction(client: Client, sessions: FakeSessions) -> None:
    client.send(query("begin"))
    client.send(parse("rows five", "s") + bind(statement="s", portal="p") + execute(1, "p") + SYNC)
    assert rows_of(client.send(execute(1, "p") + SYNC)) == [(b"2", None)]
    client.send(query("commit"))
    assert sessions.closed_results == 1
    assert error_of(client.send(execute(1, "p") + SYNC))["C"] == "34000"


def test_a_query_forgets_the_unnamed_statement(client: Client) -> None:
    client.send(parse("do X") + SYNC)
    client.send(query("do Y"))
    assert error_of(client.send(bind() + SYNC))["C"] == "26000"


def test_closing_what_does_not_exist_is_no_error(client: Client) -> None:
    assert kinds(client.send(close("S", "nix") + close("P", "nix") + close("S") + SYNC)) == "333Z"


def test_a_closed_portal_lets_go_of_its_result(client: Client, sessions: FakeSessions) -> None:
    client.send(parse("rows five") + bind(portal="p") + execute(1, "p") + close("P", "p"))
    assert sessions.closed_results == 1


def test_a_failed_block_says_so(client: Client) -> None:
    assert client.send(query("begin"))[-1] == ("Z", b"T")
    assert client.send(query("fail 22012 x"))[-1] == ("Z", b"E")
    assert error_of(client.send(query("rows one")))["C"] == "25P02"
    assert client.send(query("rollback"))[-1] == ("Z", b"I")


# COPY


def test_copy_out_sends_one_message_per_row(client: Client) -> None:
    replies = client.send(query("copy out text five"))
    assert kinds(replies) == "HdddddcCZ"
    assert replies[0][1] == b"\x00\x00\x02\x00\x00\x00\x00"
    assert replies[2][1] == b"2\t\\N\n"
    assert replies[-2] == ("C", b"COPY 5\x00")
    assert kinds(client.send(parse("copy out text five") + bind() + execute() + SYNC)) == "12HdddddcCZ"


def test_the_binary_header_is_in_the_first_row_s_message(client: Client) -> None:
    replies = client.send(query("copy out binary one"))
    assert kinds(replies) == "HddcCZ"
    assert replies[1][1] == b"PGCOPY\n\xff\r\n\x00" + bytes(8) + b"\x00\x01\x00\x00\x00\x04\x00\x00\x00\x01"
    assert replies[2][1] == b"\xff\xff"
    replies = client.send(query("copy out binary none"))
    assert replies[1][1] == b"PGCOPY\n\xff\r\n\x00" + bytes(8) + b"\xff\xff"


def test_csv_begins_with_its_header(client: Client) -> None:
    replies = client.send(query("copy out csv five"))
    assert [body for kind, body in replies if kind == "d"][:3] == [b"a,b\n", b"1,v\n", b"2,\n"]


def test_copy_in_hands_all_bytes_over(client: Client, sessions: FakeSessions) -> None:
    assert kinds(client.send(query("copy in text; do X"))) == "G"
    assert client.send(message("d", b"1\tx\n2") + message("d", b"\ty\n")) == []
    replies = client.send(COPY_DONE)
    assert replies == [("C", b"COPY 2\x00"), ("C", b"X\x00"), ("Z", b"I")]
    assert sessions.copied == [b"1\tx\n2\ty\n"]


def test_sync_and_flush_during_copy_in_mean_nothing(client: Client, sessions: FakeSessions) -> None:
    replies = client.send(parse("copy in text") + bind() + execute() + SYNC)
    assert kinds(replies) == "12G"
    assert kinds(client.send(message("d", b"1\tx\n") + FLUSH + COPY_DONE + SYNC)) == "CZ"
    assert sessions.copied == [b"1\tx\n"]


def test_a_client_may_give_copy_in_up(client: Client, sessions: FakeSessions) -> None:
    client.send(query("copy in text"))
    replies = client.send(message("f", text("changed my mind")))
    assert kinds(replies) == "EZ"
    assert error_of(replies)["M"] == "COPY from stdin failed: changed my mind"
    assert error_of(replies)["C"] == "57014"
    assert sessions.calls[-3:] == ["abort COPY from stdin failed: changed my mind", "fail", "finish failed"]


def test_what_follows_a_failed_copy_in_is_dropped(client: Client, sessions: FakeSessions) -> None:
    client.send(query("copy in text"))
    replies = client.send(message("d", b"poison" + bytes(70_000)))
    assert kinds(replies) == "EZ"
    assert error_of(replies)["W"] == "COPY t, line 1"
    assert client.send(message("d", b"more") + COPY_DONE) == []
    assert kinds(client.send(query("rows one"))) == "TDCZ"
    assert sessions.copied == []


def test_another_message_during_copy_in_ends_it(client: Client, sessions: FakeSessions) -> None:
    client.send(query("copy in text"))
    replies = client.send(query("rows one"))
    assert kinds(replies) == "EZ"
    assert error_of(replies)["M"] == "unexpected message type 0x51 during COPY from stdin"


def test_a_client_that_leaves_during_copy_in_aborts_it(client: Client, sessions: FakeSessions) -> None:
    client.send(query("copy in text"))
    goodbye(client)
    assert client.ended
    assert sessions.calls[-2:] == ["abort the client has gone", "close"]


# Ends


def test_terminate_closes_the_session(client: Client, sessions: FakeSessions) -> None:
    assert client.send(TERMINATE) == []
    assert client.ended
    assert sessions.calls == ["close"]


def test_a_server_that_stops_says_so(client: Client, sessions: FakeSessions) -> None:
    error = error_of(client.throw(Stopping()))
    assert (error["S"], error["C"]) == ("FATAL", "57P01")
    assert error["M"] == "terminating connection due to administrator command"
    assert client.ended
    assert sessions.calls == ["close"]


def test_a_coordinator_may_end_a_session(client: Client, sessions: FakeSessions) -> None:
    error = error_of(client.send(query("fail 57P01 terminating connection")))
    assert error["S"] == "FATAL"
    assert client.ended
    assert sessions.calls[-1] == "close"


@pytest.mark.parametrize(
    "header",
    [
        b"?\x00\x00\x00\x04",
        b"\x00\x00\x00\x00\x00",
        b"Q\x00\x00\x00\x03",
        b"Q\xff\xff\xff\xff",
        b"Q\x7f\xff\xff\xff",
        b"S" + (SMALL_MESSAGE_BYTES_MAX + 5).to_bytes(4, "big"),
        b"p\x00\x00\x00\x08",
    ],
)
def test_a_header_that_makes_no_sense_ends_the_session(client: Client, header: bytes) -> None:
    error = error_of(client.send(header))
    assert (error["S"], error["C"]) == ("FATAL", "08P01")
    assert client.ended


def test_no_more_is_read_than_the_longest_message_may_have(client: Client) -> None:
    client.send(b"S" + (SMALL_MESSAGE_BYTES_MAX + 4).to_bytes(4, "big"))
    assert client.taken[-1] == Read(SMALL_MESSAGE_BYTES_MAX)
