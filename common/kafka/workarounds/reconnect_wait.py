"""Prevents a busy loop in the producer of kafka-python 3.0.12 while a broker is unavailable."""

from typing import Any, Final

from kafka import KafkaProducer

_MIN_WAIT_MS: Final = 20.0


class ReconnectWaitProducer(KafkaProducer):  # type: ignore[misc] # kafka-python is untyped
    """Waits for an unavailable broker while records are queued for it.

    With queued records, the sender of kafka-python 3.0.12 ran in a busy loop:

    - It treats the reconnection delay as milliseconds instead of seconds, and does not wait at all
      while it is connecting.
    - If a partition has no leader, it requests new metadata in each iteration. Each request wakes
      up the metadata task, even during its back-off, which ends the sender's own wait.

    Observed: two producers of a process used 1.0 CPU core, on two cores shared with the broker that
    was starting.

    **Source:** kafka-python 3.0.12, ``kafka/producer/sender.py``, ``kafka/net/manager.py`` and
    ``kafka/cluster.py``; dpkp/kafka-python issue 1907.
    """

    def __init__(self, **configs: Any) -> None:
        """Accept the options of ``kafka.KafkaProducer``."""
        super().__init__(**configs)
        client, metadata = self._sender._client, self._metadata
        delay_seconds, request_update = client.connection_delay, metadata.request_update

        def request_update_once() -> Any:
            requested = metadata._future
            is_requested = requested is not None and not requested.is_done
            return requested if is_requested and metadata.need_update else request_update()

        # Only the sender calls this, before it waits. Any activity on a connection ends the wait.
        client.connection_delay = lambda node: max(1000 * delay_seconds(node), _MIN_WAIT_MS)
        metadata.request_update = request_update_once
