"""How many streams are open: bounded for each credential, each owner and the process."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

from api.errors import ApiError, ErrorCode

_RETRY_AFTER_SECONDS = 5
_OF_THE_OWNER = "Too many streams of this account are open; close one, or wait."


@dataclass(frozen=True, kw_only=True)
class StreamBounds:
    """How many streams may be open: with one credential, of one owner, in all."""

    per_credential: int
    per_owner: int
    in_all: int


class StreamSlots:
    """Counts open streams."""

    def __init__(self, bounds: StreamBounds) -> None:
        """Take the bounds."""
        self._bounds = bounds
        self._open: Counter[UUID] = Counter()
        self._of_owner: Counter[UUID] = Counter()

    @property
    def open(self) -> int:
        """How many are taken."""
        return self._open.total()

    @contextmanager
    def taken(self, owner_id: UUID, credential_id: UUID) -> Iterator[None]:
        """Hold a slot.

        Raises:
            ApiError: 429, there is none.
        """
        self._require_room(owner_id, credential_id)
        self._open[credential_id] += 1
        self._of_owner[owner_id] += 1
        try:
            yield
        finally:
            # What has come to nought is forgotten.
            self._open -= Counter((credential_id,))
            self._of_owner -= Counter((owner_id,))

    def _require_room(self, owner_id: UUID, credential_id: UUID) -> None:
        code, bounds = ErrorCode.TOO_MANY_STREAMS, self._bounds
        if self._open[credential_id] >= bounds.per_credential or self.open >= bounds.in_all:
            raise ApiError(code, retry_after_seconds=_RETRY_AFTER_SECONDS)
        if self._of_owner[owner_id] >= bounds.per_owner:
            raise ApiError(code, _OF_THE_OWNER, retry_after_seconds=_RETRY_AFTER_SECONDS)
