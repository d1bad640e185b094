"""Late and fresh frames of a camera: at their boundary, each vehicle is published once."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

import msgspec
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from common.errors import TransientError
from common.records.codec import encode
from common.records.counts import CaptureCounts
from common.records.frames import FrameGap, FrameKind, FrameReference
from common.records.recognitions import FrameReadings
from streams.recognition.frame_store import FrameCache
from streams.recognition.tracking.state_store import late_key
from tests.unit.streams.recognition.builders import (
    RULES,
    START_MS,
    Drive,
    film,
    frame,
)
from tests.unit.streams.recognition.tracking.test_agent import KEY, World, tracking_of

STEP_MS = 200
UNTIL_MS = 80_000
PAST_END_MS = RULES.max_track_ms + RULES.end_ms
PLATES = ("AB123CD", "XK907LM", "ZW445HT", "GP862VY", "TR551QN", "HD338JU", "KM270EX", "VB616SA")
LATE = b"late/"


@dataclass(frozen=True)
class Gap:
    """A gap in the film, from ``begin`` to ``end``."""

    begin: int
    end: int

    @property
    def place(self) -> FrameGap:
        return FrameGap(begin=self.begin, end=self.end, end_ms=START_MS + self.end * STEP_MS)

    def of_late_lane(self, films: Sequence[FrameReadings]) -> list[FrameReadings]:
        """Return the gap's late readings: every other frame, also for some time after the gap."""
        last = min(len(films), self.end + PAST_END_MS // STEP_MS)
        thinned = [
            each if number % 2 == 0 else as_stale(each)
            for number, each in enumerate(films[self.begin : last])
        ]
        return [as_late(each, self) for each in thinned]


def as_stale(one: FrameReadings) -> FrameReadings:
    return msgspec.structs.replace(one, readings=(), stale=True)


def as_late(one: FrameReadings, *gaps: Gap) -> FrameReadings:
    return msgspec.structs.replace(one, late=True, gaps=tuple(gap.place for gap in gaps))


def behind(one: FrameReadings, *gaps: Gap) -> FrameReadings:
    return msgspec.structs.replace(one, gaps=tuple(gap.place for gap in gaps))


def end_of(gap: Gap, *later: Gap) -> FrameReadings:
    nobody = UUID(int=0)
    made = msgspec.structs.replace(
        frame(gap.end, 0, kind=FrameKind.GAP_END), camera_id=nobody, owner_id=nobody
    )
    return as_late(made, gap, *later)


def traffic(first_ms: int, apart_ms: int, lasting_ms: int) -> list[Drive]:
    """Return vehicles that pass one after another."""
    begins = range(first_ms, UNTIL_MS - 6_000, apart_ms)
    return [
        Drive(plate, begin_ms, begin_ms + lasting_ms)
        for plate, begin_ms in zip(PLATES, begins, strict=False)
    ]


async def play_all(world: World, records: Sequence[FrameReadings], crashes: Sequence[int]) -> None:
    """Process records in order. After a crash, the last records are repeated."""
    tracking = tracking_of(world, RULES)
    for number, record in enumerate(records):
        if number in crashes:
            world.registry = CollectorRegistry()
            tracking = tracking_of(world, RULES)
            for again in records[max(0, number - 40) : number]:
                await tracking.handle(KEY, encode(again))
        await tracking.handle(KEY, encode(record))


def plates_of(world: World) -> list[str]:
    passes = {r.id: r for r in world.recognitions}
    return [r.plate for r in sorted(passes.values(), key=lambda r: r.first_seen_ms)]


@given(
    first_ms=st.integers(0, 7_000),
    lasting_ms=st.integers(600, 5_000),
    begin=st.integers(10, 150),
    length=st.integers(20, 150),
    lead=st.integers(0, 90),
    is_late_first=st.booleans(),
    crashes=st.lists(st.integers(0, 450), max_size=3),
)
@example(0, 3_000, 40, 70, 0, False, [])
@example(0, 3_000, 75, 75, 90, False, [120])
@example(0, 3_000, 40, 50, 0, True, [])
@settings(max_examples=25, phases=(Phase.explicit, Phase.generate))
async def test_each_vehicle_comes_out_once(
    first_ms: int,
    lasting_ms: int,
    begin: int,
    length: int,
    lead: int,
    is_late_first: bool,
    crashes: list[int],
) -> None:
    gap = Gap(begin, begin + length)
    drives = traffic(first_ms, 8_000, lasting_ms)
    films = film(drives, UNTIL_MS)
    fresh = [behind(each, gap) for each in films[gap.end :]]
    late = gap.of_late_lane(films)
    # The late lane starts some time after the fresh lane, and both take turns.
    mixed = [*fresh[:lead]]
    for number in range(max(len(late), len(fresh) - lead)):
        mixed += late[number : number + 1]
        mixed += fresh[lead + number : lead + number + 1]
    ended = [*late, end_of(gap), *fresh] if is_late_first else [*mixed, end_of(gap)]
    world = World()
    await play_all(world, [*films[:begin], *ended], crashes)
    assert plates_of(world) == [drive.plate for drive in drives]
    assert not [key for key in world.states if key.startswith(LATE)]


@given(
    first_ms=st.integers(0, 7_000),
    lasting_ms=st.integers(600, 5_000),
    places=st.lists(st.integers(10, 330), min_size=4, max_size=4, unique=True),
    crashes=st.lists(st.integers(0, 500), max_size=3),
)
@settings(max_examples=25, phases=(Phase.explicit, Phase.generate))
async def test_a_gap_that_begins_while_another_is_open_is_read_after_it(
    first_ms: int, lasting_ms: int, places: list[int], crashes: list[int]
) -> None:
    a, b, c, d = sorted(places)
    one, two = Gap(a, b), Gap(c, d)
    drives = traffic(first_ms, 8_000, lasting_ms)
    films = film(drives, UNTIL_MS)
    records = [
        *films[:a],
        *(behind(each, one) for each in films[b:c]),
        *(behind(each, one, two) for each in films[d:]),
        *(behind(each, one, two) for each in one.of_late_lane(films)),
        end_of(one, two),
        *two.of_late_lane(films),
        end_of(two),
    ]
    world = World()
    await play_all(world, records, crashes)
    assert plates_of(world) == [drive.plate for drive in drives]
    assert not [key for key in world.states if key.startswith(LATE)]


@pytest.mark.parametrize(("gone", "lost"), [(range(0), 0), (range(120, 180), 60)])
async def test_a_gap_is_counted_once_and_what_retention_took_of_it_is_lost(
    gone: range, lost: int
) -> None:
    gap = Gap(90, 210)
    second = [
        msgspec.structs.replace(
            frame(n, 1_000 * n), counts=CaptureCounts(since_ms=1, decoded=n + 1, sent=n + 1)
        )
        for n in range(300)
    ]
    late = [as_late(each, gap) for each in second[90:228] if each.frame.offset not in gone]
    fresh = [behind(each, gap) for each in second[210:]]
    world = World()
    await play_all(world, [*second[:90], *fresh, *late, end_of(gap)], [])
    assert sum(c.counts.lost for c in world.counts) == lost
    # Both lanes count the minutes that they share, and the last minute is not complete.
    assert sum(c.counts.read for c in world.counts) in range(230 - lost, 300 - lost)
    assert sum(c.counts.decoded for c in world.counts) in range(230, 300)
    assert not [key for key in world.marks if key.startswith(LATE)]


async def test_a_camera_deleted_meanwhile_leaves_no_state() -> None:
    gap = Gap(50, 110)
    drives = traffic(1_000, 8_000, 3_000)
    films = film(drives, 30_000)
    end = msgspec.structs.replace(
        frame(len(films), 30_200, kind=FrameKind.END), deleted=True, gaps=(gap.place,)
    )
    fresh = [*(behind(each, gap) for each in films[110:]), end]
    late = gap.of_late_lane([*films, msgspec.structs.replace(end, gaps=())])
    world = World()
    await play_all(world, [*films[:50], *fresh, *late, end_of(gap)], [200])
    assert plates_of(world) == list(PLATES[:4])
    assert [key for key in world.states if KEY in key] == []
    assert not world.marks


async def test_what_a_gap_deletes_is_deleted_in_both_lanes() -> None:
    gap = Gap(40, 110)
    films = film(traffic(1_000, 8_000, 3_000), 20_000)
    end = msgspec.structs.replace(frame(100, 20_000, kind=FrameKind.END), deleted=True)
    world = World()
    late = [as_late(each, gap) for each in (*films[40:100], end)]
    await play_all(world, [*films[:40], *late, end_of(gap)], [80, 101])
    assert plates_of(world) == list(PLATES[:3])
    assert [key for key in world.states if KEY in key] == []


@given(
    first_ms=st.integers(0, 7_000),
    lasting_ms=st.integers(600, 5_000),
    places=st.lists(st.integers(10, 330), min_size=3, max_size=3, unique=True),
    done=st.integers(0, 400),
    crashes=st.lists(st.integers(0, 900), max_size=2),
)
@example(0, 3_000, [40, 60, 150], 0, [])
@example(0, 3_000, [40, 60, 150], 10, [])
@example(0, 3_000, [30, 90, 150], 61, [])
@settings(max_examples=25, phases=(Phase.explicit, Phase.generate))
async def test_a_gap_that_a_kill_opens_before_another_reports_nothing_twice(
    first_ms: int, lasting_ms: int, places: list[int], done: int, crashes: list[int]
) -> None:
    a, b, c = sorted(places)
    one, two = Gap(a, b), Gap(b, c)
    drives = traffic(first_ms, 8_000, lasting_ms)
    films = film(drives, UNTIL_MS)
    # The second gap was recorded first. No record before or after that gap was committed.
    before = [*films[a:b], *(behind(each, two) for each in films[c:])][:done]
    records = [
        *films[:a],
        *before,
        *(behind(each, one, two) for each in films[c : c + 20]),
        *(behind(each, one, two) for each in one.of_late_lane(films)),
        end_of(one, two),
        *(behind(each, two) for each in films[c + 20 :]),
        *two.of_late_lane(films),
        end_of(two),
    ]
    world = World()
    await play_all(world, records, crashes)
    assert plates_of(world) == [drive.plate for drive in drives]
    assert not [key for key in world.states if key.startswith(LATE)]


class DyingWorld(World):
    """A world whose table accepts a limited number of further changes, then fails."""

    changes_left = 1_000_000

    def fail_if(self, what: str) -> None:
        if what in {"state", "deletion"}:
            self.changes_left -= 1
            if self.changes_left < 0:
                raise TransientError("killed")
        super().fail_if(what)


@pytest.mark.parametrize("is_deleted", [False, True])
@pytest.mark.parametrize("changes", range(5))
async def test_a_kill_while_a_gap_is_closed_reports_nothing_twice(
    changes: int, is_deleted: bool
) -> None:
    gap = Gap(50, 110)
    # One vehicle is in view at the gap's start, and one at its end.
    drives = [Drive(PLATES[0], 8_500, 12_500), Drive(PLATES[1], 20_500, 24_500)]
    films = film(drives, 30_000)
    end = msgspec.structs.replace(
        frame(len(films), 30_200, kind=FrameKind.END), deleted=True, gaps=(gap.place,)
    )
    fresh = [behind(each, gap) for each in films[110:]]
    records = [*fresh, *([end] if is_deleted else []), *gap.of_late_lane(films)]
    world = DyingWorld()
    await play_all(world, [*films[:50], *records], [])
    world.changes_left, world.registry = changes, CollectorRegistry()
    with suppress(TransientError):
        await tracking_of(world, RULES).handle(KEY, encode(end_of(gap)))
    world.changes_left, world.registry = 1_000_000, CollectorRegistry()
    await play_all(world, [*records, end_of(gap)], [])
    assert plates_of(world) == [drive.plate for drive in drives]
    assert [key for key in world.states if KEY in key] == ([] if is_deleted else [KEY])


async def test_gaps_that_are_closed_stay_so_when_they_come_again() -> None:
    one, two = Gap(30, 80), Gap(100, 150)
    drives = [Drive(PLATES[0], 18_500, 22_500)]
    films = film(drives, 40_000)
    end = msgspec.structs.replace(frame(len(films), 40_200, kind=FrameKind.END), deleted=True)
    records = [
        *(behind(each, one) for each in films[80:100]),
        *(behind(each, one, two) for each in (*films[150:], end)),
        *(behind(each, one, two) for each in one.of_late_lane(films)),
        end_of(one, two),
        *two.of_late_lane(films),
        end_of(two),
    ]
    world = World()
    await play_all(world, [*films[:30], *records], [])
    world.registry = CollectorRegistry()
    again = records[records.index(end_of(one, two)) :]
    await play_all(world, again, [])
    assert plates_of(world) == [PLATES[0]]
    assert [key for key in world.states if KEY in key] == []


class CachingWorld(World):
    """A world that caches the frames in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = FrameCache(1_000)

    def retain_only(
        self, camera: bytes, needed: Collection[FrameReference], up_to: FrameReference
    ) -> None:
        self.cache.retain_only(camera, needed, up_to)


async def test_a_late_record_that_is_done_drops_its_own_frame_and_no_fresh_one() -> None:
    gap = Gap(50, 110)
    films = film([], 30_000)
    fresh, late = films[120], as_late(films[125], gap)
    world = CachingWorld()
    world.cache.put(KEY, fresh.frame, b"fresh")
    world.cache.put(late_key(3, gap.place, KEY), late.frame, b"late")
    await play_all(world, [end_of(gap), late], [])
    assert world.cache.get(fresh.frame) == b"fresh"
    assert world.cache.get(late.frame) is None


async def test_tracks_of_a_camera_that_sends_no_more_wait_for_it() -> None:
    gap = Gap(15, 110)
    films = film([Drive(PLATES[0], 1_000, 4_000)], 4_000)
    other = msgspec.structs.replace(end_of(gap), gaps=(gap.place,))
    late = [as_late(each, gap) for each in films[15:]]
    world = World()
    back = frame(400, 3_600_000, kind=FrameKind.TICK)
    await play_all(world, [*films[:15], *late, other, back], [len(films), len(films) + 1])
    assert plates_of(world) == [PLATES[0]]
