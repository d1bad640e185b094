"""Progress of the stages, read from a real Kafka."""

import pytest

from common.errors import TransientError
from common.kafka.clients import (
    TopicPartition,
    group_name,
    open_consumer,
    open_producer,
    topic_name,
)
from common.kafka.stage_progress import StageProgress, stage_progress
from common.records.topics import CONFIG_ALERTS, FRAMES, READINGS, RECOGNITIONS
from common.settings import KafkaSettings
from common.timestamps import now_ms

pytestmark = pytest.mark.integration


def _states(settings: KafkaSettings) -> dict[str, StageProgress]:
    return {state.name: state for state in stage_progress(settings)}


def test_stages_that_never_ran_are_reported(kafka_topics: KafkaSettings) -> None:
    found = stage_progress(kafka_topics)

    assert [state.name for state in found] == ["recognition", "sink", "alerts", "webhooks"]
    assert {(state.workers, state.waiting, state.oldest_ms) for state in found} == {(0, 0, None)}


def test_what_a_stage_has_left_and_who_works_there(kafka_topics: KafkaSettings) -> None:
    settings, before = kafka_topics, now_ms()
    name = topic_name(settings, RECOGNITIONS)
    with open_producer(settings, "test") as producer:
        for number in range(40):
            producer.send(name, key=b"%d" % number, value=b"x" * 1000).get(timeout=30)
        # Topics that are only read to their end do not count as work.
        producer.send(topic_name(settings, CONFIG_ALERTS), key=b"a", value=b"x").get(timeout=30)
    with open_consumer(settings, "test", group_id=group_name(settings, "sink")) as consumer:
        consumer.subscribe([name])
        while not consumer.assignment():
            consumer.poll(timeout_ms=200, max_records=1)
        places = sorted(consumer.assignment())
        for place in places:
            consumer.seek(place, 0)
            consumer.position(place)
        consumer.commit()
        sink = _states(settings)["sink"]
        assert (sink.workers, sink.waiting) == (1, 40)
        assert sink.oldest_ms is not None
        assert before - 1_000 <= sink.oldest_ms <= now_ms()

        ends = consumer.end_offsets(places)
        fullest = max(places, key=ends.__getitem__)
        for place in places:
            consumer.seek(place, ends[place] - (place == fullest))
            consumer.position(place)
        consumer.commit()
        assert _states(settings)["sink"].waiting == 1
        consumer.seek(fullest, ends[fullest])
        consumer.position(fullest)
        consumer.commit()
        assert _states(settings)["sink"] == StageProgress("sink", 1, 0, None)
    assert _states(settings)["sink"] == StageProgress("sink", 0, 0, None)
    assert isinstance(fullest, TopicPartition)


def test_a_stage_of_several_topics_is_listed_after_one_that_shares_some(
    kafka_topics: KafkaSettings,
) -> None:
    settings = kafka_topics
    for stage, topics in {
        "alerts": (RECOGNITIONS,),
        "sink": (FRAMES, READINGS, RECOGNITIONS),
    }.items():
        with open_consumer(settings, "test", group_id=group_name(settings, stage)) as consumer:
            places = [
                TopicPartition(topic_name(settings, topic), number)
                for topic in topics
                for number in range(settings.kafka_partitions)
            ]
            consumer.assign(places)
            for place in places:
                consumer.seek(place, 0)
                consumer.position(place)
            consumer.commit()

    found = _states(settings)

    assert found["alerts"] == StageProgress("alerts", 0, 0)
    assert found["sink"] == StageProgress("sink", 0, 0)


def test_an_unavailable_broker_is_reported(kafka_topics: KafkaSettings) -> None:
    away = kafka_topics.model_copy(update={"kafka_bootstrap_servers": "127.0.0.1:1"})

    with pytest.raises(TransientError):
        stage_progress(away)
