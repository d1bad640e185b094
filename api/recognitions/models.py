"""What the list of recognitions is asked and where a page ends."""

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True)
class RecognitionQuery:
    """Which of an owner's recognitions are wanted; None: whatever it is.

    ``plate`` is normalised and matches as a substring. Times are Unix ms, UTC; ``from_ms`` is
    inclusive, ``to_ms`` exclusive.
    """

    owner_id: UUID
    plate: str | None = None
    camera_id: UUID | None = None
    from_ms: int | None = None
    to_ms: int | None = None


@dataclass(frozen=True)
class Position:
    """A recognition's place in the order of the list: capture time, then id."""

    captured_ms: int
    id: UUID
