"""ALTER SOURCE .. RESYNC: a source whose topic was made again, or lost messages, begins anew.

Method: what the topic has afterwards is known; tables must come to it, with their ids, the views over them
and the history of before.
"""

from __future__ import annotations

from tests.support.mirror import Mirror
from tests.support.newest_and_log import UPSERT, have, ids, tables
from tests.support.server import eventually
from tests.support.several import Several

OFTEN = ", TOPIC METADATA REFRESH INTERVAL '1s'"
HINT = "RESYNC begins anew"


def test_a_topic_that_was_made_again_is_begun_anew(here: Mirror) -> None:
    topic = here.topic(partitions=2)
    here.source(topic, options=OFTEN)
    tables(here)
    here.produce(topic, [(b"a", b"1"), (b"b", b"1"), (b"a", b"2")])
    have(here, [("a", "2"), ("b", "1")], ["1", "1", "2"])
    before = ids(here)
    ((moment,),) = here.rows("SELECT mz_now()::text FROM t LIMIT 1")
    here.kafka.delete_topic(topic)
    here.kafka.create_topic(topic, 1)
    here.kafka.produce(topic, [(b"a", b"2"), (b"c", b"new")])
    eventually(lambda: "topic was " in str(here.status("s")[1]))
    error = here.error("CREATE TABLE u FROM SOURCE s FORMAT TEXT")
    assert f"ALTER SOURCE materialize.{here.schema}.s {HINT}" in str(error.message_hint)
    here.run("ALTER SOURCE s RESYNC")
    have(here, [("a", "2"), ("c", "new")], ["2", "new"])
    assert ids(here) == before
    assert sorted(here.rows(f"SELECT * FROM t AS OF {moment}")) == [("a", "2"), ("b", "1")]
    here.produce(topic, [(b"b", b"3"), (b"c", None)])
    have(here, [("a", "2"), ("b", "3")], ["2", "3", "new"])
    here.run(f"CREATE TABLE u FROM SOURCE s {UPSERT}")
    assert sorted(here.rows("SELECT * FROM u")) == [("a", "2"), ("b", "3")]


def test_a_table_that_ended_is_read_again_once_the_bad_message_is_gone(here: Mirror) -> None:
    topic = here.topic()
    here.source(topic)
    here.run("CREATE TABLE j FROM SOURCE s FORMAT JSON", "CREATE TABLE log FROM SOURCE s FORMAT TEXT")
    here.produce(topic, [(None, b"bad"), (None, b"1")])
    assert "Decode error" in eventually(lambda: here.refused("SELECT * FROM j"))
    here.kafka.delete_records(topic, {0: 1})
    here.run("ALTER SOURCE s RESYNC")
    eventually(lambda: here.rows("SELECT data::text FROM j") == [("1",)])
    eventually(lambda: here.rows("SELECT text FROM log") == [("1",)])


def test_a_topic_that_is_not_there_is_told(here: Mirror) -> None:
    topic = here.topic()
    here.source(topic, options=OFTEN)
    here.kafka.delete_topic(topic)
    here.topics.remove(topic)
    assert "does not exist" in here.refused("ALTER SOURCE s RESYNC")


def test_topics_that_are_there_are_begun_anew_whatever_became_of_the_others(here: Mirror) -> None:
    several = Several(here)
    lost, gone, again, whole = (here.topic(partitions=2) for _ in range(4))
    several.matched()
    for name, topic in (("gone", gone), ("again", again), ("whole", whole)):
        several.table(name, topic, UPSERT)
    several.table("lost", lost)
    for topic in (lost, gone, again, whole):
        several.produce(topic, [(b"a", b"1"), (b"b", b"1", 1)])
    assert here.rows("SELECT * FROM gone ORDER BY key") == [("a", "1"), ("b", "1")]
    before = ids(here)
    here.kafka.delete_records(lost, {1: 1})
    for topic in (gone, again):
        here.kafka.delete_topic(topic)
    here.topics.remove(gone)
    here.kafka.create_topic(again)
    here.kafka.produce(again, [(b"a", b"2")])
    eventually(lambda: here.status("again")[0] == here.status("gone")[0] == "failed")
    here.run("ALTER SOURCE s RESYNC")
    eventually(lambda: here.rows("SELECT * FROM again") == [("a", "2")])
    assert several.texts("lost") == ["1"]
    assert here.rows("SELECT * FROM whole ORDER BY key") == [("a", "1"), ("b", "1")]
    eventually(lambda: f'topic "{gone}" was deleted' in str(here.status("gone")[1]))
    assert f'topic "{gone}" was deleted' in here.refused("SELECT * FROM gone")
    assert ids(here) == before
    for topic in (lost, again, whole):
        several.produce(topic, [(b"a", b"3")])
    assert several.texts("lost") == ["1", "3"]
    assert here.rows("SELECT * FROM again") == [("a", "3")]
    assert here.rows("SELECT * FROM whole ORDER BY key") == [("a", "3"), ("b", "1")]
    assert here.status("s") == ("running", None)
