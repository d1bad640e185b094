"""The relay: moves outbox rows to Kafka, in order, as the only one that does.

A row is deleted only after the broker has acknowledged it, so a crash publishes again and never
forgets; readers take a record twice without harm.
"""

import time
from collections.abc import Callable, Sequence
from threading import Event

import psycopg
import structlog

from api.config_log.outbox import CHANNEL
from api.config_log.publisher import OutboxRow, Publisher
from api.db.locks import AdvisoryLock
from contracts.errors import TransientError

log = structlog.get_logger()

_CONNECT_TIMEOUT_SECONDS = 5
_BACK_OFF_FIRST_SECONDS = 0.2
_BACK_OFF_MOST_SECONDS = 5.0
_STABLE_AFTER_SECONDS = 30.0
_SLICE_SECONDS = 0.5

_SELECT = "SELECT id, topic, key, value FROM config_outbox ORDER BY id LIMIT %s"
_DELETE = "DELETE FROM config_outbox WHERE id = ANY(%s)"


class Relay:
    """Runs until told to stop; survives restarts of PostgreSQL and of Kafka."""

    def __init__(
        self,
        database_url: str,
        open_publisher: Callable[[], Publisher],
        *,
        poll_seconds: float,
        batch_rows: int,
    ) -> None:
        """Take where rows come from and how to reach where they go."""
        self._database_url = database_url
        self._open_publisher = open_publisher
        self._poll_seconds = poll_seconds
        self._batch_rows = batch_rows
        self._stop = Event()

    def stop(self) -> None:
        """Ask the relay to end after the batch in hand."""
        self._stop.set()

    def run(self) -> None:
        """Relay until :meth:`stop`, reconnecting with back-off after each fault."""
        back_off = _BACK_OFF_FIRST_SECONDS
        while not self._stop.is_set():
            started = time.monotonic()
            try:
                self._relay_until_fault()
            except (psycopg.Error, TransientError) as error:
                log.warning("relay_interrupted", error=str(error), retry_seconds=back_off)
                if time.monotonic() - started > _STABLE_AFTER_SECONDS:
                    back_off = _BACK_OFF_FIRST_SECONDS
                self._stop.wait(back_off)
                back_off = min(2 * back_off, _BACK_OFF_MOST_SECONDS)

    def _relay_until_fault(self) -> None:
        with self._connect() as connection:
            if not self._become_the_active_one(connection):
                return
            publisher = self._open_publisher()
            try:
                log.info("relay_active")
                self._follow(connection, publisher)
            finally:
                publisher.close()

    def _connect(self) -> psycopg.Connection:
        return psycopg.connect(
            self._database_url,
            autocommit=True,
            connect_timeout=_CONNECT_TIMEOUT_SECONDS,
            application_name="platestream-relay",
            options="-c statement_timeout=10000",
            # Notices within half a minute that a server vanished without a word.
            keepalives_idle=10,
            keepalives_interval=5,
            keepalives_count=3,
        )

    def _become_the_active_one(self, connection: psycopg.Connection) -> bool:
        """Wait for the lock that one relay holds as long as its connection lives."""
        waiting = False
        while not self._stop.is_set():
            row = connection.execute(
                "SELECT pg_try_advisory_lock(%s)", (int(AdvisoryLock.CONFIG_RELAY),)
            ).fetchone()
            if row is not None and row[0]:
                return True
            if not waiting:
                log.info("relay_waiting_for_the_active_one")
                waiting = True
            self._stop.wait(self._poll_seconds)
        return False

    def _follow(self, connection: psycopg.Connection, publisher: Publisher) -> None:
        connection.execute(f"LISTEN {CHANNEL}")
        while not self._stop.is_set():
            while self._relay_batch(connection, publisher):
                pass
            self._wait_for_news(connection)

    def _wait_for_news(self, connection: psycopg.Connection) -> None:
        """Return at a notification, or when the next poll is due for what none announced."""
        poll_at = time.monotonic() + self._poll_seconds
        while not self._stop.is_set() and (left := poll_at - time.monotonic()) > 0:
            # In slices, so that a stop does not wait for a slow poll.
            for _ in connection.notifies(timeout=min(left, _SLICE_SECONDS), stop_after=1):
                return

    def _relay_batch(self, connection: psycopg.Connection, publisher: Publisher) -> int:
        rows: Sequence[OutboxRow] = [
            OutboxRow(*row) for row in connection.execute(_SELECT, (self._batch_rows,))
        ]
        if rows:
            publisher.publish(rows)
            connection.execute(_DELETE, ([row.id for row in rows],))
            log.info("config_published", records=len(rows))
        return len(rows)
