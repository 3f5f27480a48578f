"""A source's topics in the driver: where they end, whether they are still the same, who reads which range.

    probe   the topics there are, their ids, where they end        -> Places
    look    what is to be read is of these topics, and nothing of it has gone
    plan    [start, end) of the partitions of topics that have tables, cut to size, in parts

The driver reads no message: tasks do (read.py).  Each looks at the topics' ids again after it has read, so
that what was read is of the topics that it should be of: ids do not come back.

What befalls the one topic of a source is an error of the source; of several, of the topic's tables:

    it has gone, or is another one      it leaves the frontier, and its tables end there in the same tick
    messages have gone unread           its tables end, and others may be made of what there is
    it cannot be asked, or read         it stands still, its tables wait, and `waiting` says so

Topics without tables are not read: they are at their ends.

Not here: cutting a range (ranges.py), which topics a source is of (matching.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from confluent_kafka import KafkaError

from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import DefiniteError, InvariantViolation, TransientError
from headwater.core.frontier import Frontier
from headwater.core.limits import KAFKA_ABSENT_S, KAFKA_BEHIND_S, KAFKA_METADATA_S
from headwater.core.points import Point
from headwater.sources.contract import Export, Looked, Options, ReadPart, Secrets, Waits
from headwater.sources.kafka import matching
from headwater.sources.kafka.connection import NAMESPACE, Admin
from headwater.sources.kafka.frontier import NO_EPOCH, Place, Places
from headwater.sources.kafka.ranges import cut_to, shared_out
from headwater.sources.kafka.topic import Ends, Topic, answered, beginnings, ends, starts
from headwater.sources.kafka.uncommitted import Uncommitted

SOURCE_TYPE: Final = "kafka"
_AGAIN_S: Final = 0.5
ANEW: Final = (
    "What is upstream now does not continue what was read. ALTER SOURCE {source} RESYNC begins anew with what"
    " is there, and brings every table up to date: rows whose messages are gone go."
)
ANOTHER_TABLE: Final = (
    "What is upstream now does not continue what was read. Drop the table and create it again; or use ALTER"
    " SOURCE {source} RESYNC, which reads all tables of the source again."
)
_GONE, _BEHIND, _UNASKED = "gone", "behind", "unasked"
_BEFORE: Final = "ends before what was read of it"


def places_of(frontier: Frontier) -> Places:
    """A frontier of this kind."""
    if not isinstance(frontier, Places):
        raise InvariantViolation(f"topics were given the frontier {frontier}")
    return frontier


def first_places(options: Options) -> Places:
    """Where a source begins."""
    known = {
        name: Place(known["id"], tuple(known["start"]), tuple(known["start"]))
        for name, known in sorted(options["known"].items())
    }
    return Places(known, options["several"], generation=options.get("generation", 0))


def topic_of(export: Export) -> tuple[str, str]:
    """The name and the id of the topic that a table is made of."""
    return export.reference[-1], export.pinned.reference["topic_id"]


class KafkaReader:
    """Asks the brokers about the topics of one source."""

    def __init__(
        self,
        options: Options,
        secrets: Secrets,
        stands_at: Frontier | None,
        folder: Path | None,
        waits: Waits,
    ) -> None:
        self._options = options
        self._several: bool = options["several"]
        self._admin = Admin(options["connection"], secrets)
        self._topics: dict[str, Topic | KafkaError] = {}  # as they were described last
        self._described_s = float("-inf")
        self._since: dict[
            tuple[str, str, str], float
        ] = {}  # what is not as it was, of which topic: since when
        self._tabled: frozenset[str] = frozenset()  # topics that tables are made of
        self._still: dict[str, str] = {}  # topics that stand still, and why
        self._uncommitted = Uncommitted()
        self.start: Frontier = first_places(options)
        first = places_of(self.start)
        stands = first if stands_at is None else places_of(stands_at)
        self.continues = stands.generation == first.generation
        self._stands = stands if self.continues else first
        self.waiting: tuple[str, str] | None = None

    # How far

    def probe(self, now_ms: int) -> Frontier:
        self._look_up()
        self._still = {}
        places = self._places(self._stands) if self._several else self._one_place(self._stands)
        self._say_what_waits(places)
        return places

    def _look_up(self) -> None:
        """Describe the topics, if it is time to."""
        now_s = SYSTEM_CLOCK.monotonic_s()
        every_s = self._options.get("metadata_s") or KAFKA_METADATA_S
        if self._since or now_s >= self._described_s + every_s:
            names = {*matching.named(self._options, self._admin), *self._stands.topics}
            self._topics = matching.found(self._options, self._admin, sorted(names))
            self._described_s = now_s

    def _lasted_s(self, what: str, name: str, topic_id: str) -> float:
        """For how long something of a topic has not been as it was, since this was first asked."""
        now_s = SYSTEM_CLOCK.monotonic_s()
        return now_s - self._since.setdefault((what, name, topic_id), now_s)

    def _passed(self, *whats: str, of: tuple[str, str]) -> None:
        for what in whats:
            self._since.pop((what, *of), None)

    def _one_place(self, stands: Places) -> Places:
        """Where the one topic ends."""
        ((name, place),) = stands.topics.items()
        topic = self._the_topic(name, place.id)
        end = _ended(place, answered(self._admin, name, ends(self._admin, [topic])[name]))
        if place <= end:
            self._passed(_BEHIND, of=(name, place.id))
            return replace(stands, topics={name: end})
        self._the_topic(name, place.id, afresh=True)  # it may be another one
        # A new leader may not know yet how far others have what it has.
        if self._lasted_s(_BEHIND, name, place.id) > KAFKA_BEHIND_S:
            raise DefiniteError(name, str(place), _lost(place, end), hint=ANEW)
        self._still[name] = _BEFORE
        return stands

    def _the_topic(self, name: str, topic_id: str, afresh: bool = False) -> Topic:
        """The one topic; the error of the source if it has gone."""
        deadline = SYSTEM_CLOCK.monotonic_s() + KAFKA_ABSENT_S
        if afresh:
            self._topics = matching.found(self._options, self._admin, [name])
        while (found := self._topics.get(name)) is None:
            if SYSTEM_CLOCK.monotonic_s() > deadline:
                raise DefiniteError(name, "", "topic was deleted", hint=ANEW)
            SYSTEM_CLOCK.sleep(_AGAIN_S)
            self._topics = matching.found(self._options, self._admin, [name])
        topic = answered(self._admin, name, found)
        if topic.id != topic_id:
            raise DefiniteError(name, "", "topic was recreated", hint=ANEW)
        return topic

    def _places(self, stands: Places) -> Places:
        """Where several topics end.  What has gone for good leaves, and what is new joins."""
        askable = [topic for topic in self._topics.values() if isinstance(topic, Topic)]
        told = ends(self._admin, askable, patience_s=0)
        moved = {name: self._moved(name, place, told.get(name)) for name, place in stands.topics.items()}
        places = {name: place for name, place in moved.items() if place is not None}
        number = stands.number + len(moved) - len(places)
        for name, place in self._joining(places, told).items():
            number += 1
            places[name] = replace(place, joined=number)
        return replace(stands, topics={name: places[name] for name in sorted(places)}, number=number)

    def _moved(self, name: str, place: Place, told: Ends | KafkaError | None) -> Place | None:
        """Where a topic of the source is now: where it was, if it cannot be asked; None: it has gone."""
        topic = self._topics.get(name)
        if topic is None or (isinstance(topic, Topic) and topic.id != place.id):
            if self._lasted_s(_GONE, name, place.id) > KAFKA_ABSENT_S:
                self._passed(_GONE, _BEHIND, _UNASKED, of=(name, place.id))
                return None
            self._still[name] = "does not answer as the one that was read"
            return place
        self._passed(_GONE, of=(name, place.id))
        if isinstance(topic, KafkaError) or not topic.readable:
            self._still[name] = "may not be read by the connection's user"
            return place
        if told is None or isinstance(told, KafkaError):
            self._lasted_s(_UNASKED, name, place.id)  # it is described again at the next probe
            self._still[name] = "could not be asked" if told is None else f"could not be asked: {told.str()}"
            return place
        self._passed(_UNASKED, of=(name, place.id))
        end = _ended(place, told)
        if place <= end:
            self._passed(_BEHIND, of=(name, place.id))
            return end
        if self._lasted_s(_BEHIND, name, place.id) > KAFKA_BEHIND_S:
            self._passed(_BEHIND, of=(name, place.id))
            return None  # it joins as what it is now
        self._still[name] = _BEFORE
        return place

    def _joining(self, there: Mapping[str, Place], told: Mapping[str, Ends | KafkaError]) -> dict[str, Place]:
        """Topics that are new to the source: they join at their ends; tables of them are read beside it."""
        new = {
            name: (topic, end)
            for name, topic in sorted(self._topics.items())
            if name not in there and isinstance(topic, Topic) and topic.readable
            if isinstance(end := told.get(name), Ends)
        }
        if not new:
            return {}
        begins = starts(self._admin, [topic for topic, _ in new.values()], self._options["start_ms"])
        return {
            name: _ended(Place(topic.id, at.offsets, at.offsets), end)
            for name, (topic, end) in new.items()
            if isinstance(at := begins[name], Ends)
        }

    def _say_what_waits(self, places: Places) -> None:
        still = next((name for name in self._still if name in self._tabled), None)
        if still is not None:
            text = f'{NAMESPACE}: topic "{still}" {self._still[still]}'
            others = "; those of the other topics go on" if self._several else ""
            self.waiting = text, f"Its tables wait for it{others}."
            return
        topics = [topic for topic in self._topics.values() if isinstance(topic, Topic)]
        tabled = [topic for topic in topics if topic.name in self._tabled]
        self.waiting = self._uncommitted.look(self._admin, tabled, places)

    # Whether it is what it was

    def check(self, exports: tuple[Export, ...]) -> Mapping[str, DefiniteError]:
        """Tables of several topics whose topic has gone before they could join."""
        self._tabled = frozenset(topic_of(export)[0] for export in exports)
        if not self._several:
            return {}
        strange = [export for export in exports if not self._follows(*topic_of(export))]
        asked = set(map(topic_of, strange))
        self._since = {
            key: at for key, at in self._since.items() if self._follows(*key[1:]) or key[1:] in asked
        }
        if any(self._described_id(topic_of(export)[0]) != topic_of(export)[1] for export in strange):
            self._described_s = float("-inf")
            self._look_up()
        errors = {}
        for export in strange:
            name, topic_id = topic_of(export)
            now_id = self._described_id(name)
            if now_id == topic_id:
                self._passed(_GONE, of=(name, topic_id))
            elif self._lasted_s(_GONE, name, topic_id) > KAFKA_ABSENT_S:
                self._passed(_GONE, of=(name, topic_id))
                errors[export.table_id] = _gone(name, now_id is not None)
        return errors

    def _follows(self, name: str, topic_id: str) -> bool:
        place = self._stands.topics.get(name)
        return place is not None and place.id == topic_id

    def _described_id(self, name: str) -> str | None:
        topic = self._topics.get(name)
        return topic.id if isinstance(topic, Topic) else None

    def look(self, exports: tuple[Export, ...], seen: Mapping[str, Any], end: Frontier) -> Looked:
        """Topics are described once more, after their ends were asked: the ends are of these topics."""
        places = places_of(end)
        if not self._several:
            ((name, place),) = places.topics.items()
            self._the_topic(name, place.id, afresh=True)
            return Looked(end)
        errors: dict[str, DefiniteError] = {}
        for export in exports:
            error = self._what_became(export, places)
            if error is not None:
                errors[export.table_id] = error
        tabled = {topic_of(export)[0] for export in exports if export.table_id not in errors}
        moving = [name for name in sorted(tabled) if places.topics[name] != self._stands.topics[name]]
        described = matching.found(self._options, self._admin, moving)
        same = [
            topic
            for topic in described.values()
            if isinstance(topic, Topic) and topic.id == places.topics[topic.name].id
        ]
        low = beginnings(self._admin, same, patience_s=0)
        still = {name: self._stands.topics[name] for name in moving if not isinstance(low.get(name), Ends)}
        for name in still:
            self._lasted_s(_UNASKED, name, places.topics[name].id)
        for export in exports:
            name, _ = topic_of(export)
            first = low.get(name)
            if export.table_id in errors or not isinstance(first, Ends):
                continue
            missing = _removed(name, self._stands.topics[name], first, places.topics[name], ANOTHER_TABLE)
            if missing is not None:
                errors[export.table_id] = missing
        return Looked(replace(places, topics={**places.topics, **still}), errors)

    def _what_became(self, export: Export, places: Places) -> DefiniteError | None:
        """Why a table cannot go on with what has its topic's name now."""
        name, topic_id = topic_of(export)
        was, now = self._stands.topics.get(name), places.topics.get(name)
        if was is not None and was.id == topic_id and now is not None and now.joined == was.joined:
            return None
        if was is not None and now is not None and now.id == topic_id:
            return DefiniteError(name, str(was), f'topic "{name}": {_lost(was, now)}', hint=ANOTHER_TABLE)
        return _gone(name, now is not None)

    # What is read

    def plan_read(
        self,
        start: Frontier,
        end: Frontier,
        exports: tuple[Export, ...],
        points: Mapping[str, Point],
        rows_max: int,
    ) -> tuple[Frontier, tuple[ReadPart, ...]]:
        first, last = places_of(start), places_of(end)
        if not self._several:  # also without tables: those that there were may have ended by this
            self._check_there(first, last)
        tabled = frozenset(topic_of(export)[0] for export in exports)
        cut = cut_to(first, last, tabled, rows_max)
        parts = []
        for index, stretches in enumerate(shared_out(first, cut, tabled)):
            ids = {name: cut.topics[name].id for name, *_ in stretches}
            of_these = tuple(export for export in exports if topic_of(export)[0] in ids)
            anew = [
                [name, number]
                for name, number, start, stop, epoch in stretches
                if start < stop and NO_EPOCH < epoch < cut.topics[name].epoch_of(number)
            ]
            details = {"ids": ids, "stretches": stretches, "led_anew": anew}
            parts.append(ReadPart(SOURCE_TYPE, self._options, None, None, of_these, index, details))
        return cut, tuple(parts)

    def _check_there(self, first: Places, last: Places) -> None:
        """Nothing of the one topic has been removed that was not read yet."""
        ((name, place),) = last.topics.items()
        topic = Topic(name, place.id, len(place.next))
        low = answered(self._admin, name, beginnings(self._admin, [topic])[name])
        missing = _removed(name, first.topics[name], low, place, ANEW)
        if missing is not None:
            raise missing

    def acknowledge(self, frontier: Frontier) -> None:
        """Brokers keep messages by their own rules."""
        self._stands = places_of(frontier)

    def close(self) -> None:
        pass


def position(options: Options, secrets: Secrets, now_ms: int) -> Frontier:
    """Where all topics end, those that may not be read among them; TransientError if one cannot be asked."""
    admin = Admin(options["connection"], secrets)
    names = {*matching.named(options, admin), *options["known"]}
    topics = [
        answered(admin, name, topic) for name, topic in matching.found(options, admin, sorted(names)).items()
    ]
    told = {name: answered(admin, name, at) for name, at in ends(admin, topics).items()}
    if not options["several"] and not topics:
        raise TransientError(f'{NAMESPACE}: topic "{options["topics"][0]}" is not there')
    places = {topic.name: Place(topic.id, told[topic.name].offsets) for topic in topics}
    return Places(places, options["several"])


def _ended(place: Place, told: Ends) -> Place:
    """A topic's end, or where the source is to begin in it if that is still to come.

    A partition that has not moved keeps its epoch: another leader may have as many messages, and other ones.
    What was never there is no leader's.
    """
    last = tuple(max(end, place.start_of(number)) for number, end in enumerate(told.offsets))
    epochs = tuple(
        place.epoch_of(number) if next_ == place.of(number) else epoch if next_ <= end else NO_EPOCH
        for number, (next_, end, epoch) in enumerate(zip(last, told.offsets, told.epochs, strict=True))
    )
    return replace(place, next=last, epochs=epochs)


def _gone(name: str, another: bool) -> DefiniteError:
    """What tables of one of several topics are told when it is there no more."""
    what = "was recreated" if another else "was deleted"
    return DefiniteError(name, "", f'topic "{name}" {what}', hint=ANOTHER_TABLE)


def _lost(was: Place, now: Place) -> str:
    """What was read, and is there no more."""
    number = next((n for n, offset in enumerate(was.next) if offset > now.of(n)), 0)
    return (
        f"messages of partition {number} that were read are there no more: it ends at {now.of(number)}, and"
        f" was read to {was.of(number)}"
    )


def _removed(name: str, stands: Place, low: Ends, end: Place, hint: str) -> DefiniteError | None:
    """The error of messages that were removed before they were read."""
    for number, first in enumerate(low.offsets):
        next_ = stands.of(number)
        if next_ < min(first, end.of(number)):
            return DefiniteError(
                name,
                f"{number}:{next_}",
                f"Low watermark {first} of kafka topic {name} partition {number} is past the start"
                f" offset/resume upper: {next_}",
                hint="Messages were removed before they were read. Let the topic keep them for longer"
                f" (retention.ms, retention.bytes). {hint}",
            )
    return None
