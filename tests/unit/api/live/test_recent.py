"""The latest recognitions in a process's memory, and how a client iterates over them."""

import asyncio
import random
import uuid
from uuid import UUID

import pytest

from analytics_sql.erasure import Erasure, Erasures
from analytics_sql.recognitions import RecognitionRow
from api.live.recent import (
    CursorExpiredError,
    LiveRecord,
    RecentRecognitions,
    StreamCursor,
    StreamPosition,
)
from tests.records import plain_row

OWNER, OTHER = uuid.uuid4(), uuid.uuid4()
NOW_MS = 1_790_000_000_000


def recognition(plate: str, owner_id: UUID = OWNER) -> RecognitionRow:
    """Return a recognition whose ID is derived from its plate."""
    identifier = uuid.uuid5(owner_id, plate)
    return plain_row(owner_id, NOW_MS, plate, camera_id=uuid.uuid4(), id=identifier)


def recent(capacity: int = 100, *, partitions: int = 2) -> RecentRecognitions:
    """Return a memory that is complete from offset 10 of each partition."""
    kept = RecentRecognitions(capacity)
    kept.reset(dict.fromkeys(range(partitions), 10))
    return kept


def plates(cursor: StreamCursor, limit: int = 100) -> list[str]:
    """Return the plates of a client's next batch."""
    return [passed.recognition.plate for passed in cursor.next_batch(limit)]


def test_a_reader_gets_what_comes_after_it_joined_and_nothing_of_others() -> None:
    kept = recent()
    kept.post([LiveRecord(0, 10, recognition("A"))])
    cursor = StreamCursor(kept, OWNER)
    kept.post(
        [
            LiveRecord(0, 11, recognition("B")),
            LiveRecord(1, 10, recognition("C", OTHER)),
        ]
    )
    kept.post([LiveRecord(1, 11, recognition("D"))])

    assert plates(cursor) == ["B", "D"]
    assert plates(cursor) == []


def test_it_resumes_after_its_position_in_a_process_with_another_order() -> None:
    arrivals = [
        LiveRecord(number % 2, 10 + number // 2, recognition(str(number))) for number in range(20)
    ]
    here, there = recent(), recent()
    cursor = StreamCursor(here, OWNER)
    here.post(arrivals)
    seen = cursor.next_batch(7)
    # The same partitions in another order: all records of one, then all records of the other.
    there.post(sorted(arrivals, key=lambda arrival: arrival.partition))
    again = StreamCursor(there, OWNER)
    again.resume_from(StreamPosition(seen[-1].offsets, NOW_MS), NOW_MS)
    rest = plates(again)

    got = [passed.recognition.plate for passed in seen] + rest
    assert sorted(got) == sorted(str(number) for number in range(20))


def test_a_position_ahead_of_this_process_waits_for_it() -> None:
    kept = recent()
    cursor = StreamCursor(kept, OWNER)
    cursor.resume_from(StreamPosition({0: 12, 1: 10}, NOW_MS), NOW_MS + 1000)
    kept.post([LiveRecord(0, offset, recognition(str(offset))) for offset in (10, 11, 12, 13)])

    assert plates(cursor) == ["12", "13"]


def test_a_position_far_ahead_for_long_is_of_a_topic_that_is_gone() -> None:
    with pytest.raises(CursorExpiredError):
        StreamCursor(recent(), OWNER).resume_from(StreamPosition({0: 500}, NOW_MS), NOW_MS + 61_000)


def test_a_position_from_before_the_memory_is_lost() -> None:
    kept = recent(capacity=3)
    kept.post([LiveRecord(0, 10 + number, recognition(str(number))) for number in range(6)])

    with pytest.raises(CursorExpiredError):
        StreamCursor(kept, OWNER).resume_from(StreamPosition({0: 12, 1: 10}, NOW_MS), NOW_MS)
    cursor = StreamCursor(kept, OWNER)
    cursor.resume_from(StreamPosition({0: 13, 1: 10}, NOW_MS), NOW_MS)
    assert plates(cursor) == ["3", "4", "5"]


def test_a_slow_reader_is_notified_and_a_quiet_one_is_not() -> None:
    kept = recent(capacity=3)
    slow, quiet = StreamCursor(kept, OWNER), StreamCursor(kept, OTHER)
    kept.post([LiveRecord(0, 10 + number, recognition(str(number))) for number in range(4)])

    with pytest.raises(CursorExpiredError):
        slow.next_batch(10)
    slow.skip_to_now()
    assert plates(slow) == []
    assert plates(quiet) == []
    kept.post(
        [
            LiveRecord(0, 20, recognition("new")),
            LiveRecord(0, 21, recognition("his", OTHER)),
        ]
    )
    assert (plates(slow), plates(quiet)) == (["new"], ["his"])


def test_what_a_replay_says_again_is_sent_once() -> None:
    kept = recent()
    cursor = StreamCursor(kept, OWNER)
    kept.post([LiveRecord(0, 10, recognition("A")), LiveRecord(0, 11, recognition("A"))])
    kept.post([LiveRecord(0, 12, None), LiveRecord(1, 10, recognition("A"))])

    assert plates(cursor) == ["A"]
    assert cursor.offsets == {0: 13, 1: 11}


def test_readers_lose_their_place_when_reading_begins_again() -> None:
    kept = recent()
    cursor = StreamCursor(kept, OWNER)
    kept.reset({0: 900, 1: 900})

    with pytest.raises(CursorExpiredError):
        cursor.next_batch(1)


def test_a_reader_that_reconnects_at_any_moment_gets_each_once() -> None:
    chance = random.Random(7)
    kept = recent(capacity=10_000)
    position = StreamPosition({0: 10, 1: 10}, NOW_MS)
    offsets, got = [10, 10], []
    for number in range(2_000):
        partition = chance.randrange(2)
        owner_id = chance.choice((OWNER, OTHER))
        kept.post([LiveRecord(partition, offsets[partition], recognition(str(number), owner_id))])
        offsets[partition] += 1
        if chance.random() < 0.2:
            cursor = StreamCursor(kept, OWNER)
            cursor.resume_from(position, NOW_MS)
            in_use = cursor.next_batch(chance.randrange(1, 20))
            got += [passed.recognition for passed in in_use]
            if in_use:
                position = StreamPosition(in_use[-1].offsets, NOW_MS)
    cursor = StreamCursor(kept, OWNER)
    cursor.resume_from(position, NOW_MS)
    got += [passed.recognition for passed in cursor.next_batch(10_000)]

    assert len({one.id for one in got}) == len(got)
    assert {one.user_id for one in got} == {OWNER}
    assert len(got) == len(kept.since(OWNER, 0))


async def test_an_arrival_wakes_the_readers_of_its_owner_only() -> None:
    kept = recent()
    with kept.waking(OWNER) as mine, kept.waking(OTHER) as his:
        kept.post([LiveRecord(0, 10, recognition("A"))])
        async with asyncio.timeout(1):
            await mine.wait()
        assert not his.is_set()


def erased(*erasures: Erasure) -> Erasures:
    return Erasures((each.user_id, each.plate_hash, each.before_ms) for each in erasures)


def test_what_was_erased_is_forgotten_and_does_not_come_again() -> None:
    kept = recent()
    cursor, stranger = StreamCursor(kept, OWNER), StreamCursor(kept, OTHER)
    arrivals = [
        LiveRecord(0, 10, recognition("A")),
        LiveRecord(0, 11, recognition("B")),
    ]
    kept.post([*arrivals, LiveRecord(1, 10, recognition("A", OTHER))])
    known = erased(Erasure(OWNER, "A", NOW_MS + 1), Erasure(OWNER, "B", NOW_MS))

    assert kept.apply_erasures(known) == 1
    assert kept.apply_erasures(known) == 0
    kept.post([LiveRecord(1, 11, recognition("A"))])

    assert plates(cursor) == ["B"]
    assert plates(stranger) == ["A"]
    assert kept.ends() == {0: 12, 1: 12}


def test_a_removed_owner_is_forgotten_and_others_find_their_place() -> None:
    kept = recent(capacity=2)
    kept.post(
        [
            LiveRecord(0, 10, recognition("A")),
            LiveRecord(0, 11, recognition("B", OTHER)),
        ]
    )
    assert kept.apply_erasures(erased(Erasure(OWNER))) == 1
    resumed = StreamCursor(kept, OTHER)
    resumed.resume_from(StreamPosition({0: 11, 1: 10}, NOW_MS), NOW_MS)

    assert plates(resumed) == ["B"]
    kept.post([LiveRecord(0, number, recognition(str(number), OTHER)) for number in (12, 13, 14)])
    with pytest.raises(CursorExpiredError):
        resumed.next_batch(9)
