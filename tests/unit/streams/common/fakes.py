"""A stage without Kafka: just enough of an app and its events for the guard."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import cast

from streams.common.app import Event, StageApp
from streams.common.metrics import StageMetrics


class FakeApp:
    """What the guard needs of an app; remembers what was released."""

    def __init__(self) -> None:
        self.is_leaving = False
        self.is_waiting = False
        self.metrics = StageMetrics()
        self.released: list[int] = []

    def release(self, event: Event) -> None:
        """Remember the event's offset."""
        self.released.append(event.message.offset)

    def as_app(self) -> StageApp:
        """Pose as the real one."""
        return cast(StageApp, self)


@dataclass(eq=False)
class FakeEvent:
    """An event with its message."""

    message: SimpleNamespace
    value: bytes | None = field(default=None)


def event(offset: int, value: bytes | None = b"value", key: bytes | None = b"key") -> Event:
    """Return an event of partition 3 of ``things``."""
    message = SimpleNamespace(topic="things", partition=3, offset=offset, key=key, value=value)
    return cast(Event, FakeEvent(message, value))
