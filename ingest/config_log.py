"""Which cameras this worker has, from the compacted log of their configuration."""

from dataclasses import dataclass
from uuid import UUID

from contracts.cameras import CameraConfig


@dataclass(frozen=True)
class ConfigChange:
    """A camera of a partition is to be as ``config`` says, or (None) is gone."""

    partition: int
    camera_id: UUID
    config: CameraConfig | None


class ConfigLog:
    """Holds back what a partition's log tells until its end is reached.

    The log may hold many versions of one camera; only the last may start a capture. Once at the
    end, each change goes through at once.
    """

    def __init__(self) -> None:
        """Start without partitions."""
        self._catching_up: dict[int, tuple[int, dict[UUID, ConfigChange]]] = {}
        self._following: set[int] = set()

    @property
    def catching_up(self) -> frozenset[int]:
        """Partitions whose end was not reached yet."""
        return frozenset(self._catching_up)

    def has(self, partition: int) -> bool:
        """Return whether a partition is ours."""
        return partition in self._following or partition in self._catching_up

    def assigned(self, partition: int, end_offset: int) -> None:
        """Begin with a partition whose log ends before ``end_offset``."""
        self._following.discard(partition)
        self._catching_up[partition] = (end_offset, {})

    def revoked(self, partition: int) -> None:
        """Forget a partition."""
        self._following.discard(partition)
        self._catching_up.pop(partition, None)

    def read(self, change: ConfigChange) -> tuple[ConfigChange, ...]:
        """Take in one record and return what is to be done now."""
        if change.partition in self._following:
            return (change,)
        if change.partition in self._catching_up:
            self._catching_up[change.partition][1][change.camera_id] = change
        return ()

    def reached(self, partition: int, position: int) -> tuple[ConfigChange, ...]:
        """Note how far a partition was read; returns what is to be done now, at its end."""
        end_offset, changes = self._catching_up.get(partition, (None, {}))
        if end_offset is None or position < end_offset:
            return ()
        del self._catching_up[partition]
        self._following.add(partition)
        return tuple(changes.values())
