"""Gives the records of one topic to Kafka's client, which may make its callers wait."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

import structlog
from kafka.errors import KafkaError, KafkaTimeoutError

from ingest.handover import Handover

log = structlog.get_logger(__name__)

_OVERHEAD_BYTES: Final = 1_024
_TRY_AGAIN_SECONDS: Final = 0.05
_PICTURES_WAIT_SECONDS: Final = 5.0
_ODD_ERRORS_SECONDS: Final = 5.0
_TELL_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Record:
    """What is sent of one camera. ``made_seconds`` is monotonic."""

    camera_id: UUID
    value: bytes | None
    headers: list[tuple[str, bytes]] = field(default_factory=list)
    made_seconds: float = field(default_factory=time.monotonic)

    @property
    def key(self) -> bytes:
        """Kafka's key: the camera."""
        return str(self.camera_id).encode("ascii")

    @property
    def size_bytes(self) -> int:
        """How much it takes of Kafka and of memory, about."""
        return len(self.value or b"") + _OVERHEAD_BYTES


class TopicSender:
    """Has a thread of its own wait in the place of all others. Thread-safe.

    kafka-python's send waits where it does not know the topic, as while a broker comes back. What
    comes meanwhile waits here, in its order; a picture for some seconds, as later ones are worth
    more.
    """

    def __init__(
        self,
        producer: Any,
        topic: str,
        *,
        has_pictures: bool,
        arrived: Callable[[Record], None],
        lost: Callable[[Record, BaseException], None],
    ) -> None:
        """Start the thread. Of each record ``arrived`` or ``lost`` is called, by any thread."""
        self._producer = producer
        self._topic = topic
        self._has_pictures = has_pictures
        self._arrived = arrived
        self._lost = lost
        self._is_ending = threading.Event()
        self._is_named = True
        self._tell_seconds = 0.0
        self._line: Handover[Record] = Handover(f"sender-{topic}", self._hand_on)

    def put(self, record: Record) -> None:
        """Have a record sent. Returns at once."""
        self._line.put(record)

    def end(self) -> None:
        """Give up what cannot be handed on, and end. Returns at once."""
        self._is_ending.set()
        self._line.end()

    def join(self, timeout_seconds: float) -> None:
        """Wait for the end, no longer than that."""
        self._line.join(timeout_seconds)

    def _hand_on(self, record: Record) -> None:
        try:
            self._send(record)
        except (KafkaError, ValueError, KeyError, TypeError) as error:
            self._lost(record, error)

    def _send(self, record: Record) -> None:
        began_seconds = time.monotonic()
        while True:
            self._require_fresh(record)
            try:
                future = self._producer.send(
                    self._topic, key=record.key, value=record.value, headers=record.headers
                )
            except KafkaTimeoutError:
                self._is_named = False
                self._tell()
                if self._is_ending.is_set():
                    raise
            except (ValueError, KeyError, TypeError):
                # kafka-python 3.0.12, where it hears in this very moment that there is no such
                # topic; a record that is wrong itself is not tried for ever.
                is_too_long = time.monotonic() - began_seconds > _ODD_ERRORS_SECONDS
                if is_too_long or self._is_ending.is_set():
                    raise
            else:
                self._is_named = True
                future.add_callback(lambda _: self._arrived(record))
                future.add_errback(lambda error: self._lost(record, error))
                return
            self._is_ending.wait(_TRY_AGAIN_SECONDS)

    def _require_fresh(self, record: Record) -> None:
        if self._is_ending.is_set() and not self._is_named:
            raise KafkaTimeoutError("Kafka does not name the topic")
        waited_seconds = time.monotonic() - record.made_seconds
        if self._has_pictures and record.value and waited_seconds > _PICTURES_WAIT_SECONDS:
            raise KafkaTimeoutError("the picture is too old by now")

    def _tell(self) -> None:
        if (now_seconds := time.monotonic()) >= self._tell_seconds:
            self._tell_seconds = now_seconds + _TELL_SECONDS
            log.warning("topic_not_named", topic=self._topic)
