"""A delivery in hand: its states, and its way from a message to the dispatcher."""

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
"""Makes an attempt, given its number from 1; never raises for what a receiver does."""


@dataclass(frozen=True, kw_only=True)
class DispatchRules:
    """The limits of a dispatcher. ``pauses_seconds`` lie between the attempts of a delivery.

    A delivery that waits for its turn longer than ``store_after_seconds`` goes to the table, as
    does each one beyond ``max_unstored``.
    """

    queues: QueueRules
    pending: PendingLimits
    pauses_seconds: tuple[float, ...]
    # Writing to the table costs more than waiting: a burst must not pay it for all that it brings.
    store_after_seconds: float = 15.0
    max_unstored: int = 5_000


class DeliveryState(StrEnum):
    """The states of a delivery in hand. Only the dispatcher changes them."""

    QUEUED = auto()
    """Waits for its turn."""
    STORING = auto()
    """Waits for its turn, and is to be put into the table."""
    DISPLACED = auto()
    """Is on its way into the table; a rebalance took its place in the queue meanwhile."""
    ATTEMPTING = auto()
    """An attempt is under way."""
    RECORDING = auto()
    """The attempt has ended (or was refused); its outcome is to be written."""
    STORED = auto()
    """Waits in the table alone. A job made from the table begins here."""
    DONE = auto()
    """Its last attempt is recorded."""
    LEFT_TO_REPLAY = auto()
    """Let go of unwritten: its message, or its entry in the table, is read again."""

    @property
    def is_in_progress(self) -> bool:
        """True from its turn until its outcome is written."""
        return self in (DeliveryState.ATTEMPTING, DeliveryState.RECORDING)

    @property
    def is_to_be_stored(self) -> bool:
        """True while it is to be put into the table as one that waits."""
        return self in (DeliveryState.STORING, DeliveryState.DISPLACED)


_S = DeliveryState
TRANSITIONS: Final[Mapping[DeliveryState, frozenset[DeliveryState]]] = {
    _S.QUEUED: frozenset({_S.STORING, _S.ATTEMPTING, _S.RECORDING, _S.LEFT_TO_REPLAY}),
    _S.STORING: frozenset({_S.STORED, _S.ATTEMPTING, _S.DISPLACED, _S.LEFT_TO_REPLAY}),
    # Its turn comes once more where the table, read again, had it already.
    _S.DISPLACED: frozenset({_S.STORED, _S.ATTEMPTING, _S.LEFT_TO_REPLAY}),
    _S.ATTEMPTING: frozenset({_S.RECORDING}),
    _S.RECORDING: frozenset({_S.STORED, _S.DONE, _S.LEFT_TO_REPLAY}),
    _S.STORED: frozenset({_S.ATTEMPTING}),
    _S.DONE: frozenset(),
    _S.LEFT_TO_REPLAY: frozenset(),
}
"""The states that may follow each state."""


class ForbiddenTransitionError(Exception):
    """A delivery was to enter a state that may not follow its present one: a fault of ours."""


@dataclass(eq=False)
class DeliveryJob:
    """A delivery in hand, for one attempt. ``events`` are its messages, not yet acknowledged.

    ``is_in_table``: this worker's table has it, so that its messages may be acknowledged.
    ``attempts`` counts those that have ended; ``accepted_seconds`` is on the monotonic clock.
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
        """Change the state.

        Raises:
            ForbiddenTransitionError: that state may not follow the present one.
        """
        if state not in TRANSITIONS[self.state]:
            raise ForbiddenTransitionError(f"{self.state.name} -> {state.name}")
        self.state = state


class DeliveryIntake:
    """Offers deliveries to the dispatcher, message by message; unreadable ones are dead letters."""

    def __init__(
        self, runner: StageRunner, offer: Callable[[Delivery, Event], Awaitable[None]]
    ) -> None:
        """``offer`` takes a delivery with its message, and has that acknowledged when it may be."""
        self._runner = runner
        self._offer = offer

    async def take(self, event: Event) -> None:
        """Offer one delivery, or dead-letter and release its message. Never raises."""
        try:
            await self._offer(_read(event.message), event)
        except InvalidInputError as error:
            await self._runner.reject(event, error)
        except Exception as error:
            # The edge of the agent, which must not raise.
            log.exception("delivery_intake_failed")
            await self._runner.reject(event, error)


def _read(message: Message) -> Delivery:
    """Return the delivery that a message holds, with its trace: one that it had before stays."""
    delivery = decode(Delivery, message.value or b"")
    trace = None if delivery.trace else message_trace(message)
    return delivery if trace is None else msgspec.structs.replace(delivery, trace=trace.traceparent)
