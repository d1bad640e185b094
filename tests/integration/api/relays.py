"""Relays in threads, for tests."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from prometheus_client import CollectorRegistry

from api.db.engine import plain_database_url
from api.outbox.publisher import KafkaPublisher
from api.outbox.relay import Relay
from common.settings import DatabaseSettings, KafkaSettings

Relaying = Callable[..., AbstractContextManager[Relay]]


@contextmanager
def running_relay(
    database: DatabaseSettings,
    kafka: KafkaSettings,
    *,
    poll_seconds: float = 0.5,
    registry: CollectorRegistry | None = None,
) -> Iterator[Relay]:
    """Yield a relay that runs until the block ends."""
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
