"""Retained messages of cameras, after any sequence of events."""

import asyncio
from collections.abc import Callable, Sequence
from uuid import UUID

import msgspec
import pytest

from common.errors import TransientError
from common.records.cameras import CameraState, CameraStatus
from streams.mqtt.camera_registry import CameraRegistry
from streams.mqtt.events import StartTimes
from streams.mqtt.messages import Message, TopicNames
from streams.runtime.tables import DurableTable
from tests.records import CAMERAS, OWNER
from tests.unit.streams.mqtt.test_messages import CAMERA, STATUS

NAMES = TopicNames("platestream", "homeassistant")
STATE = NAMES.state(OWNER, CAMERAS[0])
DISCOVERY = NAMES.discovery(OWNER, CAMERAS[0]) or ""
EVENTS = NAMES.camera(OWNER, CAMERAS[0])


class Table(DurableTable):
    def __init__(self) -> None:
        self.data: dict[bytes, bytes] = {}
        self.partitions: dict[bytes, int] = {}

    def get(self, key: bytes, /) -> bytes | None:
        return self.data.get(key)

    async def put(
        self, key: bytes, value: bytes | None, /, *, partition: int | None = None
    ) -> None:
        assert partition is not None
        self.partitions[key] = partition
        if value is None:
            self.data.pop(key, None)
        else:
            self.data[key] = value

    def items(self) -> list[tuple[bytes, bytes]]:
        return list(self.data.items())


class Broker:
    """Stores retained messages, and records events."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.events: list[str] = []
        self.published = 0
        self.is_unavailable = False

    async def publish(self, messages: Sequence[Message]) -> None:
        if self.is_unavailable:
            raise TransientError("unavailable")
        self.published += len(messages)
        for message in messages:
            if not message.retain:
                self.events.append(message.topic)
            elif message.payload:
                self.kept[message.topic] = message.payload
            else:
                self.kept.pop(message.topic, None)


def _registry(
    table: Table,
    broker: Broker,
    names: TopicNames = NAMES,
    wants: Callable[[UUID], bool] = lambda _: True,
) -> CameraRegistry:
    return CameraRegistry(
        table,
        broker.publish,
        names,
        is_wanted=wants,
        offline_after_ms=15_000,
        has_images=False,
    )


def _status(state: CameraState, *, silent_ms: int = 0) -> CameraStatus:
    seen = STATUS.at_ms - silent_ms
    return msgspec.structs.replace(STATUS, state=state, last_seen_ms=seen)


async def _apply(registry: CameraRegistry, status: CameraStatus, *, is_event: bool = True) -> None:
    await registry.apply_status(status, wait_seconds=0, is_event=is_event)


async def test_the_state_follows_the_camera() -> None:
    table, broker = Table(), Broker()
    registry = _registry(table, broker)
    await registry.configure(CAMERA, 3)
    assert broker.kept[STATE] == b"offline"
    for state, silent_ms, kept, events in (
        (CameraState.CONNECTING, 0, b"offline", 0),
        (CameraState.ONLINE, 0, b"online", 1),
        (CameraState.ONLINE, 0, b"online", 1),
        # Neither a stopped worker nor a short time without frames takes a camera offline.
        (CameraState.CONNECTING, 0, b"online", 1),
        (CameraState.OFFLINE, 14_000, b"online", 1),
        (CameraState.OFFLINE, 15_000, b"offline", 2),
        (CameraState.ONLINE, 0, b"online", 3),
        # No event is sent if the account disables the camera.
        (CameraState.DISABLED, 0, b"offline", 3),
    ):
        await _apply(registry, _status(state, silent_ms=silent_ms))
        assert (broker.kept[STATE], broker.events) == (kept, [EVENTS] * events), state
    assert CAMERA.stream_url_encrypted.encode() not in b"".join(table.data.values())
    assert set(table.partitions.values()) == {3}


async def test_only_what_has_changed_is_published() -> None:
    broker = Broker()
    registry = _registry(Table(), broker)
    counts = []
    for camera in (CAMERA, CAMERA, msgspec.structs.replace(CAMERA, name="New")):
        await registry.configure(camera, 0)
        counts.append(broker.published)
    await _apply(registry, _status(CameraState.ONLINE), is_event=False)

    assert [*counts, broker.published] == [2, 2, 3, 4]
    assert b"New" in broker.kept[DISCOVERY]


async def test_before_the_start_only_the_state_is_published() -> None:
    broker = Broker()
    registry = _registry(Table(), broker)
    await registry.configure(CAMERA, 0)
    await _apply(registry, _status(CameraState.ONLINE), is_event=False)

    assert broker.kept[STATE] == b"online"
    assert not broker.events


async def test_a_deleted_camera_leaves_nothing_and_stays_deleted() -> None:
    table, broker = Table(), Broker()
    registry = _registry(table, broker)
    await registry.configure(CAMERA, 0)
    await registry.remove(CAMERA.camera_id, 0)
    await registry.remove(CAMERA.camera_id, 0)
    await _apply(registry, _status(CameraState.ONLINE))

    assert not broker.kept and not broker.events and not table.data


async def test_what_the_broker_did_not_take_is_published_again() -> None:
    table, broker = Table(), Broker()
    registry = _registry(table, broker)
    await registry.configure(CAMERA, 0)
    broker.is_unavailable = True
    for attempt in (
        _apply(registry, _status(CameraState.ONLINE)),
        registry.remove(CAMERA.camera_id, 0),
        registry.configure(msgspec.structs.replace(CAMERA, name="New"), 0),
    ):
        with pytest.raises(TransientError):
            await attempt
    broker.is_unavailable = False
    await _apply(registry, _status(CameraState.ONLINE))
    assert (broker.kept[STATE], broker.events) == (b"online", [EVENTS])


async def test_a_broker_that_forgot_gets_all_own_cameras_again() -> None:
    table, broker = Table(), Broker()
    registry = _registry(table, broker)
    other = msgspec.structs.replace(CAMERA, camera_id=CAMERAS[1])
    await registry.configure(CAMERA, 0)
    await registry.configure(other, 1)
    await _apply(registry, _status(CameraState.ONLINE))
    before, broker.kept = dict(broker.kept), {}
    await registry.publish_all(broker.publish, {0})

    assert broker.kept == {key: before[key] for key in (STATE, DISCOVERY)}
    assert broker.kept[STATE] == b"online"


@pytest.mark.parametrize("names", [TopicNames("new", ""), TopicNames("platestream", "ha")])
async def test_changed_names_leave_no_old_topics(names: TopicNames) -> None:
    table, broker = Table(), Broker()
    await _registry(table, broker).configure(CAMERA, 0)
    await _registry(table, broker, names).publish_all(broker.publish, {0})
    wanted = {names.state(OWNER, CAMERAS[0]), names.discovery(OWNER, CAMERAS[0])} - {None}
    assert set(broker.kept) == wanted
    # The first names are published again, although no camera has changed meanwhile.
    await _registry(table, broker).publish_all(broker.publish, {0})
    assert set(broker.kept) == {STATE, DISCOVERY}


async def test_cameras_of_owners_that_are_not_wanted_are_not_published() -> None:
    table, broker = Table(), Broker()
    registry = _registry(table, broker, wants=lambda owner: owner != OWNER)
    await registry.configure(CAMERA, 0)
    await _apply(registry, _status(CameraState.ONLINE))
    assert not broker.kept and not broker.events
    await _registry(table, broker).publish_all(broker.publish, {0})
    assert broker.kept[STATE] == b"online"


async def test_a_status_that_comes_before_its_camera_waits_for_it() -> None:
    broker = Broker()
    registry = _registry(Table(), broker)
    status = _status(CameraState.ONLINE)
    waiting = asyncio.create_task(registry.apply_status(status, wait_seconds=5, is_event=True))
    await asyncio.sleep(0)
    await registry.configure(CAMERA, 0)
    await waiting

    assert broker.kept[STATE] == b"online"


async def test_the_first_event_of_a_new_camera_waits_for_a_broker_that_is_unavailable() -> None:
    broker = Broker()
    registry = _registry(Table(), broker)
    broker.is_unavailable = True
    # The stage waits at another camera's configuration and has not read this camera's yet.
    other = msgspec.structs.replace(CAMERA, camera_id=CAMERAS[1])
    for _ in range(2):
        for attempt in (
            registry.configure(other, 1),
            _apply(registry, _status(CameraState.ONLINE)),
        ):
            with pytest.raises(TransientError):
                await attempt
    broker.is_unavailable = False
    await registry.configure(other, 1)
    await registry.configure(CAMERA, 0)
    await _apply(registry, _status(CameraState.ONLINE))
    assert (broker.kept[STATE], broker.events) == (b"online", [EVENTS])


@pytest.mark.parametrize("begins", ["while it fails", "before it fails"])
async def test_a_new_camera_is_known_only_after_the_one_that_held_it_up(begins: str) -> None:
    broker = Broker()
    registry = _registry(Table(), broker)
    other = msgspec.structs.replace(CAMERA, camera_id=CAMERAS[1])
    status = _status(CameraState.ONLINE)
    waited = registry.apply_status(status, wait_seconds=0.05, is_event=True)
    broker.is_unavailable = True
    if begins == "while it fails":
        with pytest.raises(TransientError):
            await registry.configure(other, 0)
    waiting = asyncio.create_task(waited)
    await asyncio.sleep(0)
    if begins == "before it fails":
        with pytest.raises(TransientError):
            await registry.configure(other, 0)
    broker.is_unavailable = False
    await registry.configure(other, 0)
    # This camera's configuration is next. Until then, the camera's status must not be dropped.
    with pytest.raises(TransientError):
        await waiting
    await registry.configure(CAMERA, 0)
    await _apply(registry, status)
    assert broker.events == [EVENTS]


async def test_a_status_of_a_camera_that_is_gone_does_not_wait_for_ever() -> None:
    broker = Broker()
    registry = _registry(Table(), broker)
    other = msgspec.structs.replace(CAMERA, camera_id=CAMERAS[1])
    broker.is_unavailable = True
    with pytest.raises(TransientError):
        await registry.configure(other, 0)
    # The partition moved to another worker, and is then assigned to this worker again.
    registry.reset()
    await _apply(registry, _status(CameraState.ONLINE))
    with pytest.raises(TransientError):
        await registry.configure(other, 0)
    broker.is_unavailable = False
    await registry.configure(other, 0)
    await _apply(registry, _status(CameraState.ONLINE))
    assert broker.events == []


async def test_a_partition_begins_once() -> None:
    table = Table()
    await StartTimes(table, lambda: 1000).record([0])
    later = StartTimes(table, lambda: 2000)
    await later.record([0, 1])

    assert [later.is_started_before(0, at_ms) for at_ms in (999, 1000)] == [False, True]
    assert [later.is_started_before(1, at_ms) for at_ms in (1999, 2000)] == [False, True]
