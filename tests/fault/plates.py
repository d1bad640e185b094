"""Recognitions at a fixed rate, published as the recognition stage does."""

import math
import threading
import time
from typing import Any
from uuid import UUID, uuid4

import msgspec

from common.kafka.clients import open_producer, topic_name
from common.records.alerts import ProvisionalRecognition
from common.records.codec import Record, encode
from common.records.ids import recognition_id
from common.records.recognitions import Recognition
from common.records.topics import RECOGNITIONS, SIGHTINGS
from common.settings import KafkaSettings
from common.timestamps import now_ms
from tests.blocks import RunsForABlock
from tests.fault.early_passes import LASTS_MS, EarlyPass, early_pass, ends_after_seconds
from tests.records import recognition

REGULARS = tuple(f"RG0000{number}" for number in range(8))
"""Plates that appear repeatedly; every other plate appears once."""

_REGULAR_EVERY = 3
_EARLY_EVERY = 4
_LATE_EVERY = 25
_LATE_MS = 3_600_000
_CAMERAS = 4
_TAKEN_SECONDS = 600
_MAX_BLOCK_MS = 600_000


class Plates(RunsForABlock):
    """Sends unique plates. Every third plate is a known one, every 25th is an hour late, and every
    fourth pass is published before its end.

    Recognitions are not lost, however long Kafka is unavailable. As a context manager, the class
    sends until the end of the block.
    """

    def __init__(self, kafka: KafkaSettings, owner_id: UUID, *, rate_hz: float, first: int) -> None:
        """Take the account, the number of plates per second, and the number of the first plate."""
        self._recognitions = topic_name(kafka, RECOGNITIONS)
        self._provisional_topic = topic_name(kafka, SIGHTINGS)
        self._producer = open_producer(kafka, "fault-plates", max_block_ms=_MAX_BLOCK_MS)
        self._owner_id = owner_id
        self._pause_seconds = 1 / rate_hz
        self.begun = first
        """The number of the next plate."""
        self._cameras = tuple(uuid4() for _ in range(_CAMERAS))
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._error: Exception | None = None
        self._futures: list[Any] = []
        self._in_flight: list[tuple[float, EarlyPass]] = []
        self._lasting = ends_after_seconds()
        self.sent: list[Recognition] = []
        """The recognitions in the order in which they were sent."""
        self.sent_at: dict[UUID, float] = {}
        """Time of sending by recognition (monotonic s), even if Kafka accepted the record later."""

    def _run(self) -> None:
        due = time.monotonic()
        try:
            while not self._over.wait(max(0.0, due - time.monotonic())):
                due = max(due + self._pause_seconds, time.monotonic())
                self._send_next()
                self._end_passes(until=time.monotonic())
            self._end_passes(until=math.inf)
            for future in self._futures:
                future.get(_TAKEN_SECONDS)
        # The thread that waits for this thread raises the error.
        except Exception as error:
            self._error = error

    def _send_next(self) -> None:
        number, self.begun = self.begun, self.begun + 1
        if number % _EARLY_EVERY:
            self._send(self._next(number))
            return
        turn = number // _EARLY_EVERY
        camera_id = self._cameras[turn % _CAMERAS]
        # The pass begins ``LASTS_MS`` ago, so that none of its capture times is in the future.
        begun = early_pass(turn, self._owner_id, camera_id, now_ms() - LASTS_MS)
        self._send_provisional(begun.provisional)
        self._in_flight.append((time.monotonic() + next(self._lasting), begun))

    def _end_passes(self, until: float) -> None:
        over = [each for at, each in self._in_flight if at <= until]
        self._in_flight = [(at, each) for at, each in self._in_flight if at > until]
        for each in over:
            if each.recognition is not None:
                self._send(each.recognition)
            if each.resolution is not None:
                # The recognition that this record refers to must be published first.
                self._futures[-1].get(_TAKEN_SECONDS)
                self._send_provisional(each.resolution)

    def _send(self, seen: Recognition) -> None:
        self.sent.append(seen)
        self.sent_at[seen.id] = time.monotonic()
        self._put(self._recognitions, seen, seen)

    def _send_provisional(self, provisional: ProvisionalRecognition) -> None:
        self._put(self._provisional_topic, provisional, provisional.recognition)

    def _put(self, topic: str, record: Record, seen: Recognition) -> None:
        key = str(seen.camera_id).encode()
        self._futures.append(self._producer.send(topic, encode(record), key))

    def _next(self, number: int) -> Recognition:
        is_regular = number % _REGULAR_EVERY == 0
        plate = REGULARS[number // _REGULAR_EVERY % len(REGULARS)]
        captured_ms = now_ms() - (_LATE_MS if not number % _LATE_EVERY else 0)
        camera_id = self._cameras[number % _CAMERAS]
        return msgspec.structs.replace(
            recognition(number, captured_ms=captured_ms),
            id=recognition_id(captured_ms, camera_id, str(number)),
            owner_id=self._owner_id,
            camera_id=camera_id,
            plate=plate if is_regular else f"FA{number:06}",
            photo_key=None,
            crop_key=None,
        )

    def _begin(self) -> None:
        self._thread.start()

    def _end(self, error: BaseException | None) -> None:
        self._over.set()
        self._thread.join()
        self._producer.close()
        del self._producer
        if self._error and error is None:
            raise AssertionError("a recognition could not be sent") from self._error
