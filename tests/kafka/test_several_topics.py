"""Several topics of one source: named or matched, joined while it runs, and each with a fate of its own.

Method: topics of the test's own; what happens to one of them must not be seen in the tables of the others.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from tests.support.mirror import Mirror
from tests.support.server import eventually
from tests.support.several import OFTEN, Several


@pytest.fixture
def several(here: Mirror) -> Several:
    return Several(here)


def test_named_topics_are_references(here: Mirror, several: Several) -> None:
    a, b = here.topic(partitions=2), here.topic()
    here.kafka.produce(a, [(b"k", b"1", 0), (b"k", b"2", 1)])
    here.kafka.produce(b, [(b"k", b"3")])
    several.named(b, a)
    several.table("ta", a)
    several.table("tb", b, "KEY FORMAT TEXT VALUE FORMAT JSON ENVELOPE UPSERT")
    several.table("raw(k, v)", a, "")
    several.produce(b, [(b"k", b"4")])
    several.produce(a, [(b"k", b"5", 1)])
    assert several.texts("ta") == ["1", "2", "5"]
    assert here.rows("SELECT key, data::text FROM tb") == [("k", "4")]
    assert sorted(here.rows("SELECT v FROM raw")) == [(b"1",), (b"2",), (b"5",)]
    assert sorted(here.rows('SELECT topic, partition::text, "offset"::int FROM s')) == [
        (a, "(1,)", 0),
        (a, "[0,0]", 1),
        (a, "[1,1]", 2),
        (b, "(0,)", 0),
        (b, "[0,0]", 2),
    ]
    assert [name for name, *_ in here.columns("s")] == ["topic", "partition", "offset"]
    assert f"(TOPICS = ('{b}', '{a}')" in here.rows("SHOW CREATE SOURCE s")[0][1]
    assert sorted(several.of_schema("mz_kafka_sources", "id", "topic")) == [a, b]
    assert sorted(several.of_schema("mz_internal.mz_source_references", "source_id", "name")) == [a, b]
    assert sorted(several.of_schema("mz_internal.mz_kafka_source_tables", "id", "topic")) == [a, a, b]


def test_topics_that_appear_later_can_be_tabled(here: Mirror, several: Several) -> None:
    first = here.topic()
    several.matched(options="")  # new topics are looked for every minute, and when they get a table
    several.table("t0", first)
    several.produce(first, [(None, b"a")])
    later = here.topic(partitions=2)
    here.kafka.produce(later, [(None, b"old", 0), (None, b"older", 1)])
    listed = "mz_internal.mz_source_references", "source_id", "name"
    assert several.of_schema(*listed) == [first]
    here.run("ALTER SOURCE s REFRESH REFERENCES")
    assert sorted(several.of_schema(*listed)) == [first, later]
    assert sorted(several.of_schema("mz_kafka_sources", "id", "topic")) == [first, later]
    several.table("t1", later)
    several.table("again", later, "FORMAT BYTES INCLUDE PARTITION")
    several.produce(later, [(None, b"new", 1)])
    assert several.texts("t1") == ["new", "old", "older"]
    assert here.rows("SELECT count(*) FROM again") == [(3,)]
    # Without REFRESH REFERENCES, at once: CREATE TABLE asks the brokers itself.
    third = here.topic()
    here.kafka.produce(third, [(None, b"x")] * 5)
    several.table("t2", third)
    assert several.texts("t2") == ["x"] * 5
    assert several.texts("t0") == ["a"]
    assert here.status("s") == ("running", None)


def test_a_pattern_may_match_nothing_yet(here: Mirror, several: Several) -> None:
    said: list[str] = []
    here.session.add_notice_handler(lambda diagnostic: said.append(str(diagnostic.message_primary)))
    several.matched("-no")
    assert said == [f'no topic matches "^{here.schema}-.*-no$"']
    assert here.rows("SELECT * FROM s") == []
    topic = here.topic()
    refused = here.error(f'CREATE TABLE t FROM SOURCE s (REFERENCE "{topic}")')
    assert refused.message_primary == f"reference to {topic} not found in source"
    assert refused.message_detail == f'{topic} is a topic that does not match "^{here.schema}-.*-no$".'
    wanted = f"{here.schema}-x-no"
    here.kafka.create_topic(wanted)
    here.topics.append(wanted)
    here.kafka.produce(wanted, [(None, b"1")])
    several.table("t", wanted)
    assert several.texts("t") == ["1"]


def test_topics_without_tables_are_not_fetched(here: Mirror, several: Several) -> None:
    quiet, read = here.topic(), here.topic()
    rows = [(None, b"x" * 1_000)] * 1_000
    here.kafka.produce(quiet, rows)
    here.kafka.produce(read, rows)
    several.named(quiet, read)
    several.table("t", read)
    assert here.rows("SELECT count(*) FROM t") == [(1_000,)]
    several.table("u", read, "FORMAT BYTES")
    several.table("v", read, "FORMAT BYTES INCLUDE OFFSET")
    assert here.rows("SELECT count(*) FROM v") == [(1_000,)]
    before = here.kafka.bytes_out(read)
    with here.kafka.transaction() as write:  # so that one tick has all of them
        write(read, rows)
    several.wait(read)
    several.produce(quiet, rows)
    assert several.offsets(quiet) == {0: 2_000}
    assert here.rows("SELECT count(*) FROM v") == [(2_000,)]
    sent = here.kafka.bytes_out(read) - before
    assert 0 < sent < 1.5 * 1_000 * 1_000  # compressed or not, once for all three tables
    assert here.kafka.bytes_out(quiet) == 0


def test_what_happens_to_one_topic_is_of_its_tables(here: Mirror, several: Several) -> None:
    gone, made_again, stays = here.topic(), here.topic(), here.topic()
    several.matched()
    for name, topic in (("gone", gone), ("made_again", made_again), ("stays", stays)):
        several.table(name, topic)
        several.produce(topic, [(None, b"a")])
    here.kafka.delete_topic(gone)
    here.topics.remove(gone)
    here.kafka.delete_topic(made_again)
    here.kafka.create_topic(made_again)
    here.kafka.produce(made_again, [(None, b"other"), (None, b"others")])
    text = f'topic "{gone}" was deleted'
    eventually(lambda: text in str(here.status("gone")[1]))
    eventually(lambda: f'topic "{made_again}" was recreated' in str(here.status("made_again")[1]))
    assert text in here.refused("SELECT * FROM gone")
    assert "was recreated" in here.refused("SELECT * FROM made_again")
    several.produce(stays, [(None, b"b")])
    assert several.texts("stays") == ["a", "b"]
    assert here.status("s") == ("running", None)
    assert several.offsets(gone) == {}
    # What has the name now can be read: it is another reference.
    several.table("anew", made_again)
    several.produce(made_again, [(None, b"more")])
    assert several.texts("anew") == ["more", "other", "others"]
    assert "was recreated" in here.refused("SELECT * FROM made_again")
    assert "not found in source" in here.refused(f'CREATE TABLE x FROM SOURCE s (REFERENCE "{gone}")')


def test_a_topic_that_goes_makes_no_busy_one_wait(here: Mirror, several: Several) -> None:
    goes, busy = here.topic(), here.topic()
    several.named(goes, busy)
    several.table("goes", goes)
    several.table("busy", busy)
    several.produce(goes, [(None, b"a")])
    several.produce(busy, [(None, b"a")])
    done = threading.Event()

    def write() -> None:
        while not done.wait(0.05):
            here.kafka.produce(busy, [(None, b"more")])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        here.kafka.delete_topic(goes)
        here.kafka.create_topic(goes)
        eventually(lambda: f'topic "{goes}" was recreated' in str(here.status("goes")[1]))
    finally:
        done.set()
        writer.join()
    several.wait(busy)
    assert len(several.texts("busy")) == sum(here.kafka.end_offsets(busy).values())
    assert "was recreated" in here.refused("SELECT * FROM goes")


def test_a_moment_is_a_place_in_each_topic(here: Mirror, several: Several) -> None:
    a = here.topic()
    minute, now = 60_000, time.time_ns() // 1_000_000
    rows = [(None, b"%d" % n, None, None, now - (5 - n) * minute) for n in range(5)]
    here.kafka.produce(a, rows)
    several.matched(options=f"{OFTEN}, START TIMESTAMP -{2 * minute + 30_000}")
    several.table("ta", a)
    assert several.texts("ta") == ["3", "4"]
    later = here.topic()
    here.kafka.produce(later, rows)
    several.table("tb", later)
    assert several.texts("tb") == ["3", "4"]


def test_reads_wait_for_places_in_topics(here: Mirror, several: Several) -> None:
    a, b = here.topic(partitions=2), here.topic()
    several.named(a, b)
    several.table("ta", a)
    several.table("tb", b)
    several.produce(a, [(None, b"1", 0)])
    here.kafka.produce(b, [(None, b"2")])
    assert here.rows(f"SELECT text FROM tb AS OF AT LEAST POSITION '{b}(0:1),{a}(0:1,1:0)'") == [("2",)]
    here.run("SET real_time_recency = on")
    for number in range(5):
        here.kafka.produce(a, [(None, b"r", number % 2)])
        here.kafka.produce(b, [(None, b"r")])
        assert here.rows("SELECT count(*) FROM ta") == [(number + 2,)]
        assert here.rows("SELECT count(*) FROM tb") == [(number + 2,)]
    here.run("SET real_time_recency = off")
    refused = here.error("SELECT * FROM ta AS OF AT LEAST POSITION '0:1'")
    assert refused.message_hint == (
        "It takes the next offset of partitions of topics, as in eu(0:120,1:44),us(0:7)."
    )


ERRORS: list[tuple[str, str, str | None]] = [
    ("TOPICS ('{a}', '{a}')", 'topic "{a}" specified more than once', "Name it once in TOPICS."),
    (
        "TOPICS ('{a}', 'nope')",
        "KAFKA source validation: Topic does not exist",
        "Make it at the broker first.",
    ),
    ("TOPIC '{a}', TOPICS ('{b}')", "cannot specify TOPIC and TOPICS at same time", None),
    ("TOPICS ('{a}'), TOPIC PATTERN 'x'", "cannot specify TOPICS and TOPIC PATTERN at same time", None),
    (
        "TOPICS ()",
        "KAFKA CONNECTION without TOPIC",
        "Write TOPIC 't', TOPICS ('t', 'u') or TOPIC PATTERN '^t_'.",
    ),
    (
        "TOPIC PATTERN '(x'",
        'invalid TOPIC PATTERN: "(x"',
        "It is a regular expression in the syntax of RE2, as in '^orders_.*$'.",
    ),
    (
        "TOPICS ('{a}', '{b}'), START OFFSET (1)",
        "START OFFSET is not supported with several topics",
        "Use START TIMESTAMP, which is a place in each of them, or make a source for each topic.",
    ),
]


def test_what_cannot_be_is_refused(here: Mirror, several: Several) -> None:
    a, b = here.topic(), here.topic()
    for options, message, hint in ERRORS:
        found = here.error(f"CREATE SOURCE s FROM KAFKA CONNECTION k ({options.format(a=a, b=b)})")
        assert (found.message_primary, found.message_hint) == (message.format(a=a), hint)
    legacy = f"CREATE SOURCE s FROM KAFKA CONNECTION k (TOPICS ('{a}', '{b}'))"
    for clause in ("FORMAT TEXT", "FOR ALL TABLES", "FOR TABLES (x)", "FOR SCHEMAS (x)"):
        found = here.error(f"{legacy} {clause}")
        assert found.message_primary == "TOPICS is not supported in the legacy syntax"
        assert "Write TOPIC 't'" in str(found.message_hint)
    several.named(a, b)
    for clauses in ("", "FORMAT TEXT"):
        found = here.error(f"CREATE TABLE t FROM SOURCE s {clauses}")
        assert found.message_primary == "KAFKA source validation: missing REFERENCE"
        assert found.message_hint == (
            "Say which topic is wanted: CREATE TABLE .. FROM SOURCE .. (REFERENCE topic)"
        )
    other = here.topic()
    found = here.error(f'CREATE TABLE t FROM SOURCE s (REFERENCE "{other}")')
    assert found.message_detail == f"{other} is none of the source's topics."
    assert "not found in source" in here.refused("CREATE TABLE t FROM SOURCE s (REFERENCE nope)")


def test_the_brokers_own_topics_never_match(here: Mirror, several: Several) -> None:
    topic = here.topic()
    with here.kafka.transaction() as write:
        write(topic, [(None, b"a")])
    assert "__transaction_state" in here.kafka.admin().list_topics(timeout=5).topics
    several.create(f"TOPIC PATTERN '^__|^{here.schema}'")
    eventually(lambda: several.offsets(topic) == here.kafka.end_offsets(topic))
    found: list[Any] = here.rows("SELECT DISTINCT topic FROM s")
    assert found == [(topic,)]
