"""The retained picture of each camera, whatever S3, the broker and erasures do meanwhile."""

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import msgspec

from common.errors import TransientError
from common.records.codec import encode
from common.records.ids import NIL_UUID
from common.records.recognitions import Recognition
from streams.mqtt.broker import RefusedMessageError, max_packet_bytes
from streams.mqtt.messages import Message
from streams.mqtt.metrics import MqttMetrics
from streams.mqtt.picture_records import NewPass
from streams.mqtt.picture_store import PictureTooLargeError
from streams.mqtt.pictures import PictureKeeper, PicturePace, PictureScope
from streams.mqtt.settings import MqttPicture
from streams.runtime.sending import OutgoingMessage
from tests.records import CAMERAS, OWNER, recognition
from tests.unit.streams.mqtt import test_camera_registry as registry

TOPIC = registry.NAMES.picture(OWNER, CAMERAS[0])
HALF_AN_HOUR_MS = 31 * 60_000


class Table(registry.Table):
    """A table in memory."""

    async def put_all(self, changes: Sequence[OutgoingMessage]) -> list[bool]:
        for change in changes:
            await self.put(change.key, change.value, partition=change.partition or 0)
        return [True] * len(changes)


class Broker(registry.Broker):
    """Refuses pictures of more than ten bytes; counts those that it took."""

    def __init__(self) -> None:
        super().__init__()
        self.pictures: list[bytes] = []

    async def publish(self, messages: Sequence[Message]) -> None:
        if any(len(message.payload) > 10 for message in messages):
            raise RefusedMessageError("too large")
        await super().publish(messages)
        self.pictures += [message.payload for message in messages if message.payload]


class Store:
    """Images by key."""

    def __init__(self) -> None:
        self.images: dict[str, bytes] = {}
        self.is_away = False

    async def fetch(self, key: str) -> bytes | None:
        if self.is_away:
            raise TransientError("away")
        if self.images.get(key) == b"huge":
            raise PictureTooLargeError(key)
        return self.images.get(key)

    async def has(self, key: str) -> bool:
        return await self.fetch(key) is not None

    def close(self) -> None:
        """Have nothing to let go of."""


class World:
    """The keeper and what is around it, with clocks that the test moves."""

    def __init__(self) -> None:
        self.table, self.broker, self.store = Table(), Broker(), Store()
        self.seconds = 0.0
        self.known = set(CAMERAS)
        self.partitions = {0}
        self.metrics = MqttMetrics()
        self.keeper = self.start()

    def start(self, kind: MqttPicture = MqttPicture.CROP, **changed: Any) -> PictureKeeper:
        """Return a keeper that knows what the table holds, as after a restart."""
        scope = {
            "is_wanted": lambda _: True,
            "is_known": lambda camera: camera in self.known,
            "owns": lambda partition: partition in self.partitions,
        }
        self.keeper = PictureKeeper(
            kind=kind,
            table=self.table,
            store=self.store,
            publish=self.broker.publish,
            names=registry.NAMES,
            scope=PictureScope(**(scope | changed)),
            pace=PicturePace(pause_seconds=2, check_seconds=60),
            metrics=self.metrics,
            now_ms=lambda: 1_795_000_000_000 + round(self.seconds * 1000),
            clock=lambda: self.seconds,
        )
        self.keeper.publish_again()
        return self.keeper

    async def passed(self, *numbers: int, stored: bytes | None = None) -> None:
        """Tell of passes at the first camera; ``stored``: the image that S3 has of each."""
        made = [_made(number) for number in numbers]
        if stored is not None:
            self.store.images |= {str(one.crop_key): stored for one in made}
        await self.keeper.note([_new(one) for one in made])

    async def after(self, seconds: float = 0) -> bytes | None:
        """Let time pass, have what is due done, and return what the broker keeps."""
        self.seconds += seconds
        await self.keeper._settle_due()
        return self.broker.kept.get(TOPIC)


def _made(number: int) -> Recognition:
    return recognition(8 * number, captured_ms=1_795_000_000_000 + number)


def _new(one: Recognition) -> NewPass:
    return NewPass(recognition=one, partition=0, published_ms=1_795_000_000_000)


def _key(number: int) -> str:
    return str(_made(number).crop_key)


async def test_the_newest_pass_is_shown_and_no_more_often_than_asked() -> None:
    world = World()
    await world.passed(1, 3, 2, stored=b"three")
    assert await world.after() == b"three"
    await world.passed(4, stored=b"four")
    await world.passed(5, stored=b"five")
    assert await world.after(1) == b"three"
    assert await world.after(1) == b"five"
    await world.passed(4, stored=b"late")
    assert await world.after(60) == b"five"
    assert world.broker.pictures == [b"three", b"five"]


async def test_a_picture_that_is_stored_late_is_waited_for() -> None:
    world = World()
    await world.passed(1, stored=b"one")
    await world.after()
    await world.passed(2)
    assert await world.after(600) == b"one"
    world.store.images[_key(2)] = b"two"
    assert await world.after(30) == b"two"


async def test_one_that_is_never_stored_ends_the_picture() -> None:
    world = World()
    await world.passed(1, stored=b"one")
    await world.after()
    await world.passed(2)
    await world.after(5)
    assert await world.after(HALF_AN_HOUR_MS / 1000) is None
    assert world.table.items() == []


async def test_an_erased_picture_is_taken_away() -> None:
    world = World()
    await world.passed(1, stored=b"one")
    await world.after()
    world.store.images.clear()
    assert await world.after(59) == b"one"
    assert await world.after(1) is None
    assert world.table.items() == []


async def test_an_erased_one_goes_while_the_next_is_waited_for() -> None:
    world = World()
    await world.passed(1, stored=b"one")
    await world.after()
    world.store.images.clear()
    await world.passed(2)
    assert await world.after(5) is None
    world.store.images[_key(2)] = b"two"
    assert await world.after(30) == b"two"


async def test_what_was_erased_while_the_stage_was_away_is_taken_away() -> None:
    world = World()
    await world.passed(1, stored=b"one")
    await world.after()
    world.store.images.clear()
    world.start()
    assert await world.after() is None


async def test_a_crash_between_table_and_broker_leaves_nothing_unknown() -> None:
    world = World()
    await world.passed(1, stored=b"one")
    await world.after()
    await world.passed(2, stored=b"two")
    world.broker.is_unavailable = True
    assert await world.after(2) == b"one"
    world.broker.is_unavailable = False
    del world.store.images[_key(2)]
    world.start()
    assert await world.after() is None


async def test_a_broker_that_forgot_gets_it_again() -> None:
    world = World()
    await world.passed(1, stored=b"one")
    await world.after()
    world.broker.kept.clear()
    world.keeper.publish_again()
    assert await world.after() == b"one"


async def test_an_absent_s3_changes_nothing_and_holds_up_no_event() -> None:
    world = World()
    await world.passed(1, stored=b"one")
    await world.after()
    world.store.is_away = True
    await world.passed(2, stored=b"two")
    assert await world.after(120) == b"one"
    world.store.is_away = False
    assert await world.after(5) == b"two"


async def test_too_large_for_us_or_for_the_broker_is_not_shown() -> None:
    world = World()
    for number, image in ((1, b"huge"), (2, b"more than ten")):
        await world.passed(0, stored=b"fine")
        assert await world.after(60) == b"fine"
        await world.passed(number, stored=image)
        assert await world.after(2) is None
        assert world.table.items() == []


async def test_a_camera_that_is_deleted_keeps_none_whatever_comes_late() -> None:
    world = World()
    await world.passed(1, stored=b"one")
    await world.after()
    world.known.clear()
    await world.keeper.remove(CAMERAS[0])
    assert world.broker.kept == {}
    await world.passed(2, stored=b"two")
    assert await world.after(30) is None
    assert await world.after(60) is None
    assert world.table.items() == []
    await world.keeper.remove(CAMERAS[0])


async def test_switched_off_or_changed_it_takes_away_what_was_shown() -> None:
    nobody = {"is_wanted": lambda _: False}
    for kind, scope in (
        (MqttPicture.OFF, {}),
        (MqttPicture.PHOTO, {}),
        (MqttPicture.CROP, nobody),
    ):
        world = World()
        await world.passed(1, stored=b"one")
        await world.after()
        world.start(kind, **scope)
        assert await world.after() is None
        assert world.table.items() == []


async def test_image_calls_and_passes_without_a_picture_show_none() -> None:
    world = World()
    call = msgspec.structs.replace(_made(1), camera_id=NIL_UUID)
    bare = msgspec.structs.replace(_made(1), crop_key=None)
    await world.keeper.note([_new(call), _new(bare)])
    assert world.table.items() == []


async def test_another_workers_cameras_are_left_to_it() -> None:
    world = World()
    await world.passed(1, stored=b"one")
    world.partitions.clear()
    assert await world.after() is None
    world.partitions.add(0)
    world.start()
    assert await world.after() == b"one"


async def test_a_pass_that_comes_while_another_ones_image_is_read_is_not_lost() -> None:
    world = World()
    await world.passed(1, stored=b"one")
    fetch = world.store.fetch

    async def slow(key: str) -> bytes | None:
        world.store.fetch = fetch  # type: ignore[method-assign]
        await world.passed(2, stored=b"two")
        return await fetch(key)

    world.store.fetch = slow  # type: ignore[method-assign]
    assert await world.after() is None
    assert await world.after() == b"two"
    assert world.broker.pictures == [b"two"]


async def test_it_rests_until_something_is_due() -> None:
    world = World()
    running = asyncio.create_task(world.keeper.run())
    await asyncio.sleep(0.3)
    await world.passed(1, stored=b"one")
    await asyncio.sleep(1)
    running.cancel()
    assert world.broker.pictures == [b"one"]


def test_no_plate_is_in_the_table() -> None:
    world = World()
    asyncio.run(world.passed(1, stored=b"one"))
    ((_, value),) = world.table.items()
    assert _made(1).plate.encode() not in value
    assert encode(_made(1)) != value


def test_the_brokers_largest_packet_is_what_it_says() -> None:
    assert max_packet_bytes(SimpleNamespace(MaximumPacketSize=2000)) == 2000
    assert max_packet_bytes(SimpleNamespace()) is None
