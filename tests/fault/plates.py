"""Recognitions at a set rate, published as the recognition stage does."""

import threading
import time
from types import TracebackType
from typing import Self
from uuid import UUID, uuid4

import msgspec
from kafka import KafkaProducer

from contracts.ids import recognition_id
from contracts.kafka import producer_options, topic_name
from contracts.records import Recognition, encode
from contracts.settings import KafkaSettings
from contracts.topics import RECOGNITIONS
from tests.records import recognition

REGULARS = tuple(f"RG0000{number}" for number in range(8))
"""Plates that come again and again; all others come once."""

_REGULAR_EVERY = 3
_LATE_EVERY = 25
_LATE_MS = 3_600_000
_CAMERAS = 4
_TAKEN_SECONDS = 600
_MAX_BLOCK_MS = 600_000


class Plates:
    """Sends unique plates, every third of them one that is known, every 25th an hour late.

    Nothing that it has begun to send is lost, however long Kafka is away. Use it as a context
    manager: it sends until the end of the block.
    """

    def __init__(self, kafka: KafkaSettings, owner_id: UUID, *, rate_hz: float, first: int) -> None:
        """Take the owner, how many a second, and the number of the first plate."""
        self._topic = topic_name(kafka, RECOGNITIONS)
        self._producer = KafkaProducer(
            **producer_options(kafka, "fault-plates"), max_block_ms=_MAX_BLOCK_MS
        )
        self._owner_id = owner_id
        self._pause_seconds = 1 / rate_hz
        self._first = first
        self._cameras = tuple(uuid4() for _ in range(_CAMERAS))
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._error: Exception | None = None
        self.sent: list[Recognition] = []
        """In the order in which they went out."""

    def _run(self) -> None:
        futures = []
        due = time.monotonic()
        try:
            while not self._over.wait(max(0.0, due - time.monotonic())):
                due = max(due + self._pause_seconds, time.monotonic())
                seen = self._next()
                self.sent.append(seen)
                futures.append(self._producer.send(self._topic, encode(seen), _key(seen)))
            for future in futures:
                future.get(_TAKEN_SECONDS)
        # Told by the thread that waits for this one.
        except Exception as error:
            self._error = error

    def _next(self) -> Recognition:
        number = self._first + len(self.sent)
        is_regular = number % _REGULAR_EVERY == 0
        plate = REGULARS[number // _REGULAR_EVERY % len(REGULARS)]
        captured_ms = time.time_ns() // 1_000_000 - (_LATE_MS if not number % _LATE_EVERY else 0)
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

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()
        self._producer.close()
        del self._producer
        if self._error and error is None:
            raise AssertionError("a recognition could not be sent") from self._error


def _key(seen: Recognition) -> bytes:
    return str(seen.camera_id).encode()
