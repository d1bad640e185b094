"""Topics whose number of partitions changes."""

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from common.kafka.clients import (
    client_options,
    group_name,
    open_consumer,
    open_producer,
    topic_name,
)
from common.kafka.partitions import partition_numbers, recreate_topics, topic_state
from common.records.topics import CONFIG_CAMERAS, RECOGNITIONS
from common.settings import KafkaSettings

pytestmark = pytest.mark.integration


def test_topics_are_recreated_once_everything_is_processed(kafka_topics: KafkaSettings) -> None:
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
    # The latest record of each key is published again.
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
    recreate_topics(wanted)

    assert partition_numbers(wanted) == {6}
    assert changelog not in admin.list_topics()
    assert group not in [each["group_id"] for each in admin.list_groups()]
    assert topic_state(wanted).waiting == {}
    admin.close()
