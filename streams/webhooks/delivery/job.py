"""Defines the states of a delivery in progress, and passes deliveries to the dispatcher."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum, auto
from typing import Final

import msgspec
import structlog
from faust.types import Message

from common.errors import InvalidInputError
from common.records.codec import decode
from common.records.deliveries import Delivery
from common.telemetry.messaging import message_trace
from streams.runtime.app import Event
from streams.runtime.stage_runner import StageRunner
from streams.webhooks.delivery.pending import PendingLimits
from streams.webhooks.delivery.queues import QueueRules
from streams.webhooks.delivery.schedule import SendResult

log = structlog.get_logger()

SendDelivery = Callable[[Delivery, int], Awaitable[SendResult]]
"""Makes an attempt, given the attempt's number (from 1). Receivers' errors never raise."""


@dataclass(frozen=True, kw_only=True)
class DispatchRules:
    """The limits of a dispatcher. ``pauses_seconds`` are the pauses between attempts.

    A delivery is written to the table if it waits for its turn longer than ``store_after_seconds``,
    or if more than ``max_unstored`` deliveries are in memory.
    """

    queues: QueueRules
    pending: PendingLimits
    pauses_seconds: tuple[float, ...]
    # Writing to the table is more expensive than waiting, so a burst of deliveries should wait.
    store_after_seconds: float = 15.0
    max_unstored: int = 5_000


class DeliveryState(StrEnum):
    """The states of a delivery in progress. Only the dispatcher changes them."""

    QUEUED = auto()
    """The delivery waits for its turn."""
    STORING = auto()
    """The delivery waits for its turn, and must be written to the table."""
    DISPLACED = auto()
    """The delivery is being written to the table after a rebalance removed it from the queue."""
    ATTEMPTING = auto()
    """An attempt is running."""
    RECORDING = auto()
    """The attempt has ended or was rejected, and its outcome must be written."""
    STORED = auto()
    """The delivery is only in the table. A job created from the table starts in this state."""
    DONE = auto()
    """The last attempt of the delivery has been recorded."""
    LEFT_TO_REPLAY = auto()
    """The job was dropped without a write. Its message or table entry will be read again."""

    @property
    def is_in_progress(self) -> bool:
        """Whether an attempt is running or its outcome has not been written yet."""
        return self in (DeliveryState.ATTEMPTING, DeliveryState.RECORDING)

    @property
    def is_to_be_stored(self) -> bool:
        """Whether the delivery must still be written to the table of pending deliveries."""
        return self in (DeliveryState.STORING, DeliveryState.DISPLACED)


_S = DeliveryState
TRANSITIONS: Final[Mapping[DeliveryState, frozenset[DeliveryState]]] = {
    _S.QUEUED: frozenset({_S.STORING, _S.ATTEMPTING, _S.RECORDING, _S.LEFT_TO_REPLAY}),
    _S.STORING: frozenset({_S.STORED, _S.ATTEMPTING, _S.DISPLACED, _S.LEFT_TO_REPLAY}),
    # An attempt follows if the table, after being read again, already contains the delivery.
    _S.DISPLACED: frozenset({_S.STORED, _S.ATTEMPTING, _S.LEFT_TO_REPLAY}),
    _S.ATTEMPTING: frozenset({_S.RECORDING}),
    _S.RECORDING: frozenset({_S.STORED, _S.DONE, _S.LEFT_TO_REPLAY}),
    _S.STORED: frozenset({_S.ATTEMPTING}),
    _S.DONE: frozenset(),
    _S.LEFT_TO_REPLAY: frozenset(),
}
"""The states that can follow each state."""


class ForbiddenTransitionError(Exception):
    """A bug: a delivery was about to enter a state that must not follow the current state."""


@dataclass(eq=False)
class DeliveryJob:
    """A delivery in progress, for one attempt. ``events`` are unacknowledged messages.

    ``is_in_table``: this worker's table contains the delivery, so its messages may be acknowledged.
    ``attempts`` counts completed attempts. ``accepted_seconds`` is on the monotonic clock.
    """

    key: bytes
    delivery: Delivery
    partition: int
    attempts: int = 0
    accepted_seconds: float = 0.0
    events: list[Event] = field(default_factory=list)
    state: DeliveryState = DeliveryState.QUEUED
    is_in_table: bool = False

    def enter(self, state: DeliveryState) -> None:
        """Change to another state.

        Raises:
            ForbiddenTransitionError: ``state`` must not follow the current state.
        """
        if state not in TRANSITIONS[self.state]:
            raise ForbiddenTransitionError(f"{self.state.name} -> {state.name}")
        self.state = state


class DeliveryIntake:
    """Offers deliveries to the dispatcher one by one. Unreadable messages become dead letters."""

    def __init__(
        self, runner: StageRunner, offer: Callable[[Delivery, Event], Awaitable[None]]
    ) -> None:
        """``offer`` accepts a delivery and its event, like :meth:`Dispatcher.offer`."""
        self._runner = runner
        self._offer = offer

    async def take(self, event: Event) -> None:
        """Offer one delivery, or send its message to the dead letters. Never raises."""
        try:
            await self._offer(_read(event.message), event)
        except InvalidInputError as error:
            await self._runner.reject(event, error)
        except Exception as error:
            # Catch-all: an agent must not raise.
            log.exception("delivery_intake_failed")
            await self._runner.reject(event, error)


def _read(message: Message) -> Delivery:
    """Return a message's delivery, with the message's trace unless the delivery has a trace."""
    delivery = decode(Delivery, message.value or b"")
    trace = None if delivery.trace else message_trace(message)
    return delivery if trace is None else msgspec.structs.replace(delivery, trace=trace.traceparent)
