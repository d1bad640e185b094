"""Topics that an older release made, or that get another number of partitions."""

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic

from common.kafka.clients import (
    bound_topics,
    client_options,
    group_name,
    open_consumer,
    open_producer,
    topic_name,
)
from common.kafka.partitions import make_topics_anew, partition_numbers, topic_state
from common.records.topics import CONFIG_CAMERAS, FRAMES, READING_DEAD_LETTERS, RECOGNITIONS, Topic
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


def test_topics_are_made_anew_once_all_is_done(kafka_topics: KafkaSettings) -> None:
    settings = kafka_topics
    recognitions, group = topic_name(settings, RECOGNITIONS), group_name(settings, "sink")
    changelog = f"{group_name(settings, 'webhooks')}-pending-deliveries-changelog"
    admin = KafkaAdminClient(**client_options(settings, "test"))
    admin.create_topics([NewTopic(changelog, num_partitions=4, replication_factor=1)])
    admin.wait_for_topics([changelog])
    producer = open_producer(settings, "test")

    def send(topic: str, key: bytes, value: bytes | None) -> None:
        producer.send(topic, key=key, value=value).get(timeout=30)

    for number in range(3):
        send(recognitions, b"%d" % number, b"a recognition")
    # The latest of each is published again.
    send(topic_name(settings, CONFIG_CAMERAS), b"camera", b"a camera")
    for value in (b"a delivery", None):
        send(changelog, b"done", value)
    send(changelog, b"waits", b"a delivery")
    assert topic_state(settings).waiting == {recognitions: 3, changelog: 1}

    send(changelog, b"waits", None)
    consumer = open_consumer(settings, "test", group_id=group)
    consumer.subscribe([recognitions])
    while not consumer.assignment():
        consumer.poll(timeout_ms=200)
    consumer.seek_to_end()
    for partition in consumer.assignment():
        consumer.position(partition)
    consumer.commit()
    state = topic_state(settings)
    assert (state.running, dict(state.waiting)) == ((group,), {})
    consumer.close()
    producer.close()
    assert topic_state(settings).running == ()

    wanted = settings.model_copy(update={"kafka_partitions": 6})
    make_topics_anew(wanted)

    assert partition_numbers(wanted) == {6}
    assert changelog not in admin.list_topics()
    assert group not in [each["group_id"] for each in admin.list_groups()]
    assert topic_state(wanted).waiting == {}
    admin.close()
