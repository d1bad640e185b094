"""Images of passes while S3 is unavailable, full or slow, and across restarts."""

import asyncio
from collections.abc import Callable, Iterator
from typing import cast

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from common.errors import TransientError
from common.records.frames import FrameReference
from common.records.object_keys import STORED_WITHIN_MS, crop_key, photo_key
from common.records.recognitions import Recognition
from streams.recognition.metrics import RecognitionMetrics
from streams.recognition.tracking import pending_images
from streams.recognition.tracking.images import RecognitionImageStore
from streams.recognition.tracking.pending_images import PassImageStore, keys_of
from streams.runtime.app import StageApp
from streams.runtime.tables import DurableTable
from tests.records import OWNER, recognition
from tests.unit.streams.recognition.builders import jpeg_image

FRAME = FrameReference(partition=3, offset=7)


class World:
    """S3, the frames topic, the table and the clock, each of which can fail."""

    is_leaving = False

    def __init__(self) -> None:
        self.table: dict[bytes, bytes] = {}
        self.objects: dict[str, bytes] = {}
        self.frames: dict[FrameReference, bytes] = {FRAME: jpeg_image()}
        self.lost: list[Recognition] = []
        self.is_away = False
        self.is_full = False
        self.hangs = False
        self.kafka_is_away = False
        self.tries = 0
        self.fetched = 0
        self.now = 1_000_000
        self.registry = CollectorRegistry()

    async def fetch(self, frame: FrameReference) -> bytes | None:
        self._need_kafka()
        self.fetched += 1
        return self.frames.get(frame)

    async def publish_lost(self, key: bytes, record: Recognition) -> None:
        self._need_kafka()
        assert key == str(record.camera_id).encode()
        self.lost.append(record)

    async def has(self, key: str) -> bool:
        self._need_s3()
        return key in self.objects

    def count(self, outcome: str) -> float | None:
        name = "platestream_recognition_images_total"
        return self.registry.get_sample_value(name, {"outcome": outcome})

    def pending(self) -> float | None:
        return self.registry.get_sample_value("platestream_recognition_pending_images")

    def _need_kafka(self) -> None:
        if self.kafka_is_away:
            raise TransientError("Kafka is unavailable")

    def _need_s3(self) -> None:
        self.tries += 1
        if self.is_away:
            raise TransientError("S3 is unavailable")


class Store(RecognitionImageStore):
    def __init__(self, world: World) -> None:
        self.world = world

    async def put(self, key: str, jpeg: bytes) -> bool:
        self.world._need_s3()
        if self.world.hangs:
            await asyncio.sleep(60)
        if self.world.is_full:
            return False
        self.world.objects[key] = jpeg
        return True

    async def has(self, key: str) -> bool:
        return await self.world.has(key)


class Table(DurableTable):
    def __init__(self, world: World) -> None:
        self.world = world

    def get(self, key: bytes, /) -> bytes | None:
        return self.world.table.get(key)

    def items(self) -> list[tuple[bytes, bytes]]:
        return list(self.world.table.items())

    def forget(self, key: bytes, /) -> None:
        del self.world.table[key]

    async def put(
        self, key: bytes, value: bytes | None, /, *, partition: int | None = None
    ) -> None:
        self.world._need_kafka()
        assert partition == FRAME.partition
        if value is None:
            self.world.table.pop(key, None)
        else:
            self.world.table[key] = value


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(pending_images, "_LONGEST_PAUSE_SECONDS", 0.01)
    yield


def keeper_of(world: World) -> PassImageStore:
    return PassImageStore(
        app=cast(StageApp, world),
        table=Table(world),
        fetch=world.fetch,
        store=Store(world),
        publish_lost=world.publish_lost,
        metrics=RecognitionMetrics(world.registry),
        now_ms=lambda: world.now,
        patience_seconds=0.05,
    )


def unnamed(number: int = 1) -> Recognition:
    return msgspec.structs.replace(recognition(number), photo_key=None, crop_key=None)


def both_keys(of: Recognition) -> tuple[str, str]:
    return photo_key(OWNER, of.id), crop_key(OWNER, of.id)


async def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds, and fail after ten seconds."""
    async with asyncio.timeout(10):
        # ASYNC110: the tested code changes the world and sets no event here.
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def stored_in_time(keeper: PassImageStore, world: World) -> None:
    """Store the pending images, and fail if this takes more than ten seconds."""
    running = asyncio.create_task(keeper.run())
    try:
        await until(lambda: not world.table)
    finally:
        running.cancel()


async def test_images_are_there_before_the_recognition_names_them(world: World) -> None:
    named = await keeper_of(world).store(unnamed(), FRAME)
    assert keys_of(named) == both_keys(named)
    assert set(world.objects) == set(keys_of(named))
    assert (world.table, world.count("stored")) == ({}, 1)


async def test_a_frame_that_is_gone_names_no_image(world: World) -> None:
    world.frames.clear()
    assert await keeper_of(world).store(unnamed(), FRAME) == unnamed()
    assert world.objects == {}


async def test_a_frame_that_cannot_be_cut_is_stored_whole(world: World) -> None:
    world.frames[FRAME] = b"\xff\xd8\xff broken"
    named = await keeper_of(world).store(unnamed(), FRAME)
    assert named.crop_key is None
    assert keys_of(named) == tuple(world.objects)


async def test_without_room_no_image_is_named(world: World) -> None:
    world.is_full = True
    assert await keeper_of(world).store(unnamed(), FRAME) == unnamed()
    assert (world.table, world.count("rejected")) == ({}, 1)


@pytest.mark.parametrize("trouble", ["is_away", "hangs"])
async def test_a_pass_waits_a_moment_for_s3_and_the_next_ones_do_not(
    world: World, trouble: str
) -> None:
    setattr(world, trouble, True)
    keeper = keeper_of(world)
    named = [await keeper.store(unnamed(number), FRAME) for number in range(4)]
    assert [keys_of(each) for each in named] == [both_keys(each) for each in named]
    assert world.objects == {}
    # This is one attempt for both images of the first pass.
    assert world.tries == 2
    assert (len(world.table), world.pending()) == (4, 4)

    setattr(world, trouble, False)
    await stored_in_time(keeper, world)
    assert set(world.objects) == {key for each in named for key in keys_of(each)}
    assert (world.lost, world.count("late"), world.pending()) == ([], 4, 0)
    await keeper.store(unnamed(9), FRAME)
    assert (world.table, world.count("stored")) == ({}, 1)


async def test_what_is_pending_outlives_a_restart(world: World) -> None:
    world.is_away = True
    named = await keeper_of(world).store(unnamed(), FRAME)
    world.is_away = False
    world.registry, world.fetched = CollectorRegistry(), 0

    successor = keeper_of(world)
    successor.restore({FRAME.partition})
    await stored_in_time(successor, world)
    assert set(world.objects) == set(keys_of(named))
    # The frame of the pass was fetched from Kafka again.
    assert world.fetched == 1


async def test_the_partitions_of_others_are_left_to_them(world: World) -> None:
    world.is_away = True
    keeper = keeper_of(world)
    await keeper.store(unnamed(), FRAME)
    keeper.restore({FRAME.partition + 1})
    assert (world.table, world.pending()) == ({}, 0)


async def test_a_note_that_kafka_did_not_take_names_nothing_yet(world: World) -> None:
    world.is_away = True
    keeper = keeper_of(world)
    table = keeper._table
    assert isinstance(table, Table)

    async def refuse(*_: object, **__: object) -> None:
        raise TransientError("Kafka is unavailable")

    put, table.put = table.put, refuse  # type: ignore[method-assign]
    with pytest.raises(TransientError):
        await keeper.store(unnamed(), FRAME)
    assert world.pending() == 0
    table.put = put  # type: ignore[method-assign]
    assert keys_of(await keeper.store(unnamed(), FRAME)) == both_keys(unnamed())


async def test_images_without_a_frame_are_reported_lost_once_s3_answers(
    world: World,
) -> None:
    world.is_away = True
    keeper = keeper_of(world)
    named = await keeper.store(unnamed(), FRAME)
    world.now += STORED_WITHIN_MS + 1
    running = asyncio.create_task(keeper.run())
    await asyncio.sleep(0.1)
    assert (world.lost, len(world.table)) == ([], 1)
    # The first attempt, which got no response, stored one of the two images.
    world.objects[both_keys(named)[0]] = b""
    world.is_away = False
    await until(lambda: not world.table)
    running.cancel()

    (lost,) = world.lost
    assert lost.id == named.id
    assert keys_of(lost) == both_keys(named)[:1]
    assert world.count("lost") == 1


async def test_while_kafka_is_unavailable_nothing_is_dropped(world: World) -> None:
    world.is_away = True
    first = keeper_of(world)
    await first.store(unnamed(), FRAME)
    world.registry = CollectorRegistry()
    keeper = keeper_of(world)
    keeper.restore({FRAME.partition})
    world.is_away, world.kafka_is_away = False, True
    running = asyncio.create_task(keeper.run())
    await asyncio.sleep(0.1)
    assert (world.lost, len(world.table)) == ([], 1)
    world.kafka_is_away = False
    await until(lambda: not world.table)
    running.cancel()
    assert len(world.objects) == 2


async def test_pending_images_are_limited_and_others_have_none(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending_images, "_MAX_PENDING", 1)
    world.is_away = True
    keeper = keeper_of(world)
    assert keys_of(await keeper.store(unnamed(1), FRAME))
    assert not keys_of(await keeper.store(unnamed(2), FRAME))
    assert len(world.table) == 1
