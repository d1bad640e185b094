"""Prevents busy polling in kafka-python 3.0.12 while a broker is frozen."""

import time
from typing import Any, Final

from kafka import KafkaConsumer

_PAUSE_SECONDS: Final = 0.05


class IdlePollConsumer(KafkaConsumer):  # type: ignore[misc] # kafka-python is untyped
    """Pauses between iterations of a poll that return nothing.

    In kafka-python 3.0.12, a group member whose heartbeat is due waits 0 ms for records. While a
    broker is frozen, the heartbeat stays due, so a poll iterated about 600 times per second, and
    each iteration attached an exception with its frames to the pending fetch: 8 MB or 90,000 Python
    objects per second (observed), until the fetch timed out.
    """

    def _poll_once(self, timer: Any, *arguments: Any, **options: Any) -> Any:
        records = super()._poll_once(timer, *arguments, **options)
        if not records and not timer.expired:
            time.sleep(_PAUSE_SECONDS)
        return records
