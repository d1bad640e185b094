import inspect
from types import SimpleNamespace

import pytest
from kafka import KafkaConsumer

from common.kafka.workarounds.idle_poll import IdlePollConsumer


@pytest.mark.parametrize(
    ("records", "expired", "pauses"),
    [({}, False, 1), ({}, True, 0), ({"partition": ["record"]}, False, 0)],
    ids=["nothing", "time-is-up", "records"],
)
def test_it_pauses_after_a_round_that_brought_nothing(
    monkeypatch: pytest.MonkeyPatch, records: dict[str, list[str]], expired: bool, pauses: int
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("common.kafka.workarounds.idle_poll.time.sleep", slept.append)
    monkeypatch.setattr(KafkaConsumer, "_poll_once", lambda *_, **__: records)
    consumer = object.__new__(IdlePollConsumer)
    timer = SimpleNamespace(expired=expired)
    assert consumer._poll_once(timer, 10, update_offsets=True) is records
    assert len(slept) == pauses


def test_the_round_that_it_paces_is_still_part_of_a_poll() -> None:
    assert "self._poll_once(timer" in inspect.getsource(KafkaConsumer.poll)
