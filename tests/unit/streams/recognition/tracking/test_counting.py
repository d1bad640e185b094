"""Outcomes of a camera's frames by minute, also for repeated and missing records."""

from uuid import UUID

import msgspec
import pytest

from common.records.counts import CaptureCounts, FrameCounts, PlatesLeft
from common.records.frames import Box, FrameKind
from common.records.recognitions import FollowedPlate, FrameReadings
from streams.recognition.tracking import counting
from streams.recognition.tracking.counting import CameraCounter
from streams.recognition.tracking.state import EndedTracks
from tests.unit.streams.recognition.builders import START_MS, frame, reading

MINUTE_MS = 60_000
NO_TRACKS = EndedTracks()
BEGIN_MS = MINUTE_MS - START_MS % MINUTE_MS
"""Time from the first frame of these tests to the next full minute."""


def at(
    offset: int, second: int, counts: CaptureCounts | None = None, **fields: object
) -> FrameReadings:
    """Return a record with a time in seconds after a full minute."""
    made = frame(offset, BEGIN_MS + 1000 * second)
    return msgspec.structs.replace(made, counts=counts, **fields)


def captured(since_ms: int = 1, **counts: int) -> CaptureCounts:
    return CaptureCounts(since_ms=since_ms, **counts)


def count(
    counter: CameraCounter, *frames: FrameReadings, ended: EndedTracks = NO_TRACKS
) -> list[FrameCounts]:
    """Return the counts of the minutes that end with these frames."""
    found = []
    for each in frames:
        if (finished := counter.finished(each)) is not None:
            found.append(finished.counts)
        counter.add(each, ended)
    return found


def test_the_counts_of_the_worker_are_what_was_added_since() -> None:
    first = at(0, 0, captured(decoded=100, still=50, sent=1))
    second = at(1, 30, captured(decoded=130, still=60, slow=2, failed=1, unsent=3, sent=2))
    assert count(CameraCounter(), first, second, at(2, 60)) == [
        FrameCounts(decoded=30, still=10, slow=2, failed=1, unsent=3, read=2)
    ]


def test_a_minute_of_one_frame_is_a_record_that_can_be_read() -> None:
    (counts,) = count(CameraCounter(), at(0, 0, readings=(reading("AB123CD"),)), at(1, 60))
    told = msgspec.msgpack.decode(msgspec.msgpack.encode(counts), type=FrameCounts)
    assert (told.read, told.found, told.readings) == (1, 1, 1)


def test_frames_that_never_came_are_missed_with_the_next_record() -> None:
    frames = [at(0, 0, captured(sent=1)), at(1, 1, captured(sent=5))]
    tick = at(2, 2, captured(sent=7), kind=FrameKind.TICK)
    (counts,) = count(CameraCounter(), *frames, tick, at(3, 60))
    assert (counts.read, counts.lost) == (2, 3 + 2)


def test_a_worker_that_takes_the_camera_over_counts_from_nothing() -> None:
    frames = [
        at(0, 0, captured(1, decoded=10, sent=1)),
        at(1, 1, captured(2, decoded=4, sent=1)),
        # This late record is from the previous worker.
        at(2, 2, captured(1, decoded=90, sent=9)),
    ]
    (counts,) = count(CameraCounter(), *frames, at(3, 60))
    assert (counts.decoded, counts.lost, counts.read) == (4, 0, 3)


def test_frames_are_counted_by_outcome() -> None:
    frames = [
        at(0, 0, readings=(reading("AB12CD"), reading("EF34GH")), plates_left=PlatesLeft(small=1)),
        at(1, 1, plates_left=PlatesLeft(unread=2, outside=1)),
        at(2, 2, stale=True),
        at(3, 3, stale=True, over_share=True),
        at(4, 4, refused=True),
    ]
    assert count(CameraCounter(), *frames, at(5, 60)) == [
        FrameCounts(
            read=2, found=1, readings=2, small=1, unread=2, outside=1, stale=1, surplus=1, refused=1
        )
    ]


def test_a_frame_whose_plate_is_followed_has_a_plate() -> None:
    plate = FollowedPlate(track="one", box=Box(x=1, y=2, width=30, height=10))
    (counts,) = count(CameraCounter(), at(0, 0, followed=(plate,)), at(1, 1), at(2, 60))
    assert (counts.read, counts.found, counts.readings) == (2, 1, 0)


def test_what_comes_again_is_not_counted_again() -> None:
    counter = CameraCounter()
    first, second = at(0, 0, captured(sent=1)), at(1, 1, captured(sent=2))
    assert count(counter, first, second, first, second, at(2, 60)) == [FrameCounts(read=2)]


def test_a_minute_without_frames_is_not_published() -> None:
    ticks = [at(number, 30 * number, kind=FrameKind.TICK) for number in range(5)]
    assert count(CameraCounter(), *ticks) == []


def test_an_ended_camera_publishes_its_minute_and_continues_it() -> None:
    counter = CameraCounter()
    end = at(1, 1, kind=FrameKind.END)
    assert count(counter, at(0, 0), end) == [FrameCounts(read=1)]
    assert count(counter, at(2, 2), at(3, 60)) == [FrameCounts(read=2)]


def test_remembered_cameras_are_limited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(counting, "_MAX_CAMERAS", 3)
    counter = CameraCounter()
    cameras = [UUID(int=number) for number in range(1, 100)]
    for number, camera_id in enumerate(cameras):
        counter.add(at(number, 1, camera_id=camera_id), NO_TRACKS)
    assert [each for each in cameras if counter.knows(each)] == cameras[-3:]


def test_after_cameras_moved_nothing_of_before_is_counted() -> None:
    counter = CameraCounter()
    count(counter, at(0, 0, captured(decoded=5)))
    counter.forget()
    assert count(counter, at(1, 1, captured(decoded=500)), at(2, 60)) == [FrameCounts(read=1)]
