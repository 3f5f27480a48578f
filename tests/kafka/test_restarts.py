"""Whatever has become of topics while nothing of us ran: nothing is read again, and nothing is passed over.

Method: stories that need a server to die and to be started again, which it does once for all of them.
Each is a function that waits at its first `yield` until nothing runs, at its second until all runs again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.support.kafka import KafkaServer
from tests.support.mirror import Mirror
from tests.support.newest_and_log import UPSERT, have, ids, tables
from tests.support.server import HeadwaterServer, eventually
from tests.support.several import Several

Story = Callable[[Mirror], Iterator[None]]


def keeps_all_and_reads_nothing_again(here: Mirror) -> Iterator[None]:
    topic = here.topic()
    here.source(topic)
    here.run(f"CREATE TABLE t FROM SOURCE s {UPSERT}", "CREATE TABLE raw FROM SOURCE s")
    here.run("SELECT * FROM t", "SELECT * FROM raw")
    block = b"x" * 1000
    here.produce(topic, [(b"k%d" % (n % 100), b"%d" % n + block) for n in range(5000)])
    here.produce(topic, [(b"k%d" % n, None) for n in range(50)] + [(b"\xff", b"bad"), (b"k99", b"\xff")])
    history = here.rows("SELECT count(*) FROM raw")
    before = here.kafka.bytes_out(topic)
    yield
    here.kafka.produce(topic, [(b"k7", b"while it was away"), (b"k8", b"x"), (b"k8", None)])
    yield
    here.wait(topic)
    assert "Envelope error: Upsert: " in here.refused("SELECT * FROM t")
    here.produce(topic, [(b"\xff", None), (b"k99", b"good")])
    found = dict(here.rows("SELECT * FROM t"))
    assert len(found) == 51
    assert (found["k7"], found["k99"]) == ("while it was away", "good")
    assert found["k60"] == "4960" + block.decode()
    assert here.rows("SELECT count(*) FROM raw") == [(history[0][0] + 5,)]
    assert here.kafka.bytes_out(topic) - before < 100_000
    here.server.kill_cluster()
    here.produce(topic, [(b"k60", b"again")])
    assert dict(here.rows("SELECT * FROM t"))["k60"] == "again"
    assert here.kafka.bytes_out(topic) - before < 100_000
    eventually(lambda: here.status("t")[0] == "running")


def tells_what_is_gone_of_one_of_several_topics(here: Mirror) -> Iterator[None]:
    several = Several(here)
    cut, whole = here.topic(), here.topic()
    several.matched()
    several.table("cut", cut)
    several.table("whole", whole)
    for topic in (cut, whole):
        several.produce(topic, [(None, b"a")])
    later = here.topic()
    here.kafka.produce(later, [(None, b"l")])
    several.table("later", later)
    assert several.texts("later") == ["l"]
    yield
    for topic in (cut, whole, later):
        here.kafka.produce(topic, [(None, b"b"), (None, b"c"), (None, b"d")])
    here.kafka.delete_records(cut, {0: 3})
    yield
    text = f"Low watermark 3 of kafka topic {cut} partition 0 is past the start offset/resume upper: 1"
    eventually(lambda: text in str(here.status("cut")[1]))
    assert text in here.refused("SELECT * FROM cut")
    several.wait(whole)
    several.wait(later)
    assert several.texts("whole") == ["a", "b", "c", "d"]
    assert several.texts("later") == ["b", "c", "d", "l"]
    assert here.status("s") == ("running", None)
    several.table("what_is_left", cut)
    several.produce(cut, [(None, b"e")])
    assert several.texts("what_is_left") == ["d", "e"]


def tells_what_is_gone_and_begins_anew(here: Mirror) -> Iterator[None]:
    topic = here.topic()
    here.source(topic)
    tables(here)
    here.produce(topic, [(b"a", b"1"), (b"b", b"1")])
    have(here, [("a", "1"), ("b", "1")], ["1", "1"])
    before = ids(here)
    yield
    here.kafka.produce(topic, [(b"c", b"lost"), (b"d", b"1"), (b"b", b"2")])
    here.kafka.delete_records(topic, {0: 3})
    yield
    text = f"Low watermark 3 of kafka topic {topic} partition 0 is past the start offset/resume upper: 2"
    eventually(lambda: text in str(here.status("s")[1]))
    assert text in here.refused("SELECT * FROM log")
    assert here.status("s")[0] == "failed"
    here.run("ALTER SOURCE s RESYNC")
    here.server.kill_cluster()
    have(here, [("b", "2"), ("d", "1")], ["1", "2"])
    assert ids(here) == before
    yield  # and it dies and is started once more
    yield
    here.produce(topic, [(b"e", b"5")])
    have(here, [("b", "2"), ("d", "1"), ("e", "5")], ["1", "2", "5"])


STORIES: tuple[Story, ...] = (
    keeps_all_and_reads_nothing_again,
    tells_what_is_gone_of_one_of_several_topics,
    tells_what_is_gone_and_begins_anew,
)


def test_a_restart_reads_nothing_again_and_passes_nothing_over(
    mortal_server: HeadwaterServer, kafka: KafkaServer
) -> None:
    places = [Mirror(mortal_server, kafka) for _ in STORIES]
    told = [story(here) for story, here in zip(STORIES, places, strict=True)]
    going = [True] * len(told)
    while any(going):
        # Up to a death; after the start what follows it, one story after the other.
        going = [alive and next(story, "over") is None for alive, story in zip(going, told, strict=True)]
        if any(going):
            mortal_server.kill_environment()
            mortal_server.kill_cluster()
            for alive, story in zip(going, told, strict=True):
                if alive:
                    next(story)
            mortal_server.start()
            for here in places:
                here.enter()
    for here in places:
        here.leave()
