"""Counts of what was erased, for the person who asked for it."""

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class ErasedRows:
    """Rows that were erased, in the order in which they were: of a plate, or of an owner."""

    recognitions: int
    triggers: int
    deliveries: int
    outcomes: int

    def __add__(self, other: "ErasedRows") -> "ErasedRows":
        """Return both together."""
        return ErasedRows(
            recognitions=self.recognitions + other.recognitions,
            triggers=self.triggers + other.triggers,
            deliveries=self.deliveries + other.deliveries,
            outcomes=self.outcomes + other.outcomes,
        )


class Misreading(NamedTuple):
    """A recognition that was read otherwise, and corrected to a plate by hand.

    ``captured_ms`` (Unix ms, UTC) and ``text`` tell which one it is.
    """

    captured_ms: int
    text: str


@dataclass(frozen=True)
class RemovedImages:
    """Counts of keys that are free now (also where no image was left), and of the others."""

    removed: int
    refused: int

    def __add__(self, other: "RemovedImages") -> "RemovedImages":
        """Return both together."""
        return RemovedImages(self.removed + other.removed, self.refused + other.refused)


@dataclass(frozen=True)
class ErasedPlate:
    """The result of erasing a plate.

    ``images`` is None where S3 did not answer.
    """

    rows: ErasedRows
    images: RemovedImages | None


@dataclass(frozen=True)
class ErasedOwner:
    """The result of erasing an owner in ClickHouse and in S3."""

    rows: ErasedRows
    images: int


@dataclass(frozen=True)
class EndedAccount:
    """Counts of what ended with an account."""

    sessions: int
    keys: int
    cameras: int
    alerts: int
    webhooks: int
    ledger_entries: int = 0

    def __add__(self, other: "EndedAccount") -> "EndedAccount":
        """Return both together."""
        return EndedAccount(
            sessions=self.sessions + other.sessions,
            keys=self.keys + other.keys,
            cameras=self.cameras + other.cameras,
            alerts=self.alerts + other.alerts,
            webhooks=self.webhooks + other.webhooks,
            ledger_entries=self.ledger_entries + other.ledger_entries,
        )
