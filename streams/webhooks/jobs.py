"""A delivery in hand, and the rules of the dispatcher. Plain values."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from contracts.deliveries import Delivery
from streams.common.app import Event
from streams.webhooks.bounds import PendingBounds
from streams.webhooks.queues import QueueRules
from streams.webhooks.schedule import SendResult

Send = Callable[[Delivery, int], Awaitable[SendResult]]
"""Tries a delivery, given the number of the attempt; never raises for what a receiver does."""


class Stage(Protocol):
    """What deliveries need of the app."""

    @property
    def is_leaving(self) -> bool:
        """Whether nothing new should be begun."""

    def release(self, event: Event) -> None:
        """Acknowledge a message."""


@dataclass(frozen=True, kw_only=True)
class DispatchRules:
    """``pauses_seconds`` lie between the attempts of a delivery.

    A delivery that waits for its turn longer than ``patience_seconds`` goes to the table, as does
    each one beyond ``most_unkept`` at once.
    """

    queues: QueueRules
    pending: PendingBounds
    pauses_seconds: tuple[float, ...]
    # Writing to the table costs more than waiting: a burst must not pay it for all that it brings.
    patience_seconds: float = 15.0
    most_unkept: int = 5_000


@dataclass(eq=False)
class Job:
    """A delivery in hand, for one attempt. ``events`` are its messages, not yet acknowledged.

    It is kept once it is in the table, told once its attempt is on its topic.
    """

    key: bytes
    delivery: Delivery
    partition: int
    attempts: int = 0
    taken_seconds: float = 0.0
    events: list[Event] = field(default_factory=list)
    is_under_way: bool = False
    is_being_kept: bool = False
    is_being_put: bool = False
    is_kept: bool = False
    is_told: bool = False
