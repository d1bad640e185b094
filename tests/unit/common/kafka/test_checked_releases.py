"""Releases of Kafka libraries that were not checked are rejected."""

import pytest
from kafka import KafkaConsumer
from kafka.coordinator.consumer import ConsumerCoordinator

from common.errors import MisconfiguredError
from common.kafka import checked_releases
from common.kafka.checked_releases import require_checked_release
from common.kafka.clients import client_options
from common.settings import KafkaSettings
from tests.library_insides import calls


@pytest.mark.parametrize(
    ("owner", "name"),
    [(KafkaConsumer, "_poll_once"), (ConsumerCoordinator, "_do_join_and_sync_async")],
)
def test_kafka_python_goes_through_what_is_replaced(owner: type, name: str) -> None:
    assert calls(owner, name)


@pytest.mark.parametrize(
    "library", ["aiokafka", "faust-streaming", "kafka-python", "mode-streaming"]
)
def test_a_release_that_was_not_read_is_refused(
    monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    require_checked_release(library)
    monkeypatch.setattr(checked_releases, "version", lambda _: "9.9")
    with pytest.raises(MisconfiguredError, match=f"{library} 9.9 has not been verified with"):
        require_checked_release(library)


def test_no_client_is_made_with_a_kafka_python_that_was_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checked_releases, "version", lambda _: "3.0.99")
    with pytest.raises(MisconfiguredError, match=r"kafka-python 3\.0\.99 has not been verified"):
        client_options(KafkaSettings.model_validate({}), "test")
