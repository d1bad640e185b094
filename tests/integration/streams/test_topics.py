"""Topics that an older release made."""

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType

from common.kafka.clients import bound_topics, client_options, topic_name
from common.records.topics import FRAMES, READING_DEAD_LETTERS, RECOGNITIONS, Topic
from common.settings import KafkaSettings

pytestmark = pytest.mark.integration


def _resource(settings: KafkaSettings, topic: Topic, value: int | None = None) -> ConfigResource:
    option = {"retention.bytes": None if value is None else str(value)}
    return ConfigResource(ConfigResourceType.TOPIC, topic_name(settings, topic), option)


def test_a_topic_without_a_bound_gets_the_one_of_this_release(kafka_topics: KafkaSettings) -> None:
    admin = KafkaAdminClient(**client_options(kafka_topics, "test"))

    def bound(topic: Topic) -> int:
        found = admin.describe_configs([_resource(kafka_topics, topic)], config_filter="all")
        name = topic_name(kafka_topics, topic)
        return int(found["topic"][name]["retention.bytes"]["value"])

    assert bound_topics(kafka_topics) == ()
    admin.alter_configs(
        [
            _resource(kafka_topics, READING_DEAD_LETTERS, -1),
            _resource(kafka_topics, FRAMES, 1_000_000),
        ]
    )
    assert bound_topics(kafka_topics) == (topic_name(kafka_topics, READING_DEAD_LETTERS),)
    assert bound(READING_DEAD_LETTERS) == READING_DEAD_LETTERS.retention_bytes > 0
    assert bound(FRAMES) == 1_000_000
    assert bound(RECOGNITIONS) == -1
    assert bound_topics(kafka_topics) == ()
    admin.close()
