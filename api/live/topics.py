"""The topics that an API process follows, and what it remembers of them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from api.cameras.status_cache import CameraStatusCache
from api.live.feed import RecognitionFeed
from api.live.recent import RecentRecognitions
from api.settings import ApiSettings
from api.webhooks.status_cache import WebhookStatusCache
from common.kafka.compacted import CompactedTopicReader
from common.kafka.tailer import TopicTailer
from common.records.cameras import CameraStatus
from common.records.deliveries import WebhookStatus
from common.records.topics import CAMERA_STATUS, WEBHOOK_STATUS


@dataclass(frozen=True)
class TopicCaches:
    """The latest of three topics, in the memory of this process.

    ``ping`` raises while recent recognitions are not being followed.
    """

    cameras: CameraStatusCache
    webhooks: WebhookStatusCache
    recent: RecentRecognitions
    ping: Callable[[], Awaitable[None]]


def followed_topics(settings: ApiSettings) -> tuple[tuple[TopicTailer, ...], TopicCaches]:
    """Return what follows the topics of camera states, recognitions and webhook states."""
    statuses, webhooks = CameraStatusCache(), WebhookStatusCache()
    recent = RecentRecognitions(settings.stream_memory_records)
    cameras = CompactedTopicReader(
        settings, CAMERA_STATUS, CameraStatus, statuses.post, client="api-camera-status"
    )
    deliveries = CompactedTopicReader(
        settings, WEBHOOK_STATUS, WebhookStatus, webhooks.post, client="api-webhook-status"
    )
    recognitions = RecognitionFeed(settings, recent)
    caches = TopicCaches(statuses, webhooks, recent, recognitions.ping)
    return (cameras, recognitions, deliveries), caches
