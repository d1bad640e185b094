"""What was lately found of credentials, so that not every request asks the database."""

import hmac
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar
from uuid import UUID

CACHE_SECONDS = 0.8
"""How long a credential is believed without a look-up: a revoked one dies within a second."""

_ENTRIES = 10_000


class Identified(Protocol):
    """A record with an id."""

    @property
    def id(self) -> UUID:
        """Names the record."""


_R = TypeVar("_R", bound=Identified)


@dataclass(frozen=True)
class _Entry(Generic[_R]):
    digest: bytes
    record: _R
    until: float


class CredentialCache(Generic[_R]):
    """Records by the hash of their credential, for less than a second each."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """``clock`` counts seconds."""
        self._clock = clock
        self._entries: OrderedDict[bytes, _Entry[_R]] = OrderedDict()

    def get(self, digest: bytes) -> _R | None:
        """Return what is still believed of a credential."""
        entry = self._entries.get(digest)
        if entry is None or entry.until <= self._clock():
            return None
        return entry.record if hmac.compare_digest(entry.digest, digest) else None

    def put(self, digest: bytes, record: _R | None, asked_at: float) -> None:
        """Note what the database said to a question of the moment ``asked_at``."""
        if record is None:
            self._entries.pop(digest, None)
            return
        self._entries[digest] = _Entry(digest, record, asked_at + CACHE_SECONDS)
        while len(self._entries) > _ENTRIES:
            self._entries.popitem(last=False)

    def forget(self, record_id: UUID) -> None:
        """Believe nothing more of a record that was changed."""
        for digest in [d for d, entry in self._entries.items() if entry.record.id == record_id]:
            del self._entries[digest]
