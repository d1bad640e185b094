"""When topics are not created again. The tests use no broker."""

from types import SimpleNamespace

import pytest

from common.kafka import partitions
from common.kafka.clients import group_name
from common.settings import KafkaSettings


@pytest.mark.parametrize(("entries", "left"), [(2, [2]), (0, [])], ids=["open", "all closed"])
def test_frames_that_are_to_be_read_late_are_left_to_do(
    monkeypatch: pytest.MonkeyPatch, entries: int, left: list[int]
) -> None:
    settings = KafkaSettings.model_validate({})
    changelog = f"{group_name(settings, 'recognition')}-gaps-changelog"
    other = f"{group_name(settings, 'recognition')}-cameras-changelog"
    admin = SimpleNamespace(
        describe_topics=lambda _: [
            {"name": name, "partitions": [{"partition_index": 0}]} for name in (changelog, other)
        ],
        list_groups=lambda: [],
        close=lambda: None,
    )
    monkeypatch.setattr(partitions, "open_admin", lambda *_: admin)
    monkeypatch.setattr(partitions, "_unread", lambda *_: {})
    monkeypatch.setattr(partitions, "_entries", lambda *_: entries)
    assert list(partitions.topic_state(settings).waiting.values()) == left
