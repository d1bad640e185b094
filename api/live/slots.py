"""How many streams are open: bounded for each credential and for the process."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from api.errors import ApiError, ErrorCode

_RETRY_AFTER_SECONDS = 5


class StreamSlots:
    """Counts open streams."""

    def __init__(self, per_credential: int, in_all: int) -> None:
        """Take the bounds."""
        self._per_credential = per_credential
        self._in_all = in_all
        self._open: Counter[UUID] = Counter()

    @property
    def open(self) -> int:
        """How many are taken."""
        return self._open.total()

    @contextmanager
    def taken(self, credential_id: UUID) -> Iterator[None]:
        """Hold a slot.

        Raises:
            ApiError: 429, there is none.
        """
        if self._open[credential_id] >= self._per_credential or self.open >= self._in_all:
            raise ApiError(ErrorCode.TOO_MANY_STREAMS, retry_after_seconds=_RETRY_AFTER_SECONDS)
        self._open[credential_id] += 1
        try:
            yield
        finally:
            self._open[credential_id] -= 1
            if not self._open[credential_id]:
                del self._open[credential_id]
