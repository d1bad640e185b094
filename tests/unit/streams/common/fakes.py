"""A stage without Kafka: just enough of an app and its events for the guard."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import cast

from streams.common.app import Event, StageApp
from streams.common.metrics import StageMetrics
from streams.common.offsets import PartitionProgress


class FakeApp:
    """What the guard needs of an app; remembers what was released."""

    def __init__(self) -> None:
        self.is_leaving = False
        self.is_waiting = False
        self.metrics = StageMetrics()
        self.released: list[int] = []
        self._progress: defaultdict[int, PartitionProgress] = defaultdict(PartitionProgress)

    def deliver(self, *events: Event) -> None:
        """Note that the events go to the stage."""
        for each in events:
            self._progress[each.message.partition].delivered(each.message.offset)

    def release(self, event: Event) -> None:
        """Remember the event's offset."""
        self.released.append(event.message.offset)
        self._progress[event.message.partition].done(event.message.offset)

    def is_next(self, event: Event) -> bool:
        """Return whether all that was delivered before the event is released."""
        return self._progress[event.message.partition].is_next(event.message.offset)

    def as_app(self) -> StageApp:
        """Pose as the real one."""
        return cast(StageApp, self)


@dataclass(eq=False)
class FakeEvent:
    """An event with its message."""

    message: SimpleNamespace
    value: bytes | None = field(default=None)


def event(
    offset: int,
    value: bytes | None = b"value",
    key: bytes | None = b"key",
    headers: Mapping[str, bytes] | None = None,
    partition: int = 3,
) -> Event:
    """Return an event of ``things``."""
    message = SimpleNamespace(
        topic="things", partition=partition, offset=offset, key=key, value=value, headers=headers
    )
    return cast(Event, FakeEvent(message, value))
