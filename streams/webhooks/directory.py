"""Who wants to be told of what: webhooks and cameras as the configuration topics tell them.

Lives on one event loop: only that loop writes and reads it.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

import msgspec

from contracts.cameras import CameraConfig
from contracts.deliveries import WebhookStatus
from contracts.errors import MisconfiguredError
from contracts.secrets import SecretBox
from contracts.topic_feed import News
from contracts.webhooks import EventName, WebhookConfig

_headers_decoder = msgspec.json.Decoder(dict[str, str])


@dataclass(frozen=True, repr=False)
class Destination:
    """Where to send, and how to sign. ``secrets`` are the current one, then a previous one."""

    url: str
    secrets: tuple[str, ...]
    headers: Mapping[str, str]
    webhook_id: str | None = None


@dataclass(frozen=True)
class Absent:
    """Why there is nobody to send to; a sentence for a person."""

    reason: str


class Directory:
    """The latest configuration of every webhook and camera, and how webhooks fare."""

    def __init__(self, box: SecretBox) -> None:
        """Begin empty; ``box`` opens what is encrypted."""
        self._box = box
        self._webhooks: dict[UUID, WebhookConfig] = {}
        self._of_owner: defaultdict[UUID, dict[UUID, WebhookConfig]] = defaultdict(dict)
        self._destinations: dict[UUID, Destination] = {}
        self._statuses: dict[UUID, WebhookStatus] = {}
        self._cameras: dict[UUID, CameraConfig] = {}
        self._deleted: set[UUID] = set()
        self._news = asyncio.Event()

    def take_webhooks(self, news: Iterable[News[WebhookConfig]]) -> None:
        """Take news of webhooks in the order of their topic."""
        for key, webhook in news:
            self._take_webhook(key, webhook)
        self._tell()

    def take_cameras(self, news: Iterable[News[CameraConfig]]) -> None:
        """Take news of cameras in the order of their topic."""
        for key, camera in news:
            if camera is None:
                self._cameras.pop(key, None)
            else:
                self._cameras[key] = camera
        self._tell()

    def take_statuses(self, news: Iterable[News[WebhookStatus]]) -> None:
        """Take news of how webhooks fare, in the order of their topic."""
        for key, status in news:
            if status is None:
                self._statuses.pop(key, None)
            else:
                self.note_status(status)

    def subscribers(
        self, owner_id: UUID, event: EventName, published_ms: int
    ) -> tuple[WebhookConfig, ...]:
        """Return the owner's webhooks that are to be told of an event, published then."""
        return tuple(
            webhook
            for webhook in self._of_owner.get(owner_id, {}).values()
            if event in webhook.events
            and webhook.created_ms <= published_ms
            and self._is_on(webhook)
        )

    def status(self, webhook_id: UUID) -> WebhookStatus | None:
        """Return how deliveries to a webhook went."""
        return self._statuses.get(webhook_id)

    def note_status(self, status: WebhookStatus) -> None:
        """Take a status, unless a later one is known."""
        known = self._statuses.get(status.webhook_id)
        if known is None or known.attempts_offset <= status.attempts_offset:
            self._statuses[status.webhook_id] = status

    def webhook(self, webhook_id: UUID) -> WebhookConfig | None:
        """Return a webhook."""
        return self._webhooks.get(webhook_id)

    async def destination(
        self, webhook_id: UUID, *, now_ms: int, wait_seconds: float, even_off: bool = False
    ) -> Destination | Absent:
        """Return where a webhook is, waiting a little for one that is not known yet.

        ``even_off``: also of one that is switched off.

        Raises:
            MisconfiguredError: encrypted with another key.
        """
        await self._wait_for(
            lambda: webhook_id in self._webhooks or webhook_id in self._deleted, wait_seconds
        )
        webhook = self._webhooks.get(webhook_id)
        if webhook is None:
            return Absent("The webhook was deleted.")
        if not self._is_on(webhook) and not even_off:
            return Absent("The webhook is switched off.")
        found = self._destinations.get(webhook_id)
        if found is None:
            found = self._destinations[webhook_id] = self._open(webhook)
        return _without_past_secret(found, webhook, now_ms)

    async def camera(self, camera_id: UUID, wait_seconds: float) -> CameraConfig | None:
        """Return a camera, waiting a little for one that is not known yet."""
        await self._wait_for(lambda: camera_id in self._cameras, wait_seconds)
        return self._cameras.get(camera_id)

    def _is_on(self, webhook: WebhookConfig) -> bool:
        status = self._statuses.get(webhook.webhook_id)
        # A switch-off counts until the webhook is changed, which is also how it is switched on.
        return webhook.enabled and (
            status is None
            or status.disabled_revision is None
            or webhook.revision > status.disabled_revision
        )

    def _take_webhook(self, key: UUID, webhook: WebhookConfig | None) -> None:
        before = self._webhooks.pop(key, None)
        self._destinations.pop(key, None)
        if before is not None:
            self._of_owner[before.owner_id].pop(key, None)
        if webhook is None:
            self._deleted.add(key)
        else:
            self._deleted.discard(key)
            self._webhooks[key] = webhook
            self._of_owner[webhook.owner_id][key] = webhook

    def _open(self, webhook: WebhookConfig) -> Destination:
        encrypted = (webhook.secret_encrypted, webhook.previous_secret_encrypted)
        return Destination(
            url=self._box.decrypt(webhook.url_encrypted),
            secrets=tuple(self._box.decrypt(text) for text in encrypted if text),
            headers=_headers(self._box.decrypt(webhook.headers_encrypted)),
            webhook_id=str(webhook.webhook_id),
        )

    def _tell(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def _wait_for(self, condition: Callable[[], bool], seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                while not condition():
                    await self._news.wait()
        except TimeoutError:
            return


def _headers(text: str) -> dict[str, str]:
    try:
        return _headers_decoder.decode(text)
    except msgspec.MsgspecError as error:
        raise MisconfiguredError("headers of a webhook cannot be read") from error


def _without_past_secret(found: Destination, webhook: WebhookConfig, now_ms: int) -> Destination:
    if len(found.secrets) > 1 and now_ms >= (webhook.previous_secret_until_ms or 0):
        return Destination(found.url, found.secrets[:1], found.headers, found.webhook_id)
    return found
