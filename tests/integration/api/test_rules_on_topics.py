"""The path of alerts and webhooks from a change to the topics that the stages consume."""

import asyncio
import time
from uuid import UUID

import pytest
from kafka import KafkaConsumer, TopicPartition
from sqlalchemy import text

from api.outbox.outbox import enqueue, republish_all
from common.kafka.clients import consumer_options, topic_name
from common.records.alerts import AlertConfig
from common.records.codec import decode, encode
from common.records.topics import CONFIG_ALERTS, CONFIG_WEBHOOKS, RECOGNITIONS, Topic
from common.records.webhooks import WebhookConfig
from common.settings import KafkaSettings
from tests.integration.api.application import Application
from tests.integration.api.relays import Relaying
from tests.records import recognition

pytestmark = pytest.mark.integration

ALERT = {"name": "Stolen cars", "plates": ["AB12"]}
WEBHOOK = {
    "name": "Gate",
    "url": "https://receiver.example.com/",
    "events": ["alert.triggered"],
}


async def test_changes_reach_their_topics_at_once(
    relaying: Relaying, application: Application, kafka_topics: KafkaSettings
) -> None:
    caller = await application.new_owner()
    followed = _Followed(kafka_topics, CONFIG_ALERTS, CONFIG_WEBHOOKS)
    # The relay polls slowly here, so only the notification can wake the relay.
    with relaying(poll_seconds=30):
        async with application.client(caller) as client:
            alert = (await client.post("/api/alertas", json=ALERT)).json()["alert"]
            webhook = (await client.post("/api/webhooks", json=WEBHOOK)).json()["webhook"]
            await asyncio.to_thread(followed.read, 2)
            path = f"/api/alertas/{alert['id']}"
            await client.put(path, json={"plates": ["CD34"]})
            await asyncio.to_thread(followed.read, 3)
            await client.delete(path)
            await client.delete(f"/api/webhooks/{webhook['id']}")
            await asyncio.to_thread(followed.read, 5)
    followed.close()

    first, second, last = followed.values[alert["id"]]
    assert first is not None
    assert second is not None
    assert decode(AlertConfig, first).plates == ("AB12",)
    assert decode(AlertConfig, second).plates == ("CD34",)
    assert last is None
    made, gone = followed.values[webhook["id"]]
    assert made is not None
    assert decode(WebhookConfig, made).webhook_id == UUID(webhook["id"])
    assert gone is None


async def test_recognitions_of_image_calls_reach_their_topic(
    relaying: Relaying, application: Application, kafka_topics: KafkaSettings
) -> None:
    record = recognition(7)
    followed = _Followed(kafka_topics, RECOGNITIONS)
    with relaying():
        await application.database.run(
            lambda session: enqueue(session, RECOGNITIONS, str(record.owner_id), record)
        )
        await asyncio.to_thread(followed.read, 1)
    followed.close()

    assert followed.values == {str(record.owner_id): [encode(record)]}


async def test_everything_can_be_published_again(application: Application) -> None:
    async with application.client(await application.new_owner()) as client:
        await client.post("/api/alertas", json=ALERT)
        await client.post("/api/webhooks", json=WEBHOOK)
    before = await application.database.run(
        lambda session: session.execute(text("DELETE FROM config_outbox RETURNING value")).all()
    )
    # The third record is the account's. Until the secret is rotated, the alert contains it.
    assert await application.database.run(republish_all) == 3
    after = await application.database.run(
        lambda session: session.execute(text("SELECT value FROM config_outbox")).all()
    )

    assert {bytes(row[0]) for row in after} > {bytes(row[0]) for row in before}


class _Followed:
    """Reads topics from their start, and stores the records by key."""

    def __init__(self, settings: KafkaSettings, *topics: Topic) -> None:
        self._consumer = KafkaConsumer(**consumer_options(settings, "test"))
        partitions = [
            TopicPartition(topic_name(settings, topic), number)
            for topic in topics
            for number in range(settings.kafka_partitions)
        ]
        self._consumer.assign(partitions)
        self._consumer.seek_to_beginning(*partitions)
        self.values: dict[str, list[bytes | None]] = {}

    def read(self, count: int) -> None:
        """Read until there are ``count`` records, and fail after a timeout."""
        deadline = time.monotonic() + 20
        while sum(map(len, self.values.values())) < count:
            assert time.monotonic() < deadline, self.values
            for records in self._consumer.poll(timeout_ms=50).values():
                for record in records:
                    self.values.setdefault(record.key.decode(), []).append(record.value)

    def close(self) -> None:
        self._consumer.close()
