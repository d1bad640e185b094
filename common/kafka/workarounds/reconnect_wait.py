"""Keeps a producer of kafka-python 3.0.12 from spinning while a broker is away.

A file of its own, as each workaround goes when its fault is mended in the library.
"""

from typing import Any, Final

from kafka import KafkaProducer

_MIN_WAIT_MS: Final = 20.0


class ReconnectWaitProducer(KafkaProducer):  # type: ignore[misc] # kafka-python is untyped
    """Waits for a broker as long as it takes, where records are held for it.

    With such records the sender of kafka-python 3.0.12 went round as fast as it could:

    - It waits so many milliseconds as it should wait seconds until it connects again, and not at
      all while it connects.
    - Where a partition has no leader it asks for new metadata in each round. Each question wakes
      what brings them, also where it waits to ask again, and that ends the sender's own wait.

    Seen: two producers of a process took 1.0 of a core, on two cores that a broker shared with
    them while it started.

    **Source:** kafka-python 3.0.12, ``kafka/producer/sender.py``, ``kafka/net/manager.py`` and
    ``kafka/cluster.py``; dpkp/kafka-python issue 1907.
    """

    def __init__(self, **configs: Any) -> None:
        """Take the options of ``kafka.KafkaProducer``."""
        super().__init__(**configs)
        client, metadata = self._sender._client, self._metadata
        delay_seconds, request_update = client.connection_delay, metadata.request_update

        def request_update_once() -> Any:
            requested = metadata._future
            is_requested = requested is not None and not requested.is_done
            return requested if is_requested and metadata.need_update else request_update()

        # The sender alone asks it, before it waits; what happens on a connection ends the wait.
        client.connection_delay = lambda node: max(1000 * delay_seconds(node), _MIN_WAIT_MS)
        metadata.request_update = request_update_once
