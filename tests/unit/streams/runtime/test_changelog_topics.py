"""Creation of the changelog topic of a stage's table, and errors of the creation."""

from pathlib import Path
from typing import Any

import faust
import pytest
from aiokafka.errors import InvalidReplicationFactorError

from common.errors import EXIT_MISCONFIGURED, MisconfiguredError, TransientError
from common.kafka.clients import Replication
from streams.runtime import app as app_module
from streams.runtime.app import StageTopic, build_app
from streams.runtime.settings import StreamSettings

_THREE = Replication(replicas=3, in_sync=2)


class Declared:
    """The topics that Faust creates. The creation can fail."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.topics: list[faust.Topic] = []

    async def __call__(self, topic: faust.Topic) -> None:
        self.topics.append(topic)
        if self.error is not None:
            raise self.error


def _topic(folder: Path, *, internal: bool = True) -> StageTopic:
    settings = StreamSettings.model_validate({"stream_data_directory": folder})
    topic = build_app(settings, "testing").topic("table", internal=internal)
    assert isinstance(topic, StageTopic)
    return topic


def _answer(monkeypatch: pytest.MonkeyPatch, answer: Replication | Exception | None) -> Declared:
    """Replace Kafka's response with ``answer``, and return the topics that Faust declares."""

    def asked(_settings: Any, name: str) -> Replication | None:
        assert name == "table"
        if isinstance(answer, Exception):
            raise answer
        return answer

    declared = Declared()
    monkeypatch.setattr(app_module, "table_replication", asked)
    monkeypatch.setattr(faust.Topic, "declare", lambda topic: declared(topic))
    return declared


async def test_one_that_is_missing_gets_the_replicas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = _answer(monkeypatch, _THREE)
    topic = _topic(tmp_path)
    await topic.declare()

    assert declared.topics == [topic]
    assert topic.replicas == 3
    assert topic.config is not None
    assert topic.config["min.insync.replicas"] == "2"


async def test_one_that_is_there_is_asked_for_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = _answer(monkeypatch, None)
    topic = _topic(tmp_path)
    before = (topic.replicas, topic.config)
    await topic.declare()

    assert declared.topics == [topic]
    assert (topic.replicas, topic.config) == before


async def test_one_that_no_stage_makes_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = _answer(monkeypatch, _THREE)
    await _topic(tmp_path, internal=False).declare()

    assert declared.topics == []


async def test_settings_that_do_not_fit_end_the_process_as_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(status: int) -> None:
        raise SystemExit(status)

    _answer(monkeypatch, MisconfiguredError("too few"))
    monkeypatch.setattr(app_module, "end_process", end)
    with pytest.raises(SystemExit) as ended:
        await _topic(tmp_path).declare()

    assert ended.value.code == EXIT_MISCONFIGURED


async def test_too_few_brokers_are_reported_with_the_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _answer(monkeypatch, _THREE).error = InvalidReplicationFactorError()
    with pytest.raises(TransientError, match="3 replicas.*PLATESTREAM_KAFKA_REPLICATION_FACTOR"):
        await _topic(tmp_path).declare()
