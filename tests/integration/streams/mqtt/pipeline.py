"""Inputs and outputs of the MQTT stage: events in Kafka, messages from the broker."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from common.records.cameras import CameraConfig, CameraState, CameraStatus
from common.records.codec import Record, encode
from common.records.recognitions import Recognition
from common.records.topics import CAMERA_STATUS, CONFIG_CAMERAS, RECOGNITIONS, Topic
from common.settings import KafkaSettings
from common.timestamps import now_ms
from tests.integration.streams.stages import Feeders, environment_of, stage
from tests.records import CAMERAS, OWNER, messages, recognition
from tests.services.mqtt import PASSWORD, USER, Listener, port_of
from tests.services.process import ChildProcess, ServerProcess
from tests.waiting import wait_until


class Pipeline:
    """The MQTT stage with separate topics and a separate broker."""

    def __init__(self, kafka: KafkaSettings, broker: ServerProcess, folder: Path) -> None:
        self.kafka = kafka
        self.broker = broker
        self._folder = folder
        self._feeders = Feeders(kafka)
        self._stages: list[ChildProcess] = []

    def start(self, **settings: str) -> ChildProcess:
        """Start a worker of the stage, and return once the worker is connected to the broker."""
        process = self.begin(**settings)
        wait_until(
            "the stage has begun", lambda: "mqtt_cameras_announced" in process.log.read_text()
        )
        return process

    def begin(self, **settings: str) -> ChildProcess:
        """Start a worker of the stage, and return without waiting for a connection."""
        given = {
            "mqtt_host": "127.0.0.1",
            "mqtt_port": str(port_of(self.broker)),
            "mqtt_user": USER,
            "mqtt_password": PASSWORD,
            "streams.mqtt.broker.TIMEOUT_SECONDS": "3",
            "streams.runtime.app.SESSION_TIMEOUT_SECONDS": "6",
            "streams.runtime.stage_runner.RETRY_PAUSE_SECONDS": "1",
            "streams.mqtt.app.RETRY_PAUSE_SECONDS": "1",
        } | settings
        number = len(self._stages)
        environment = environment_of(self.kafka, self._folder / f"worker-{number}", **given)
        process = stage("streams.mqtt", "mqtt", self._folder / f"mqtt-{number}.log", environment)
        process.start()
        self._stages.append(process)
        return process

    def log(self) -> str:
        return "".join(process.log.read_text(errors="replace") for process in self._stages)

    def recognized(self, recognitions: Sequence[Recognition]) -> None:
        self._feeders.of(RECOGNITIONS).send_pairs(messages(recognitions))

    def camera(self, number: int = 0, **changed: Any) -> CameraConfig:
        fields: dict[str, Any] = {
            "camera_id": CAMERAS[number],
            "owner_id": OWNER,
            "name": f"Gate {number}",
            "stream_url_encrypted": "not for this stage",
            "enabled": True,
            "revision": 1,
        }
        config = CameraConfig(**(fields | changed))
        self.send(CONFIG_CAMERAS, str(config.camera_id), config)
        return config

    def deleted(self, camera_id: UUID) -> None:
        self._feeders.of(CONFIG_CAMERAS).send_pairs([(str(camera_id).encode(), b"")])

    def status(self, state: CameraState, number: int = 0, *, seen_ms_ago: int = 0) -> CameraStatus:
        status = CameraStatus(
            camera_id=CAMERAS[number],
            owner_id=OWNER,
            state=state,
            revision=1,
            worker="w",
            at_ms=now_ms(),
            last_seen_ms=now_ms() - seen_ms_ago,
        )
        self.send(CAMERA_STATUS, str(status.camera_id), status)
        return status

    def send(self, topic: Topic, key: str, record: Record) -> None:
        self._feeders.of(topic).send_pairs([(key.encode(), encode(record))])

    def close(self) -> None:
        for process in self._stages:
            process.kill()
        self._feeders.close()


def topic(what: str, number: int = 0) -> str:
    return f"platestream/{OWNER}/{CAMERAS[number]}/{what}"


def discovery(number: int = 0) -> str:
    """Return a camera's discovery topic."""
    return f"homeassistant/device/platestream_{CAMERAS[number]}/config"


def events(listener: Listener, what: str, number: int = 0) -> list[dict[str, Any]]:
    """Return the events published under a camera's topic."""
    return [json.loads(payload) for payload in listener.payloads(topic(what, number))]


def just_made(start: int, stop: int) -> list[Recognition]:
    """Return current recognitions with these numbers."""
    return [recognition(number, captured_ms=now_ms() + number) for number in range(start, stop)]
