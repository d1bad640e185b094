"""Manages the retained messages of each camera: discovery and state.

Published messages are recorded in a table on Kafka. With this table, the stage removes stale
messages of deleted cameras and former settings from the broker, even if the changes were made while
the stage was down, and sends all messages again to a broker that lost its data.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from uuid import UUID

import msgspec
import structlog

from common.errors import TransientError
from common.records.cameras import CameraConfig, CameraState, CameraStatus
from common.records.codec import Record, decode, encode
from common.records.webhooks import EventName
from streams.mqtt.discovery import discovery_payload
from streams.mqtt.messages import Message, TopicNames, camera_message, removals, retained
from streams.mqtt.reconnecting_client import Publish
from streams.runtime.camera_presence import CameraPresence, apply_status
from streams.runtime.tables import DurableTable

log = structlog.get_logger()

_STATES = {True: b"online", False: b"offline"}


class KnownCamera(Record, frozen=True, kw_only=True):
    """An entry of the cameras table: a camera (without its stream URL) and the published state.

    ``announced`` is the last announced state. ``topics`` are the topics on which the broker retains
    a message. ``partition`` is the partition of the camera's messages.
    """

    camera: CameraConfig
    partition: int
    announced: CameraState | None = None
    topics: tuple[str, ...] = ()


class CameraRegistry:
    """Keeps the broker's messages about cameras up to date. Use the registry on one event loop.

    A message is sent before Kafka stores the new state. A crash in between repeats the message.
    """

    def __init__(
        self,
        table: DurableTable,
        publish: Publish,
        names: TopicNames,
        *,
        is_wanted: Callable[[UUID], bool],
        offline_after_ms: int,
        has_images: bool,
    ) -> None:
        """``is_wanted`` returns whether an account's cameras are published. ``has_images``: whether
        the image of each camera's latest pass is published.
        """
        self._table = table
        self._publish = publish
        self._names = names
        self._is_wanted = is_wanted
        self._offline_after_ms = offline_after_ms
        self._has_images = has_images
        # Another update must not start between reading, publishing and storing.
        self._lock = asyncio.Lock()
        self._changed = asyncio.Event()
        # Configurations are applied one by one. While a configuration cannot be published, the
        # later configurations of all partitions are still unknown.
        self._is_behind = False
        self._failures = 0

    def reset(self) -> None:
        """Reset the state in memory. The partitions are read again from the released offsets."""
        self._is_behind = False

    async def configure(self, camera: CameraConfig, partition: int) -> None:
        """Publish a camera that was created or updated. Safe to repeat.

        Raises:
            TransientError: the broker or Kafka is unavailable.
        """
        async with self._configuration():
            before = self._known(camera.camera_id)
            camera = msgspec.structs.replace(camera, stream_url_encrypted="")
            known = KnownCamera(
                camera=camera,
                partition=partition,
                announced=None if before is None else before.announced,
                topics=() if before is None else before.topics,
            )
            await self._publish_changes(known, before)
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def remove(self, camera_id: UUID, partition: int) -> None:
        """Remove a camera from the broker. Safe to repeat.

        Raises:
            TransientError: the broker or Kafka is unavailable.
        """
        async with self._configuration():
            known = self._known(camera_id)
            if known is not None:
                await self._publish(removals(known.topics))
                await self._table.put(_key(camera_id), None, partition=partition)
                log.info("mqtt_camera_removed", camera_id=str(camera_id))

    async def apply_status(
        self, status: CameraStatus, *, wait_seconds: float, is_event: bool
    ) -> None:
        """Publish a camera's status, or only its retained state if not ``is_event``.

        If the camera stays unknown for ``wait_seconds``, the status is dropped. Safe to repeat.

        Raises:
            TransientError: the broker or Kafka is unavailable, or the camera is unknown because
                configurations could not be published.
        """
        was_behind, failures = self._is_behind, self._failures
        await self._wait_for(status.camera_id, wait_seconds)
        async with self._lock:
            known = self._known(status.camera_id)
            is_waited_for = was_behind or self._is_behind or self._failures > failures
            if known is None and is_waited_for:
                raise TransientError("the camera has not been announced to the broker yet")
            if known is None:
                log.debug("camera_unknown", camera_id=str(status.camera_id))
                return
            before = None if known.announced is None else CameraPresence(announced=known.announced)
            change = apply_status(before, status, offline_after_ms=self._offline_after_ms)
            announced = None if change.presence is None else change.presence.announced
            if change.event is not None and is_event and self._is_wanted(status.owner_id):
                await self._publish([self._event(change.event, known, status)])
            if announced is not known.announced:
                after = msgspec.structs.replace(known, announced=announced)
                await self._publish_changes(after, known)

    async def publish_all(self, publish: Publish, partitions: Collection[int]) -> None:
        """Publish all cameras of these partitions to a broker that may have lost its data.

        Raises:
            TransientError: the broker or Kafka is unavailable.
        """
        async with self._lock:
            entries = [decode(KnownCamera, value) for _, value in self._table.items()]
            own = [known for known in entries if known.partition in partitions]
            messages = [message for known in own for message in self._messages_of(known)]
            await publish(messages)
            for known in own:
                await self._store(known, known)
            log.info("mqtt_cameras_announced", count=len(own))

    @asynccontextmanager
    async def _configuration(self) -> AsyncIterator[None]:
        self._is_behind = True
        try:
            async with self._lock:
                yield
        except TransientError:
            # The configuration will be retried, and later configurations wait.
            self._failures += 1
            raise
        except BaseException:
            self._is_behind = False
            raise
        self._is_behind = False

    async def _publish_changes(self, known: KnownCamera, before: KnownCamera | None) -> None:
        old = () if before is None else self._retained(before)
        await self._publish([each for each in self._messages_of(known) if each not in old])
        await self._store(known, before)

    async def _store(self, known: KnownCamera, before: KnownCamera | None) -> None:
        topics = tuple(message.topic for message in self._retained(known))
        after = msgspec.structs.replace(known, topics=topics)
        if after != before:
            key = _key(known.camera.camera_id)
            await self._table.put(key, encode(after), partition=known.partition)

    def _messages_of(self, known: KnownCamera) -> list[Message]:
        """Return the messages for the broker to retain, and the removals of stale messages."""
        current = self._retained(known)
        stale = set(known.topics) - {message.topic for message in current}
        return [*removals(sorted(stale)), *current]

    def _retained(self, known: KnownCamera) -> Sequence[Message]:
        camera, names = known.camera, self._names
        if not self._is_wanted(camera.owner_id):
            return ()
        is_online = known.announced is CameraState.ONLINE
        state = retained(names.state(camera.owner_id, camera.camera_id), _STATES[is_online])
        topic = names.discovery(camera.owner_id, camera.camera_id)
        if topic is None:
            return (state,)
        payload = discovery_payload(names, camera, has_image=self._has_images)
        return (retained(topic, payload), state)

    def _event(self, name: EventName, known: KnownCamera, status: CameraStatus) -> Message:
        return camera_message(self._names, name, known.camera, status)

    def _known(self, camera_id: UUID) -> KnownCamera | None:
        value = self._table.get(_key(camera_id))
        return None if value is None else decode(KnownCamera, value)

    async def _wait_for(self, camera_id: UUID, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                while self._known(camera_id) is None:
                    await self._changed.wait()
        except TimeoutError:
            return


def _key(camera_id: UUID) -> bytes:
    return str(camera_id).encode()
