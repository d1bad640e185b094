"""Holds the alerts of config-alerts, for records that only contain a reference to their alert."""

import asyncio
from collections.abc import Iterable
from typing import Any
from uuid import UUID

import msgspec
from cachetools import LRUCache, TTLCache
from mode import Service

from common.kafka.compacted import CompactedTopicReader
from common.records.alerts import AlertConfig, AlertTrigger, with_content
from common.records.codec import decode, encode

_FORMER_BYTES = 64 * 1024 * 1024
_READY = 256
_WAIT_SECONDS = 1.0
_MISSED = 10_000
_MISSED_SECONDS = 60.0

_Revision = tuple[UUID, int]


class AlertCache:
    """The latest revision of every alert, and recently replaced or deleted revisions.

    Use the cache on one event loop. Alerts are stored encoded, as on the topic, which takes a third
    of the memory for an alert with a long list.
    """

    def __init__(self) -> None:
        self._latest: dict[UUID, tuple[int, bytes]] = {}
        self._former: LRUCache[_Revision, bytes] = LRUCache(_FORMER_BYTES, getsizeof=len)
        self._last_former: LRUCache[UUID, int] = LRUCache(_MISSED)
        self._ready: LRUCache[_Revision, AlertConfig] = LRUCache(_READY)
        # Retries look up the same deleted alert again, and must not wait each time.
        self._missed: TTLCache[_Revision, None] = TTLCache(_MISSED, _MISSED_SECONDS)
        self._changed = asyncio.Event()

    def apply(self, updates: Iterable[tuple[UUID, AlertConfig | None]]) -> None:
        """Apply updates in the order of the topic; None deletes an alert."""
        for alert_id, alert in updates:
            before = self._latest.pop(alert_id, None)
            if before is not None and len(before[1]) <= _FORMER_BYTES:
                self._former[alert_id, before[0]] = before[1]
                self._last_former[alert_id] = before[0]
            if alert is not None:
                self._latest[alert_id] = (alert.revision, encode(alert))
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def whole(self, alert: AlertConfig) -> AlertConfig:
        """Return the alert that a reference refers to, waiting briefly if the alert is unknown.

        If the alert was changed long ago, its lists come from the latest revision. If the alert was
        deleted long ago, the result has no lists.
        """
        if not alert.is_reference:
            return alert
        revision_key = (alert.alert_id, alert.revision)
        if self._exact(revision_key) is None and revision_key not in self._missed:
            await self._wait_for(revision_key)
        content = self._content(revision_key)
        if content is None:
            self._missed[revision_key] = None
            return msgspec.structs.replace(alert, is_reference=False)
        return with_content(alert, content)

    async def whole_trigger(self, trigger: AlertTrigger) -> AlertTrigger:
        """Return a trigger together with the alert that the trigger refers to."""
        alert = await self.whole(trigger.alert)
        return trigger if alert is trigger.alert else msgspec.structs.replace(trigger, alert=alert)

    def newer(self, alert: AlertConfig) -> AlertConfig | None:
        """Return the latest revision of an alert, or None if none is newer than ``alert``."""
        revision = self._latest.get(alert.alert_id, (0, b""))[0]
        return self._content((alert.alert_id, revision)) if revision > alert.revision else None

    async def _wait_for(self, revision_key: _Revision) -> None:
        try:
            async with asyncio.timeout(_WAIT_SECONDS):
                while self._exact(revision_key) is None and not self._is_past(revision_key):
                    await self._changed.wait()
        except TimeoutError:
            return

    def _is_past(self, revision_key: _Revision) -> bool:
        """Return whether a later revision than the requested revision is known."""
        alert_id, revision = revision_key
        latest = self._latest.get(alert_id)
        return latest is not None and latest[0] > revision

    def _exact(self, revision_key: _Revision) -> bytes | None:
        alert_id, revision = revision_key
        latest = self._latest.get(alert_id)
        if latest is not None and latest[0] == revision:
            return latest[1]
        return self._former.get(revision_key)

    def _content(self, revision_key: _Revision) -> AlertConfig | None:
        data = self._exact(revision_key)
        if data is None:
            return self._nearest(revision_key[0])
        found = self._ready.get(revision_key)
        if found is None:
            found = self._ready[revision_key] = decode(AlertConfig, data)
        return found

    def _nearest(self, alert_id: UUID) -> AlertConfig | None:
        latest, former = self._latest.get(alert_id), self._last_former.get(alert_id)
        if latest is not None:
            return decode(AlertConfig, latest[1])
        data = None if former is None else self._former.get((alert_id, former))
        return None if data is None else decode(AlertConfig, data)


class AlertSubscription(Service):
    """Reads config-alerts while the app runs."""

    def __init__(self, reader: CompactedTopicReader[AlertConfig], **options: Any) -> None:
        super().__init__(**options)
        self._reader = reader

    async def on_start(self) -> None:
        """Read all alerts. A worker that lacks alerts must not be assigned partitions."""
        self._reader.start()
        await self._reader.wait_until_caught_up()

    async def on_stop(self) -> None:
        """Stop reading."""
        self._reader.stop()
