"""Inputs and outputs of the webhooks stage: webhooks and events in, attempts out."""

from collections.abc import Sequence
from pathlib import Path
from uuid import UUID, uuid4

import msgspec
from cryptography.fernet import Fernet

from common.records.codec import Record, decode, encode
from common.records.deliveries import DeliveryAttempt, WebhookStatus
from common.records.recognitions import Recognition
from common.records.topics import (
    ATTEMPTS,
    CONFIG_WEBHOOKS,
    DELIVERIES,
    RECOGNITIONS,
    WEBHOOK_STATUS,
    Topic,
)
from common.records.webhooks import EventName, WebhookConfig
from common.secrets import SecretBox
from common.settings import KafkaSettings
from tests.integration.streams.stages import Feeders, Reader, environment_of, stage
from tests.records import OWNER, messages
from tests.services.process import ChildProcess

SECRET = "whsec_dGhlIHNlY3JldCBvZiB0aGUgdGVzdHMsIGxvbmcgZW5vdWdo"
_KEY = Fernet.generate_key().decode()


class Pipeline:
    """The webhooks stage with separate topics, a feeder and readers."""

    def __init__(self, kafka: KafkaSettings, folder: Path) -> None:
        self.kafka = kafka
        self.box = SecretBox(_KEY)
        self._folder = folder
        self._feeders = Feeders(kafka)
        self._readers: dict[str, Reader] = {}
        self._stages: list[ChildProcess] = []

    def start(self, **settings: str) -> ChildProcess:
        """Start and return a worker of the stage that is allowed to send to this machine."""
        given = {
            "secret_key": _KEY,
            "s3_secret_key": "unused",
            "webhook_allowed_networks": "127.0.0.0/8",
            "streams.runtime.app.SESSION_TIMEOUT_SECONDS": "6",
        } | settings
        number = len(self._stages)
        environment = environment_of(self.kafka, self._folder / f"worker-{number}", **given)
        log = self._folder / f"webhooks-{number}.log"
        process = stage("streams.webhooks", "webhooks", log, environment)
        process.start()
        self._stages.append(process)
        return process

    def webhook(self, url: str, *, events: tuple[EventName, ...] = (), **more: object) -> UUID:
        """Configure a webhook of the account, and return its ID."""
        config = WebhookConfig(
            webhook_id=uuid4(),
            owner_id=OWNER,
            name="Gate",
            url_encrypted=self.box.encrypt(url),
            secret_encrypted=self.box.encrypt(SECRET),
            headers_encrypted=self.box.encrypt('{"X-Tenant":"north"}'),
            events=events or (EventName.RECOGNITION_CREATED,),
            enabled=True,
            revision=1,
        )
        config = msgspec.structs.replace(config, **more)
        self.send(CONFIG_WEBHOOKS, str(config.webhook_id), config)
        return config.webhook_id

    def recognized(self, *recognitions: Recognition) -> None:
        self._feeders.of(RECOGNITIONS).send_pairs(messages(recognitions))

    def send(self, topic: Topic, key: str | bytes, record: Record) -> None:
        raw = key.encode() if isinstance(key, str) else key
        self._feeders.of(topic).send_pairs([(raw, encode(record))])

    def send_all(self, topic: Topic, records: Sequence[tuple[str, Record]]) -> None:
        self._feeders.of(topic).send_pairs([(key.encode(), encode(one)) for key, one in records])

    def values(self, topic: Topic) -> list[bytes]:
        if topic.name not in self._readers:
            self._readers[topic.name] = Reader(self.kafka, topic)
        return [value for value in self._readers[topic.name].poll() if value]

    def attempts(self) -> list[DeliveryAttempt]:
        return [decode(DeliveryAttempt, value) for value in self.values(ATTEMPTS)]

    def deliveries(self) -> int:
        """Return the number of deliveries that the stage has published so far."""
        return len(self.values(DELIVERIES))

    def status(self, webhook_id: UUID) -> WebhookStatus | None:
        found = [decode(WebhookStatus, value) for value in self.values(WEBHOOK_STATUS)]
        return next((one for one in reversed(found) if one.webhook_id == webhook_id), None)

    def close(self) -> None:
        for process in self._stages:
            process.kill()
        self._feeders.close()
        for reader in self._readers.values():
            reader.close()
