"""Publishes outbox rows to Kafka, in order. Only one relay is active at a time.

A row is deleted only after the broker has acknowledged it, so a crash can publish a record twice
but never loses a record. Consumers tolerate duplicates.

Replays are published last, in small batches, so that new configuration waits for at most one
batch. Positions of replayed rows are numbered per account, so that accounts take turns.

A row that cannot be published is marked with the error. Later rows are still published, even rows
with the same key. On a configuration topic, each record is the whole state, so publishing a later
record deletes the failed row: an older state must not follow a newer state. On an event topic, each
record is a separate event. Failed rows are retried whenever the relay connects, because a new
release or setting may accept them.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from select import select
from threading import Event
from typing import LiteralString

import psycopg
import structlog
from prometheus_client import CollectorRegistry

from api.db.engine import AdvisoryLock
from api.db.pooler import refuse_pooler
from api.outbox.outbox import CHANNEL
from api.outbox.publisher import CONFIG_TOPICS, KafkaPublisher, OutboxRow
from common.errors import TransientError
from common.metrics import gauge
from common.retry import Backoff, RetryPolicy

log = structlog.get_logger()

_CONNECT_TIMEOUT_SECONDS = 5
_RETRY = RetryPolicy(first_pause_seconds=0.2, longest_pause_seconds=5.0, spread=(1.0, 1.0))
_STABLE_AFTER_SECONDS = 30.0
_SLICE_SECONDS = 0.5
# Every wait for Kafka or PostgreSQL is shorter than this.
_STUCK_SECONDS = 180.0

_REPLAYED_ROWS = 100
_SELECT = """
SELECT id, topic, key, value, replay_position >= 0 FROM config_outbox WHERE error IS NULL
ORDER BY replay_position, id LIMIT %s
"""
_COUNT_REPLAYED = "SELECT count(*) FROM config_outbox WHERE replay_id IS NOT NULL"
_MARK_FAILED = "UPDATE config_outbox SET error = %s WHERE id = %s"
_COUNT_FAILED = "SELECT count(*) FROM config_outbox WHERE error IS NOT NULL"
_RETRY_FAILED = "UPDATE config_outbox SET error = NULL WHERE error IS NOT NULL"
_DELETE = """
WITH published AS (DELETE FROM config_outbox WHERE id = ANY(%s) RETURNING id, topic, key)
DELETE FROM config_outbox AS older USING published
WHERE older.error IS NOT NULL AND older.topic = ANY(%s)
    AND older.topic = published.topic AND older.key = published.key AND older.id < published.id
"""


class Relay:
    """Publishes rows until :meth:`stop`. Reconnects after restarts of PostgreSQL and Kafka."""

    def __init__(
        self,
        database_url: str,
        open_publisher: Callable[[], KafkaPublisher],
        *,
        poll_seconds: float,
        batch_rows: int,
        registry: CollectorRegistry | None = None,
    ) -> None:
        """``poll_seconds`` is the interval at which the outbox is polled without a notification.

        If ``registry`` is None, a new registry is created for the metrics.
        """
        self._database_url = database_url
        self._open_publisher = open_publisher
        self._poll_seconds = poll_seconds
        self._batch_rows = batch_rows
        self._stop = Event()
        self._progress_seconds = time.monotonic()
        registry = registry or CollectorRegistry()
        self._failed = gauge("platestream_relay_failed_rows", registry)
        self._replayed = gauge("platestream_relay_pending_replay_rows", registry)

    def stop(self) -> None:
        """Stop the relay after the current batch."""
        self._stop.set()

    def is_alive(self) -> bool:
        """Return whether the loop has run recently, even if the attempts failed."""
        return time.monotonic() - self._progress_seconds < _STUCK_SECONDS

    def run(self) -> None:
        """Run until :meth:`stop`, reconnecting with backoff after each error.

        Raises:
            MisconfiguredError: the database is behind a connection pooler.
        """
        backoff = Backoff(_RETRY, _STABLE_AFTER_SECONDS)
        while not self._stop.is_set():
            started = self._progress_seconds = time.monotonic()
            try:
                self._relay_until_fault()
            except (psycopg.Error, TransientError) as error:
                pause = backoff.next_pause_seconds(time.monotonic() - started)
                log.warning("relay_interrupted", error=str(error), retry_seconds=pause)
                self._stop.wait(pause)

    def _relay_until_fault(self) -> None:
        with self._connect() as connection:
            refuse_pooler(connection, "the relay's lock and notifications")
            if not self._acquire_lock(connection):
                return
            with closing(self._open_publisher()) as publisher:
                log.info("relay_lock_acquired")
                self._follow(connection, publisher)

    def _connect(self) -> psycopg.Connection:
        return psycopg.connect(
            self._database_url,
            autocommit=True,
            connect_timeout=_CONNECT_TIMEOUT_SECONDS,
            application_name="platestream-relay",
            options="-c statement_timeout=10000",
            # Detect an unreachable server within half a minute.
            keepalives_idle=10,
            keepalives_interval=5,
            keepalives_count=3,
        )

    def _acquire_lock(self, connection: psycopg.Connection) -> bool:
        """Wait for the lock of the active relay. Return False if stopped during the wait."""
        waiting = False
        while not self._stop.is_set():
            row = connection.execute(
                "SELECT pg_try_advisory_lock(%s)", (int(AdvisoryLock.CONFIG_RELAY),)
            ).fetchone()
            if row is not None and row[0]:
                return True
            if not waiting:
                log.info("relay_standing_by")
                waiting = True
            self._stop.wait(self._poll_seconds)
            self._progress_seconds = time.monotonic()
        return False

    def _follow(self, connection: psycopg.Connection, publisher: KafkaPublisher) -> None:
        connection.execute(f"LISTEN {CHANNEL}")
        connection.execute(_RETRY_FAILED)
        self._count_failed(connection)
        while not self._stop.is_set():
            while self._relay_batch(connection, publisher):
                self._progress_seconds = time.monotonic()
            self._progress_seconds = time.monotonic()
            self._wait_for_rows(connection)

    def _wait_for_rows(self, connection: psycopg.Connection) -> None:
        """Return on a notification, or when the next poll is due."""
        poll_at = time.monotonic() + self._poll_seconds
        while not self._stop.is_set() and (left := poll_at - time.monotonic()) > 0:
            for _ in connection.notifies(timeout=0, stop_after=1):
                return
            # Wait in slices, so that stopping does not wait for a slow poll. psycopg wakes up ten
            # times per second while it waits.
            select([connection], [], [], min(left, _SLICE_SECONDS))
        # The API also deletes failed rows: old rows, and rows of erased plates and accounts.
        self._count_failed(connection)

    def _relay_batch(self, connection: psycopg.Connection, publisher: KafkaPublisher) -> int:
        rows = [OutboxRow(*row) for row in connection.execute(_SELECT, (self._batch_rows,))]
        urgent = [row for row in rows if not row.is_replayed]
        if has_replayed := len(urgent) < len(rows):
            rows = urgent or rows[:_REPLAYED_ROWS]
        if rows:
            refused = publisher.publish(rows)
            self._mark_failed(connection, rows, refused)
            published = [row.id for row in rows if row.id not in refused]
            deleted = connection.execute(_DELETE, (published, CONFIG_TOPICS)).rowcount
            if refused or deleted:
                self._count_failed(connection)
            if has_replayed:
                self._replayed.set(_number(connection, _COUNT_REPLAYED))
            log.info("config_published", records=len(published))
        return len(rows)

    def _mark_failed(
        self,
        connection: psycopg.Connection,
        rows: Sequence[OutboxRow],
        refused: Mapping[int, str],
    ) -> None:
        for row in rows:
            if row.id in refused:
                error = refused[row.id]
                log.error("outbox_row_failed", row=row.id, topic=row.topic, error=error)
                connection.execute(_MARK_FAILED, (error, row.id))

    def _count_failed(self, connection: psycopg.Connection) -> None:
        self._failed.set(_number(connection, _COUNT_FAILED))


def _number(connection: psycopg.Connection, query: LiteralString) -> int:
    row = connection.execute(query).fetchone()
    return 0 if row is None else row[0]
