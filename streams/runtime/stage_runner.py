"""Runs a stage's handlers so that no exception ever leaves the body of an agent.

An exception would make Faust release the message. Therefore the runner retries transient failures
and sends messages that can never be handled to the stage's dead-letter topic. A message is released
only after it was handled or stored on that topic. An event that is abandoned because the stage
stops or its partitions are reassigned is not released, and will be read again.

If order matters, abandoning an event also abandons all later events; see
:meth:`StageRunner.require_next`.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

import faust
import msgspec
import structlog

from common.errors import EXIT_TEMPORARY_FAILURE, InvalidInputError, TransientError
from common.records.codec import DeadLetter, encode
from common.retry import RateBound, RetryPolicy
from common.telemetry.messaging import processing
from common.timestamps import now_ms
from streams.runtime.app import Event, StageApp
from streams.runtime.process_exit import end_process
from streams.runtime.sending import send_and_wait

log = structlog.get_logger()


UNEXPECTED = "unexpected_error"
"""Error code of a message whose handler failed with an unexpected error."""

_REASON_CHARACTERS = 1000
_PAUSE_SLICE_SECONDS = 0.1
_WINDOW_SECONDS = 60.0

RETRY_SECONDS = 120.0
"""Time for which a message is retried while a dependency is unavailable. After that, the process
exits without committing, and is restarted."""
RETRY_PAUSE_SECONDS = 10.0
"""The longest pause between two attempts."""
DEAD_LETTERS_PER_MINUTE = 100
"""At a higher rate, the process exits, because messages are safer on their original topic."""


@dataclass(frozen=True, kw_only=True)
class MessageSource:
    """A message and its position in its topic."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


def dead_letter(
    stage: str, source: MessageSource, error: Exception, *, at_ms: int, max_bytes: int
) -> bytes:
    """Return the encoded dead letter, at most ``max_bytes`` long.

    A value that does not fit (base64 makes the value a third larger) is omitted. The topic, the
    partition and the offset still identify the message.
    """
    record = DeadLetter(
        stage=stage,
        topic=source.topic,
        partition=source.partition,
        offset=source.offset,
        code=_code(error),
        reason=_reason(error),
        at_ms=at_ms,
        key=source.key,
        value=source.value,
    )
    data = encode(record)
    if len(data) > max_bytes:
        size = len(record.value or b"")
        reason = f"{record.reason} (value of {size} bytes omitted: too large)"
        data = encode(msgspec.structs.replace(record, value=None, reason=reason))
    return data


def _code(error: Exception) -> str:
    return error.code if isinstance(error, InvalidInputError) else UNEXPECTED


def _reason(error: Exception) -> str:
    text = str(error) if isinstance(error, InvalidInputError) else repr(error)
    return text[:_REASON_CHARACTERS]


Handler = Callable[[Event], Awaitable[None]]
BatchHandler = Callable[[Sequence[Event]], Awaitable[None]]
DeadLetterSender = Callable[[bytes | None, bytes], Awaitable[None]]
"""Sends an encoded dead letter with a key. Returns once Kafka has stored the dead letter."""


class _StageStoppingError(Exception):
    """The stage stops or its partitions are reassigned, so the event is abandoned."""


class StageRunner:
    """Runs a stage's handlers. Each stage has one runner."""

    def __init__(
        self,
        app: StageApp,
        *,
        stage: str,
        send_dead_letter: DeadLetterSender,
        retry: RetryPolicy,
        dead_letters_per_minute: int,
        max_dead_letter_bytes: int,
        end: Callable[[int], NoReturn] = end_process,
    ) -> None:
        self._app = app
        self._stage = stage
        self._send_dead_letter = send_dead_letter
        self._retry = retry
        self._bound = RateBound(limit=dead_letters_per_minute, window_seconds=_WINDOW_SECONDS)
        self._max_dead_letter_bytes = max_dead_letter_bytes
        self._end = end
        self._waits: set[object] = set()

    @property
    def stage(self) -> str:
        """The name of the stage."""
        return self._stage

    @property
    def group(self) -> str:
        """The name of the stage's consumer group in Kafka."""
        return str(self._app.conf.id)

    async def run(self, event: Event, handler: Handler) -> None:
        """Handle one event, then release it, dead-letter it, or abandon it unreleased."""
        with processing(event.message, self.group):
            await self.run_batch([event], lambda events: handler(events[0]))

    async def run_batch(self, events: Sequence[Event], handler: BatchHandler) -> None:
        """Handle events together and release them.

        ``handler`` must be repeatable. If ``handler`` fails permanently, the batch is halved until
        the failing events are isolated. These events become dead letters.
        """
        try:
            await self._run_parts(events, handler)
        except _StageStoppingError:
            log.info("events_abandoned", stage=self._stage, count=len(events))

    def require_next(self, event: Event) -> None:
        """Abandon the event unless all earlier events of its partition are released.

        Handlers whose results must be sent in order call this method before they publish anything.
        If a later event was processed although an earlier event was abandoned, readers that store
        their progress would ignore the replay of the earlier event.
        """
        if not self._app.is_next(event):
            raise _StageStoppingError

    async def reject(self, event: Event, error: Exception) -> None:
        """Send the event to the dead-letter topic because of ``error``, then release the event."""
        try:
            await self._reject(event, error)
        except _StageStoppingError:
            log.info("events_abandoned", stage=self._stage, count=1)

    async def _run_parts(self, events: Sequence[Event], handler: BatchHandler) -> None:
        error = await self._failure_of(events, handler)
        if error is not None:
            await self._isolate(events, handler, error)
            return
        for event in events:
            self._app.release(event)

    async def _failure_of(self, events: Sequence[Event], handler: BatchHandler) -> Exception | None:
        try:
            await self._attempt(lambda: handler(events))
        except _StageStoppingError:
            raise
        except InvalidInputError as error:
            return error
        except Exception as error:
            log.exception("handler_failed", stage=self._stage, count=len(events))
            return error
        return None

    async def _isolate(
        self, events: Sequence[Event], handler: BatchHandler, error: Exception
    ) -> None:
        if len(events) == 1:
            await self._reject(events[0], error)
            return
        middle = len(events) // 2
        await self._run_parts(events[:middle], handler)
        await self._run_parts(events[middle:], handler)

    async def send_to_dead_letters(self, source: MessageSource, error: Exception) -> None:
        """Send a message that no agent received to the dead letters; return once Kafka stored it.

        Raises:
            TransientError: the stage is stopping, or its partitions are being reassigned.
        """
        try:
            await self._send_to_dead_letters(source, error)
        except _StageStoppingError as leaving:
            raise TransientError("the stage is shutting down") from leaving

    async def _reject(self, event: Event, error: Exception) -> None:
        await self._send_to_dead_letters(source_of(event), error)
        self._app.release(event)

    async def _send_to_dead_letters(self, source: MessageSource, error: Exception) -> None:
        log.warning(
            "message_dead_lettered",
            stage=self._stage,
            topic=source.topic,
            partition=source.partition,
            offset=source.offset,
            error=type(error).__name__,
        )
        if self._bound.is_exceeded_by(time.monotonic()):
            log.error("too_many_dead_letters", stage=self._stage)
            self._end(EXIT_TEMPORARY_FAILURE)
        letter = dead_letter(
            self._stage,
            source,
            error,
            at_ms=now_ms(),
            max_bytes=self._max_dead_letter_bytes,
        )
        await self._attempt(lambda: self._send_dead_letter(source.key, letter))
        self._app.metrics.dead_letters.labels(_code(error)).inc()

    async def _attempt(self, operation: Callable[[], Awaitable[None]]) -> None:
        started, wait = time.monotonic(), object()
        failures = 0
        try:
            while not self._app.is_leaving:
                try:
                    return await operation()
                except TransientError as error:
                    failures += 1
                    self._waits.add(wait)
                    await self._wait_out(error, failures, time.monotonic() - started)
            raise _StageStoppingError
        finally:
            # Another agent may still be waiting for the dependency.
            self._waits.discard(wait)
            self._app.is_waiting = bool(self._waits)

    async def _wait_out(self, error: TransientError, failures: int, elapsed: float) -> None:
        self._app.is_waiting = True
        self._app.metrics.failures.inc()
        if self._retry.is_exhausted(elapsed):
            log.error("retries_exhausted", stage=self._stage, failures=failures, error=str(error))
            self._end(EXIT_TEMPORARY_FAILURE)
        pause = self._retry.pause_seconds(failures)
        log.warning(
            "transient_failure",
            stage=self._stage,
            failures=failures,
            pause_seconds=round(pause, 2),
            error=str(error),
        )
        await self._pause(pause)

    async def _pause(self, seconds: float) -> None:
        for _ in range(math.ceil(seconds / _PAUSE_SLICE_SECONDS)):
            if self._app.is_leaving:
                return
            await asyncio.sleep(_PAUSE_SLICE_SECONDS)


def source_of(event: Event) -> MessageSource:
    """Return the origin of an event, with its raw key and value."""
    message = event.message
    return MessageSource(
        topic=message.topic,
        partition=message.partition,
        offset=message.offset,
        key=message.key,
        value=message.value,
    )


def build_runner(
    app: StageApp, *, stage: str, dead_letters: faust.TopicT, gives_up: bool = True
) -> StageRunner:
    """Return the runner of a stage, built from its settings.

    If ``gives_up`` is false, the runner retries forever. ``dead_letters`` is the dead-letter topic.
    """

    async def send(key: bytes | None, value: bytes) -> None:
        await send_and_wait(dead_letters, key=key, value=value)

    return StageRunner(
        app,
        stage=stage,
        send_dead_letter=send,
        retry=RetryPolicy(
            longest_pause_seconds=RETRY_PAUSE_SECONDS,
            bound_seconds=RETRY_SECONDS if gives_up else None,
        ),
        dead_letters_per_minute=DEAD_LETTERS_PER_MINUTE,
        # Leave space for the record's key and Kafka's own framing.
        max_dead_letter_bytes=app.settings.kafka_max_message_bytes - 16_384,
    )
