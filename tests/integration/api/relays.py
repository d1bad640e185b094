"""Relays in threads, for tests, and in a process that can be frozen."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from prometheus_client import CollectorRegistry

from api.db.engine import plain_database_url
from api.outbox.publisher import KafkaPublisher
from api.outbox.relay import Relay
from common.settings import DatabaseSettings, KafkaSettings


@contextmanager
def running_relay(
    database: DatabaseSettings,
    kafka: KafkaSettings,
    *,
    poll_seconds: float = 0.5,
    registry: CollectorRegistry | None = None,
) -> Iterator[Relay]:
    """Run a relay until the block ends."""
    relay = Relay(
        plain_database_url(database),
        lambda: KafkaPublisher(kafka),
        poll_seconds=poll_seconds,
        batch_rows=100,
        registry=registry,
    )
    thread = threading.Thread(target=relay.run, daemon=True)
    thread.start()
    try:
        yield relay
    finally:
        relay.stop()
        thread.join(timeout=30)
        assert not thread.is_alive(), "the relay did not stop"


LEASE_SECONDS = 3.0
"""Of a relay in a process."""


class FreezableRelay:
    """A relay in a process of its own. Use it as a context manager."""

    def __init__(self, database: DatabaseSettings, kafka: KafkaSettings) -> None:
        """Start nothing yet."""
        spawning = multiprocessing.get_context("spawn")
        self._process = spawning.Process(target=_relay, args=(database, kafka), daemon=True)

    def freeze(self) -> None:
        """Stop it where it stands (SIGSTOP)."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on (SIGCONT)."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def __enter__(self) -> Self:
        self._process.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.join()


def _relay(database: DatabaseSettings, kafka: KafkaSettings) -> None:
    Relay(
        plain_database_url(database),
        lambda: KafkaPublisher(kafka),
        poll_seconds=0.5,
        batch_rows=100,
        lease_seconds=LEASE_SECONDS,
    ).run()
