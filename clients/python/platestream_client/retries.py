"""Decides which calls are retried, and when. No I/O."""

import random
from dataclasses import dataclass

from platestream_client.errors import ApiError, PlatestreamError, UnreachableError

_FIRST_PAUSE_SECONDS = 0.5
_REFUSED = (429, 503)
_STILL_RUNNING = "idempotency_key_in_use"


@dataclass(frozen=True)
class RetryPolicy:
    """Maximum number of attempts, and maximum wait between attempts in seconds.

    If the API asks for a longer wait, the error is raised.
    """

    attempts: int = 4
    longest_wait: float = 60.0

    def pause(
        self, fault: PlatestreamError, attempt: int, *, may_be_repeated: bool
    ) -> float | None:
        """Return the seconds to wait after attempt number ``attempt`` has failed with ``fault``.

        Return None if the call must not be retried. Unless the call is idempotent
        (``may_be_repeated``), it is retried only if it was certainly not executed.
        """
        if attempt >= self.attempts:
            return None
        if (
            isinstance(fault, ApiError)
            and fault.status in _REFUSED
            and fault.retry_after is not None
        ):
            return fault.retry_after if fault.retry_after <= self.longest_wait else None
        if isinstance(fault, UnconnectedError) or (may_be_repeated and _may_pass(fault, attempt)):
            most = min(_FIRST_PAUSE_SECONDS * 2.0**attempt, self.longest_wait)
            return random.uniform(most / 2, most)
        return None


class UnconnectedError(UnreachableError):
    """No connection could be established, so nothing was sent."""


def _may_pass(fault: PlatestreamError, attempt: int) -> bool:
    if not isinstance(fault, ApiError):
        return isinstance(fault, UnreachableError)
    # After the first attempt, the key is in use by an earlier attempt of the same call.
    return fault.status >= 500 or (fault.code == _STILL_RUNNING and attempt > 1)
