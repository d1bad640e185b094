"""How long a credential is believed."""

from dataclasses import dataclass
from uuid import UUID

from api.accounts.cache import CACHE_SECONDS, CredentialCache

DIGEST = b"d" * 32


@dataclass(frozen=True)
class _Record:
    id: UUID


RECORD = _Record(UUID(int=1))


class _Clock:
    seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def test_a_credential_is_believed_from_the_question_on() -> None:
    clock = _Clock()
    cache = CredentialCache[_Record](clock)
    asked_at, clock.seconds = clock.seconds, clock.seconds + 0.5
    cache.put(DIGEST, RECORD, asked_at)
    assert cache.get(DIGEST) == RECORD
    clock.seconds = asked_at + CACHE_SECONDS - 0.01
    assert cache.get(DIGEST) == RECORD
    clock.seconds = asked_at + CACHE_SECONDS
    assert cache.get(DIGEST) is None


def test_what_was_changed_here_is_forgotten_at_once() -> None:
    cache = CredentialCache[_Record](_Clock())
    cache.put(DIGEST, RECORD, 100.0)
    cache.forget(RECORD.id)
    assert cache.get(DIGEST) is None
    cache.put(DIGEST, RECORD, 100.0)
    cache.put(DIGEST, None, 100.0)
    assert cache.get(DIGEST) is None
