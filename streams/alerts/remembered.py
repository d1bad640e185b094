"""What the table remembers of cooldowns and of passes, with the changes of a batch on top."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

import structlog

from alert_rules.cooldown import Firings, scope_of
from alert_rules.passes import PassState
from contracts.alert_records import AlertCandidate
from contracts.errors import UnknownRecordVersionError
from contracts.plates import normalise_plate
from contracts.records import Record, decode, encode

log = structlog.get_logger()

R = TypeVar("R", bound=Record)


class FiringTable(Protocol):
    """Encoded :class:`Firings` by cooldown, and :class:`PassState` by alert and pass."""

    def get(self, key: bytes, /) -> bytes | None:
        """Return what is remembered, None at first."""

    async def put(self, key: bytes, value: bytes | None, /, *, partition: int) -> None:
        """Write what is to be remembered; returns once Kafka has it."""


@dataclass(frozen=True)
class Arrival:
    """A candidate, and the partition that it came on."""

    partition: int
    candidate: AlertCandidate

    @property
    def scope(self) -> str:
        """What the cooldown of its alert holds back within it."""
        passed = self.candidate.passed
        plate = normalise_plate(passed.plate)
        return scope_of(self.candidate.alert, passed.camera_id, plate)

    def key(self, scope: str) -> bytes:
        """Return the table's key: partition, alert, and what is meant within it."""
        return f"{self.partition}|{self.candidate.alert.alert_id}|{scope}".encode()

    @property
    def pass_key(self) -> bytes:
        """The table's key of alert and pass; no plate looks like it."""
        return self.key(f"pass {self.candidate.recognition.id}")


class Remembered:
    """The table as it is after what has been decided on of one batch."""

    def __init__(self, table: FiringTable) -> None:
        """Begin without changes."""
        self._table = table
        self._known: dict[bytes, Firings] = {}
        self._firings: dict[bytes, tuple[int, Firings]] = {}
        self._passes: dict[bytes, tuple[int, PassState]] = {}

    def firings(self, key: bytes) -> Firings:
        """Return what is remembered of a cooldown."""
        if key in self._firings:
            return self._firings[key][1]
        if key not in self._known:
            self._known[key] = self._read(Firings, key) or Firings()
        return self._known[key]

    def pass_state(self, arrival: Arrival) -> PassState | None:
        """Return what is remembered of a candidate's alert and pass."""
        key = arrival.pass_key
        return self._passes[key][1] if key in self._passes else self._read(PassState, key)

    def keep_firings(self, partition: int, key: bytes, after: Firings) -> None:
        """Change what is remembered of a cooldown, unless it is the very object that it was."""
        if after is not self.firings(key):
            self._firings[key] = (partition, after)

    def keep_pass(self, arrival: Arrival, after: PassState) -> None:
        """Change what is remembered of a candidate's alert and pass."""
        self._passes[arrival.pass_key] = (arrival.partition, after)

    async def write(self) -> None:
        """Write the changes, cooldowns first; returns once Kafka has them.

        Raises:
            TransientError: Kafka is away.
        """
        await self._put_all(self._firings)
        await self._put_all(self._passes)

    async def _put_all(self, changed: Mapping[bytes, tuple[int, Record]]) -> None:
        await asyncio.gather(
            *(
                self._table.put(key, encode(after), partition=partition)
                for key, (partition, after) in changed.items()
            )
        )

    def _read(self, kind: type[R], key: bytes) -> R | None:
        data = self._table.get(key)
        if data is None:
            return None
        try:
            return decode(kind, data)
        except UnknownRecordVersionError:
            # Written by another release: the alert may fire once more than its cooldown says.
            log.warning("cooldown_dropped", key=key.decode(errors="replace").split("|")[1])
            return None
