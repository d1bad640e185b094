"""Keeps a poll of kafka-python 3.0.12 from spinning while a broker is frozen.

A file of its own, as each workaround goes when its fault is mended in the library.
"""

import time
from typing import Any, Final

from kafka import KafkaConsumer

_PAUSE_SECONDS: Final = 0.05


class IdlePollConsumer(KafkaConsumer):  # type: ignore[misc] # kafka-python is untyped
    """Pauses between rounds of a poll that bring nothing.

    In kafka-python 3.0.12 a member of a group whose heartbeat is due waits 0 ms for records. While
    a broker is frozen the heartbeat stays due, so that a poll went round some 600 times a second,
    and each round left an exception with its frames on the fetch under way: 8 MB a second until
    the fetch timed out (seen: 90,000 Python objects a second).
    """

    def _poll_once(self, timer: Any, *arguments: Any, **options: Any) -> Any:
        records = super()._poll_once(timer, *arguments, **options)
        if not records and not timer.expired:
            time.sleep(_PAUSE_SECONDS)
        return records
