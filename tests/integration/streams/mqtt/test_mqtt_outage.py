"""Nothing is lost if the broker dies and freezes under load, and the stage is killed."""

from collections import defaultdict
from typing import Any

import pytest

from common.records.cameras import CameraState
from common.records.recognitions import Recognition
from common.records.topics import CONFIG_CAMERAS, RECOGNITIONS
from tests.integration.streams.conftest import four_partitions
from tests.integration.streams.mqtt.pipeline import Pipeline, discovery, events, just_made, topic
from tests.integration.streams.stages import lag
from tests.records import CAMERAS
from tests.services.mqtt import Listener, port_of
from tests.services.process import ChildProcess
from tests.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.fault]

partition_count = four_partitions


@pytest.mark.long
def test_a_broker_that_dies_and_freezes_and_a_killed_stage_lose_nothing(pipeline: Pipeline) -> None:
    pipeline.camera(0)
    pipeline.camera(1)
    pipeline.status(CameraState.ONLINE)
    process = pipeline.start()
    made = just_made(0, 800)
    with Listener(port_of(pipeline.broker)) as before:
        wait_until("both are known", lambda: _is_kept(before, 0) and _is_kept(before, 1))
        wait_until("one is online", lambda: before.latest(topic("state")) == b"online")
        pipeline.recognized(made[:400])
        wait_until("some have arrived", lambda: _count(before) > 50)
        pipeline.broker.kill()
        before.wait_until_cut_off()
    pipeline.recognized(made[400:])
    wait_until("it is noticed", lambda: "mqtt_unavailable" in pipeline.log())
    assert lag(pipeline.kafka, "mqtt", RECOGNITIONS) > 0
    pipeline.deleted(CAMERAS[1])
    pipeline.camera(2)
    pipeline.status(CameraState.ONLINE, 2)
    wait_until(
        "what a new camera does waits", lambda: "not been announced to the broker" in pipeline.log()
    )
    pipeline.broker.start()
    with Listener(port_of(pipeline.broker)) as after:
        # A killed broker loses its retained messages, so they are sent again.
        wait_until("the state is retained", lambda: after.latest(topic("state")) == b"online")
        wait_until("the new one is there", lambda: after.latest(topic("state", 2)) == b"online")
        by_id = {event["id"]: event["event"] for event in events(after, "camera", 2)}
        assert list(by_id.values()) == ["camera.online"]
        wait_until("it goes on", lambda: _count(after) > 50)
        _kill(process, after)
        pipeline.start()
        _wait_for_all(made, before, after)
        wait_until("all is done", lambda: lag(pipeline.kafka, "mqtt", CONFIG_CAMERAS) == 0)
        assert _is_kept(after, 0) and not _is_kept(after, 1)
        made += _freeze(pipeline, after)
        _wait_for_all(made, before, after)
        wait_until("it has recovered", lambda: after.latest("platestream/status") == b"online")
    _assert_repeats_are_the_same(before, after)
    wait_until("all is committed", lambda: lag(pipeline.kafka, "mqtt", RECOGNITIONS) == 0)


def _kill(process: ChildProcess, listener: Listener) -> None:
    process.kill()
    wait_until("its will is published", lambda: listener.latest("platestream/status") == b"offline")


def _freeze(pipeline: Pipeline, listener: Listener) -> list[Recognition]:
    times = pipeline.log().count("mqtt_unavailable")
    pipeline.broker.pause()
    made = just_made(800, 820)
    pipeline.recognized(made)
    wait_until("it is noticed", lambda: pipeline.log().count("mqtt_unavailable") > times)
    pipeline.broker.resume()
    return made


def _wait_for_all(made: list[Recognition], *listeners: Listener) -> None:
    wait_until("as many came", lambda: sum(map(_count, listeners)) >= len(made))
    wanted = {str(one.id) for one in made}
    wait_until("all came", lambda: _ids(*listeners) >= wanted)


def _is_kept(listener: Listener, number: int) -> bool:
    return bool(listener.latest(discovery(number)))


def _count(listener: Listener) -> int:
    return sum(heard.topic.endswith("/recognition") for heard in list(listener.heard))


def _events(*listeners: Listener) -> list[dict[str, Any]]:
    return [
        event
        for listener in listeners
        for number in range(len(CAMERAS))
        for event in events(listener, "recognition", number)
    ]


def _ids(*listeners: Listener) -> set[str]:
    return {event["data"]["recognition"]["id"] for event in _events(*listeners)}


def _assert_repeats_are_the_same(*listeners: Listener) -> None:
    ids: defaultdict[str, set[str]] = defaultdict(set)
    for each in _events(*listeners):
        ids[each["data"]["recognition"]["id"]].add(each["id"])
    assert all(len(found) == 1 for found in ids.values())
