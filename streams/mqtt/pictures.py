"""The retained picture of each camera: of its newest pass, for as long as S3 has that image.

Of each camera a table on Kafka has the image that is to be shown and the one that the broker may
keep, so nothing stays there that is not known. An image that is gone from S3, because its plate was
erased or its time is over, is taken away at the broker too: each one is asked for every now and
then, and whenever the broker is connected. So nobody has to tell this stage of erasures, and none
is missed while it is away.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

import msgspec
import structlog

from common.errors import TransientError
from common.records.codec import decode, encode
from common.records.object_keys import STORED_WITHIN_MS
from common.retry import RetryPolicy
from streams.mqtt.broker import RefusedMessageError
from streams.mqtt.messages import Message, MessageKind, TopicNames, removals
from streams.mqtt.metrics import MqttMetrics, PictureOutcome
from streams.mqtt.picture_records import CameraPicture, NewPass, PassPicture, picture_of
from streams.mqtt.picture_store import PictureTooLargeError
from streams.mqtt.reconnecting_client import Publish
from streams.mqtt.settings import MqttPicture
from streams.runtime.sending import OutgoingMessage

log = structlog.get_logger()

_ROUND_SECONDS = 0.25
_IDLE_SECONDS = 60.0
_LONGEST_PAUSE_SECONDS = 10.0
_AGAIN_SECONDS = 5.0
_FIRST_LOOK_SECONDS, _LAST_LOOK_SECONDS = 1.0, 30.0
_STORED_WITHIN_MS = STORED_WITHIN_MS + 60_000
# The configuration of a new camera comes by another topic.
_KNOWN_WITHIN_MS = 60_000


class PictureTable(Protocol):
    """Encoded :class:`CameraPicture` by camera id."""

    def get(self, key: bytes, /) -> bytes | None:
        """Return the entry of a camera."""

    async def put(self, key: bytes, value: bytes | None, /, *, partition: int) -> None:
        """Write it, None to forget it; returns once Kafka has it."""

    async def put_all(self, changes: Sequence[OutgoingMessage]) -> list[bool]:
        """Write several; return for each whether Kafka has it."""

    def items(self) -> list[tuple[bytes, bytes]]:
        """Return all keys with their values."""


class ReadsPictures(Protocol):
    """The part of a :class:`~streams.mqtt.picture_store.PictureStore` that is used."""

    async def fetch(self, key: str) -> bytes | None:
        """Return an image, None where there is none."""

    async def has(self, key: str) -> bool:
        """Return whether there is an image."""

    def close(self) -> None:
        """Let running reads end by themselves."""


@dataclass(frozen=True, kw_only=True)
class PicturePace:
    """At most one picture of a camera in ``pause_seconds``, asked for every ``check_seconds``."""

    pause_seconds: float
    check_seconds: float


@dataclass(frozen=True, kw_only=True)
class PictureScope:
    """Whose pictures are shown by this worker."""

    is_wanted: Callable[[UUID], bool]
    """Whether an owner's pictures are."""
    is_known: Callable[[UUID], bool]
    """Whether a camera is there."""
    owns: Callable[[int], bool]
    """Whether a partition is this worker's."""


class PictureKeeper:
    """Keeps the broker's pictures right. Lives on one event loop.

    Images are read beside the events, which never wait for S3.
    """

    def __init__(
        self,
        *,
        kind: MqttPicture,
        table: PictureTable,
        store: ReadsPictures,
        publish: Publish,
        names: TopicNames,
        scope: PictureScope,
        pace: PicturePace,
        metrics: MqttMetrics,
        now_ms: Callable[[], int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``now_ms`` is the wall clock, Unix ms; ``clock`` returns seconds that only rise."""
        self._kind = kind
        self._table = table
        self._store = store
        self._publish = publish
        self._names = names
        self._scope = scope
        self._pace = pace
        self._metrics = metrics
        self._now_ms = now_ms
        self._clock = clock
        self._retry = RetryPolicy(longest_pause_seconds=_LONGEST_PAUSE_SECONDS)
        # What is read, published and stored must not mix with another one's turn.
        self._turn = asyncio.Lock()
        self._has_news = asyncio.Event()
        self._due: dict[bytes, float] = {}
        # Those that the broker has, since it was connected.
        self._published: dict[bytes, float] = {}
        self._is_away = False

    async def note(self, passes: Sequence[NewPass]) -> None:
        """Remember the newest pass of each camera, whose picture is shown soon. Safe to repeat.

        Raises:
            TransientError: Kafka is unavailable.
        """
        changes: dict[bytes, CameraPicture] = {}
        async with self._turn:
            for each in passes:
                picture = picture_of(self._kind, each)
                key = _key(each.recognition.camera_id)
                before = changes.get(key) or self._entry(key)
                if picture and (before is None or before.newest_ms < picture.captured_ms):
                    changes[key] = msgspec.structs.replace(
                        before or self._empty_entry(each), wanted=picture
                    )
            outgoing = [
                OutgoingMessage(key, encode(entry), entry.partition)
                for key, entry in changes.items()
            ]
            taken = await self._table.put_all(outgoing)
        for key in changes:
            last = self._published.get(key, -self._pace.pause_seconds)
            self._schedule(key, last + self._pace.pause_seconds - self._clock())
        if not all(taken):
            raise TransientError("Kafka did not take a camera's picture")

    async def remove(self, camera_id: UUID) -> None:
        """Make the broker forget the picture of a camera that is gone. Safe to repeat.

        Raises:
            TransientError: the broker or Kafka is unavailable.
        """
        key = _key(camera_id)
        async with self._turn:
            if (entry := self._entry(key)) is not None:
                await self._forget(key, entry, None, PictureOutcome.TAKEN_AWAY)

    def publish_again(self) -> None:
        """Show all again: the broker may have lost everything, and plates may be erased."""
        self._published.clear()
        for key, _ in self._table.items():
            self._schedule(key, 0)

    async def run(self) -> None:
        """Show what is due, until cancelled."""
        failures = 0
        while True:
            await self._wait(failures)
            failures = 0 if await self._settle_due() else failures + 1

    def close(self) -> None:
        """Let running reads end by themselves."""
        self._store.close()

    async def _wait(self, failures: int) -> None:
        await asyncio.sleep(self._retry.pause_seconds(failures) if failures else _ROUND_SECONDS)
        soonest = min(self._due.values(), default=self._clock() + _IDLE_SECONDS)
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0, soonest - self._clock())):
                await self._has_news.wait()
        self._has_news.clear()

    async def _settle_due(self) -> bool:
        """Settle all that are due, the longest due first; False where one could not be."""
        now = self._clock()
        is_well = True
        for _, key in sorted((at, key) for key, at in self._due.items() if at <= now):
            self._due.pop(key, None)
            try:
                await self._settle(key)
            except TransientError as error:
                self._note_away(error)
                self._schedule(key, _AGAIN_SECONDS)
                is_well = False
            except Exception:
                # The edge of the loop: the others are shown all the same.
                log.exception("mqtt_picture_failed", camera_id=key.decode())
        if is_well:
            self._note_back()
        return is_well

    async def _settle(self, key: bytes) -> None:
        entry = self._entry(key)
        if entry is None or not self._scope.owns(entry.partition):
            self._published.pop(key, None)
            return
        try:
            await self._settle_entry(key, entry)
        except PictureTooLargeError:
            log.warning("mqtt_picture_too_large", camera_id=str(entry.camera_id))
            await self._end(key, entry, PictureOutcome.TOO_LARGE)

    async def _settle_entry(self, key: bytes, entry: CameraPicture) -> None:
        if not self._is_of_these_settings(entry):
            await self._end(key, entry, PictureOutcome.TAKEN_AWAY)
        elif not self._scope.is_known(entry.camera_id):
            await self._wait_for_camera(key, entry)
        elif entry.wanted is not None:
            await self._show_wanted(key, entry, entry.wanted)
        elif entry.shown is not None:
            await self._keep_shown(key, entry, entry.shown)

    async def _wait_for_camera(self, key: bytes, entry: CameraPicture) -> None:
        told_ms = 0 if entry.wanted is None else entry.wanted.published_ms
        if self._now_ms() - told_ms < _KNOWN_WITHIN_MS:
            self._schedule(key, _AGAIN_SECONDS)
        else:
            await self._end(key, entry, PictureOutcome.TAKEN_AWAY)

    async def _show_wanted(self, key: bytes, entry: CameraPicture, wanted: PassPicture) -> None:
        image = await self._store.fetch(wanted.key)
        age_ms = self._now_ms() - wanted.published_ms
        if image is not None:
            after = msgspec.structs.replace(entry, wanted=None, shown=wanted)
            await self._show(key, entry, after, image)
        elif age_ms >= _STORED_WITHIN_MS:
            await self._end(key, entry, PictureOutcome.MISSING)
        else:
            # S3 gets it later than we hear of the pass where it was away.
            if entry.shown is not None and not await self._store.has(entry.shown.key):
                before, entry = entry, msgspec.structs.replace(entry, shown=None)
                await self._replace(key, before, entry, PictureOutcome.TAKEN_AWAY)
            pause = min(_LAST_LOOK_SECONDS, max(_FIRST_LOOK_SECONDS, age_ms / 2000))
            self._schedule(key, pause)

    async def _keep_shown(self, key: bytes, entry: CameraPicture, shown: PassPicture) -> None:
        if key in self._published and await self._store.has(shown.key):
            self._schedule(key, self._pace.check_seconds)
            return
        image = None if key in self._published else await self._store.fetch(shown.key)
        if image is None:
            await self._end(key, entry, PictureOutcome.TAKEN_AWAY)
        else:
            await self._show(key, entry, entry, image)

    async def _show(
        self, key: bytes, before: CameraPicture, after: CameraPicture, image: bytes
    ) -> None:
        """Have the broker keep an image, of which the table knows before the broker."""
        async with self._turn:
            if self._entry(key) == before:
                if after != before:
                    await self._table.put(key, encode(after), partition=after.partition)
                self._published.pop(key, None)
                await self._send(key, after, image)
        self._schedule(key, self._pace.check_seconds if key in self._published else 0)

    async def _send(self, key: bytes, entry: CameraPicture, image: bytes) -> None:
        try:
            await self._publish([Message(entry.topic, image, MessageKind.PICTURE)])
        except RefusedMessageError as error:
            log.warning(
                "mqtt_picture_refused",
                camera_id=str(entry.camera_id),
                bytes=len(image),
                error=str(error),
            )
            await self._forget(key, entry, None, PictureOutcome.REFUSED)
        else:
            self._published[key] = self._clock()
            self._metrics.picture(PictureOutcome.SHOWN)

    async def _end(self, key: bytes, entry: CameraPicture, outcome: PictureOutcome) -> None:
        await self._replace(key, entry, None, outcome)

    async def _replace(
        self, key: bytes, before: CameraPicture, after: CameraPicture | None, why: PictureOutcome
    ) -> None:
        """Have the broker keep nothing, unless the entry has changed meanwhile."""
        async with self._turn:
            if self._entry(key) == before:
                await self._forget(key, before, after, why)
            else:
                self._schedule(key, 0)

    async def _forget(
        self, key: bytes, before: CameraPicture, after: CameraPicture | None, why: PictureOutcome
    ) -> None:
        await self._publish(removals([before.topic]))
        value = None if after is None else encode(after)
        await self._table.put(key, value, partition=before.partition)
        self._published.pop(key, None)
        self._metrics.picture(why)

    def _is_of_these_settings(self, entry: CameraPicture) -> bool:
        """Return whether an entry is what would be made of its passes now."""
        kinds = {each.kind for each in (entry.wanted, entry.shown) if each is not None}
        topic = self._names.picture(entry.owner_id, entry.camera_id)
        return (
            kinds == {self._kind} and entry.topic == topic and self._scope.is_wanted(entry.owner_id)
        )

    def _empty_entry(self, one: NewPass) -> CameraPicture:
        owner, camera = one.recognition.owner_id, one.recognition.camera_id
        topic = self._names.picture(owner, camera)
        return CameraPicture(owner_id=owner, camera_id=camera, partition=one.partition, topic=topic)

    def _entry(self, key: bytes) -> CameraPicture | None:
        value = self._table.get(key)
        return None if value is None else decode(CameraPicture, value)

    def _schedule(self, key: bytes, seconds: float) -> None:
        at = self._clock() + max(0.0, seconds)
        self._due[key] = min(at, self._due.get(key, at))
        self._has_news.set()

    def _note_away(self, error: TransientError) -> None:
        if not self._is_away:
            log.warning("mqtt_pictures_wait", error=str(error))
        self._is_away = True

    def _note_back(self) -> None:
        if self._is_away:
            log.info("mqtt_pictures_go_on")
        self._is_away = False


def _key(camera_id: UUID) -> bytes:
    return str(camera_id).encode()
