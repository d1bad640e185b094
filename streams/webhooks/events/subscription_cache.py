"""Caches subscriptions to events: webhooks and cameras from the configuration topics.

Use the cache on one event loop.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeVar
from uuid import UUID

import msgspec

from common.errors import MisconfiguredError
from common.kafka.compacted import Update
from common.records.cameras import CameraConfig
from common.records.codec import Record
from common.records.deliveries import WebhookStatus
from common.records.owners import OwnerConfig
from common.records.webhooks import EventName, WebhookConfig
from common.secrets import SecretBox

V = TypeVar("V", bound=Record)
_DECRYPTED_SECRETS = 1024
_headers_decoder = msgspec.json.Decoder(dict[str, str])


@dataclass(frozen=True, repr=False)
class Destination:
    """A receiver's URL and signing secrets. The current secret is first."""

    url: str
    secrets: tuple[str, ...]
    headers: Mapping[str, str]
    webhook_id: str | None = None
    revision: int | None = None


@dataclass(frozen=True)
class Unavailable:
    """The reason why there is no destination, as a sentence for people."""

    reason: str


class SubscriptionCache:
    """The latest configuration of every webhook and camera, and the webhooks' statuses."""

    def __init__(self, box: SecretBox) -> None:
        self._box = box
        self._webhooks: dict[UUID, WebhookConfig] = {}
        self._by_owner: defaultdict[UUID, dict[UUID, WebhookConfig]] = defaultdict(dict)
        self._destinations: dict[UUID, Destination] = {}
        self._statuses: dict[UUID, WebhookStatus] = {}
        self._cameras: dict[UUID, CameraConfig] = {}
        self._owners: dict[UUID, OwnerConfig] = {}
        self._decrypt = lru_cache(_DECRYPTED_SECRETS)(box.decrypt)
        self._deleted: set[UUID] = set()
        self._changed = asyncio.Event()

    def apply_webhooks(self, updates: Iterable[Update[WebhookConfig]]) -> None:
        """Apply updates of webhooks, in the order of their topic."""
        for key, webhook in updates:
            self._apply_webhook(key, webhook)
        self._notify()

    def apply_cameras(self, updates: Iterable[Update[CameraConfig]]) -> None:
        """Apply updates of cameras, in the order of their topic."""
        _apply(self._cameras, updates)
        self._notify()

    def apply_statuses(self, updates: Iterable[Update[WebhookStatus]]) -> None:
        """Apply updates of the webhooks' statuses, in the order of their topic."""
        for key, status in updates:
            if status is None:
                self._statuses.pop(key, None)
            else:
                self.apply_status(status)

    def apply_owners(self, updates: Iterable[Update[OwnerConfig]]) -> None:
        """Apply updates of accounts, in the order of their topic."""
        _apply(self._owners, updates)

    def own_limits(self, owner_id: UUID) -> Mapping[str, int]:
        """Return an account's own limits by name."""
        owner = self._owners.get(owner_id)
        return {} if owner is None else owner.limits

    def notification_secrets(self, owner_id: UUID, now_ms: int) -> tuple[str, ...]:
        """Return the secrets that sign an account's notifications, the current one first.

        The result is empty until the account's record is known. ``now_ms`` is Unix ms, UTC.

        Raises:
            MisconfiguredError: the secret was encrypted with another key.
        """
        owner = self._owners.get(owner_id)
        if owner is None or owner.notification_secret_encrypted is None:
            return ()
        encrypted = [owner.notification_secret_encrypted]
        previous = owner.previous_notification_secret_encrypted
        if previous is not None and now_ms < (owner.previous_notification_secret_until_ms or 0):
            encrypted.append(previous)
        return tuple(map(self._decrypt, encrypted))

    def subscribers(
        self, owner_id: UUID, event: EventName, published_ms: int
    ) -> tuple[WebhookConfig, ...]:
        """Return an account's enabled webhooks for an event. ``published_ms`` is in Unix ms."""
        return tuple(
            webhook
            for webhook in self._by_owner.get(owner_id, {}).values()
            if event in webhook.events
            and webhook.created_ms <= published_ms
            and self._is_enabled(webhook)
        )

    def status(self, webhook_id: UUID) -> WebhookStatus | None:
        """Return the status of a webhook, or None if the webhook has no status."""
        return self._statuses.get(webhook_id)

    def apply_status(self, status: WebhookStatus) -> None:
        """Store a webhook's status, unless a later status is known."""
        known = self._statuses.get(status.webhook_id)
        if known is None or known.attempts_offset <= status.attempts_offset:
            self._statuses[status.webhook_id] = status

    def webhook(self, webhook_id: UUID) -> WebhookConfig | None:
        """Return a webhook, or None if the webhook is not known."""
        return self._webhooks.get(webhook_id)

    async def destination(
        self, webhook_id: UUID, *, now_ms: int, wait_seconds: float, include_disabled: bool = False
    ) -> Destination | Unavailable:
        """Return a webhook's destination or why it has none. Wait briefly for an unknown webhook.

        ``include_disabled``: also return the destination of a disabled webhook.

        Raises:
            MisconfiguredError: the webhook was encrypted with another key.
        """
        await self._wait_for(
            lambda: webhook_id in self._webhooks or webhook_id in self._deleted, wait_seconds
        )
        webhook = self._webhooks.get(webhook_id)
        if webhook is None:
            return Unavailable("The webhook was deleted.")
        if not self._is_enabled(webhook) and not include_disabled:
            return Unavailable("The webhook is disabled.")
        found = self._destinations.get(webhook_id)
        if found is None:
            found = self._destinations[webhook_id] = self._decrypted(webhook)
        return _without_past_secret(found, webhook, now_ms)

    async def camera(self, camera_id: UUID, wait_seconds: float) -> CameraConfig | None:
        """Return a camera, or None if the camera is still unknown after ``wait_seconds``."""
        await self._wait_for(lambda: camera_id in self._cameras, wait_seconds)
        return self._cameras.get(camera_id)

    def _is_enabled(self, webhook: WebhookConfig) -> bool:
        status = self._statuses.get(webhook.webhook_id)
        # A webhook disabled by failures remains disabled until a client updates the webhook.
        return webhook.enabled and (
            status is None
            or status.disabled_revision is None
            or webhook.revision > status.disabled_revision
        )

    def _apply_webhook(self, key: UUID, webhook: WebhookConfig | None) -> None:
        before = self._webhooks.pop(key, None)
        self._destinations.pop(key, None)
        if before is not None:
            self._by_owner[before.owner_id].pop(key, None)
        if webhook is None:
            self._deleted.add(key)
        else:
            self._deleted.discard(key)
            self._webhooks[key] = webhook
            self._by_owner[webhook.owner_id][key] = webhook

    def _decrypted(self, webhook: WebhookConfig) -> Destination:
        encrypted = (webhook.secret_encrypted, webhook.previous_secret_encrypted)
        return Destination(
            url=self._box.decrypt(webhook.url_encrypted),
            secrets=tuple(self._box.decrypt(text) for text in encrypted if text),
            headers=_headers(self._box.decrypt(webhook.headers_encrypted)),
            webhook_id=str(webhook.webhook_id),
            revision=webhook.revision,
        )

    def _notify(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def _wait_for(self, condition: Callable[[], bool], seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                while not condition():
                    await self._changed.wait()
        except TimeoutError:
            return


def _apply(known: dict[UUID, V], updates: Iterable[Update[V]]) -> None:
    for key, value in updates:
        if value is None:
            known.pop(key, None)
        else:
            known[key] = value


def _headers(text: str) -> dict[str, str]:
    try:
        return _headers_decoder.decode(text)
    except msgspec.MsgspecError as error:
        raise MisconfiguredError("the stored headers of a webhook cannot be decoded") from error


def _without_past_secret(found: Destination, webhook: WebhookConfig, now_ms: int) -> Destination:
    if len(found.secrets) > 1 and now_ms >= (webhook.previous_secret_until_ms or 0):
        return replace(found, secrets=found.secrets[:1])
    return found
