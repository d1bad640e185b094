"""The time from a vehicle's second agreeing reading to its alert at the receiver.

Command: ``python -m tools.benchmarks.early_alerts [--passes 100] [--seconds-between 0.5]``. Starts
Kafka, S3 and one worker each of the recognition, alerts and webhooks stages in a temporary folder.
What is fed are readings, as the reading agent publishes them, of vehicles that pass one after the
other and are read twice; the time is from the moment Kafka has the second one to the request at a
receiver on this machine. Prints how long each topic on the way took, too.
"""

import argparse
import re
import statistics
import time
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import numpy as np
from kafka import KafkaConsumer, KafkaProducer

from common.kafka.clients import consumer_options, producer_options, topic_name
from common.records.alerts import AlertConfig, PlateMatchMode
from common.records.codec import encode
from common.records.frames import FRAME_META_HEADER, FrameKind, FrameMeta, FrameReference
from common.records.recognitions import FrameReadings
from common.records.topics import (
    ALERT_CANDIDATES,
    ALERTS,
    CONFIG_ALERTS,
    DELIVERIES,
    FRAMES,
    READINGS,
    SIGHTINGS,
    Topic,
)
from common.records.webhooks import EventName
from common.settings import KafkaSettings
from tests.integration.streams.recognition.scenes import jpeg
from tests.integration.streams.stages import Feeder, Reader, environment_of, running, stage
from tests.integration.streams.webhooks.pipeline import Pipeline
from tests.records import CAMERAS, OWNER, alert
from tests.services.receiver import Receiver
from tests.unit.streams.recognition.builders import reading
from tools.benchmarks.recognition_stage import Servers, running_servers, running_stage

_STEP_MS = 200
_WARM_UP_SECONDS = 180.0
_IDLE_POLLS = 10
_PLATE = re.compile(rb'"(?:text|plate)":"([A-Z0-9]+)"')


class Camera:
    """Publishes readings of vehicles as they pass, and notes when."""

    def __init__(self, kafka: KafkaSettings) -> None:
        self._feeder = Feeder(kafka, READINGS)
        self._frame = _published_frame(kafka)
        self.read_twice: dict[str, float] = {}

    def passes(self, plate: str) -> None:
        """Let a vehicle be read twice and go."""
        self._read(plate, 400)
        time.sleep(_STEP_MS / 1000)
        self._read(plate, 440)
        self.read_twice[plate] = time.monotonic()

    def tick(self) -> None:
        """Move the camera's clock."""
        self._send(FrameKind.TICK, ())

    def _read(self, plate: str, x_px: float) -> None:
        self._send(FrameKind.FRAME, (reading(plate, 0.85, x=x_px),))

    def _send(self, kind: FrameKind, readings: tuple[Any, ...]) -> None:
        record = FrameReadings(
            kind=kind,
            camera_id=CAMERAS[0],
            owner_id=OWNER,
            camera_name="Gate",
            captured_ms=time.time_ns() // 1_000_000,
            frame=self._frame,
            width_px=1920,
            height_px=1080,
            readings=readings,
        )
        self._feeder.send_pairs([(str(CAMERAS[0]).encode(), encode(record))])


def _published_frame(kafka: KafkaSettings) -> FrameReference:
    """Publish a picture, of another camera, that all recognitions can be shown by."""
    producer = KafkaProducer(**producer_options(kafka, "frames"))
    meta = FrameMeta(
        kind=FrameKind.FRAME,
        camera_id=CAMERAS[1],
        owner_id=OWNER,
        camera_name="Gate",
        captured_ms=time.time_ns() // 1_000_000,
    )
    sent = producer.send(
        topic_name(kafka, FRAMES),
        key=str(CAMERAS[1]).encode(),
        value=jpeg(np.full((1080, 1920, 3), 90, np.uint8)),
        headers=[(FRAME_META_HEADER, encode(meta))],
    ).get(10)
    producer.close(10)
    return FrameReference(partition=sent.partition, offset=sent.offset)


def _rule(number: int, **changes: Any) -> AlertConfig:
    fields = {"plate_match_mode": PlateMatchMode.SPECIFIC, "plates": ("*",), "early": True}
    rule = alert(number, **(fields | changes))
    return msgspec.structs.replace(rule, cooldown_minutes=0)


def _came(receiver: Receiver) -> dict[str, tuple[float, str]]:
    """Return when each plate's first alert came, and its phase."""
    came: dict[str, tuple[float, str]] = {}
    for request in receiver.received:
        data = request.json["data"]
        plate = data["recognition"]["plate"]
        came.setdefault(plate, (request.at_seconds, data.get("phase", "final")))
    return came


def _wait(receiver: Receiver, plate: str, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while plate not in _came(receiver):
        assert time.monotonic() < deadline, f"no alert for {plate} within {seconds} s"
        time.sleep(0.01)


def _plate(number: int) -> str:
    # Far from each other, or tracking takes one for a misreading of the one before.
    digits = f"{number * 7919 % 10_000:04}"
    return f"{'KLMNPRST'[number % 8] * 2}{digits}{'ABCDEFGH'[number // 8 % 8] * 2}"


def _measure(camera: Camera, receiver: Receiver, passes: int, between: float) -> list[float]:
    plates = [_plate(number) for number in range(passes)]
    for plate in plates:
        camera.passes(plate)
        time.sleep(between)
        camera.tick()
    _wait(receiver, plates[-1], 60)
    came = _came(receiver)
    phases = [came[plate][1] for plate in plates if plate in came]
    print(f"{len(phases)} of {passes} told, {phases.count('early')} of them early")
    return sorted((came[plate][0] - camera.read_twice[plate]) * 1000 for plate in plates)


def _run(servers: Servers, folder: Path, arguments: argparse.Namespace) -> None:
    environment = environment_of(servers.kafka, folder / "alerts")
    worker = stage("streams.alerts", "alerts", folder / "alerts.log", environment)
    way = Pipeline(servers.kafka, folder)
    with running_stage(servers, folder), running(worker), Receiver() as receiver:
        way.webhook(receiver.url(), events=(EventName.ALERT_TRIGGERED,))
        rule = _rule(1)
        Feeder(servers.kafka, CONFIG_ALERTS).send_pairs(
            [(str(rule.alert_id).encode(), encode(rule))]
        )
        hooks = way.start()
        camera = Camera(servers.kafka)
        try:
            _warm_up(camera, receiver)
            times = _measure(camera, receiver, arguments.passes, arguments.seconds_between)
        finally:
            hooks.kill()
    cuts = statistics.quantiles(times, n=100, method="inclusive")
    print(
        f"second agreeing reading -> webhook: p50 {cuts[49]:.0f} ms, p95 {cuts[94]:.0f} ms,"
        f" p99 {cuts[98]:.0f} ms, max {times[-1]:.0f} ms"
    )
    _by_hop(servers.kafka, {_plate(number) for number in range(arguments.passes)})
    print(f"on the alerts topic, warm-up included: {dict(_phases(servers.kafka))}")


def _warm_up(camera: Camera, receiver: Receiver) -> None:
    deadline = time.monotonic() + _WARM_UP_SECONDS
    number = 0
    while not receiver.received:
        assert time.monotonic() < deadline, "the stages do not start"
        camera.passes(f"WW{number:04}XX")
        time.sleep(2)
        camera.tick()
        number += 1
    time.sleep(5)


def _by_hop(kafka: KafkaSettings, plates: Collection[str]) -> None:
    """Print when a pass first was on each topic, after it was first on the one before."""
    before = _first_seen(kafka, READINGS, plates, after=1)
    for topic in (SIGHTINGS, ALERT_CANDIDATES, ALERTS, DELIVERIES):
        seen = _first_seen(kafka, topic, plates)
        hops = [seen[plate] - before[plate] for plate in seen.keys() & before.keys()]
        print(f"  -> {topic.name}: p50 {statistics.median(hops):.0f} ms, max {max(hops)} ms")
        before = seen


def _first_seen(
    kafka: KafkaSettings, topic: Topic, plates: Collection[str], after: int = 0
) -> dict[str, int]:
    """Return by plate when it was put on a topic, leaving out the first ``after`` times."""
    consumer = KafkaConsumer(topic_name(kafka, topic), **consumer_options(kafka, "hops"))
    times: dict[str, list[int]] = {}
    idle = 0
    while idle < _IDLE_POLLS:
        messages = [each for part in consumer.poll(timeout_ms=200).values() for each in part]
        idle = 0 if messages else idle + 1
        for message in messages:
            found = _PLATE.search(message.value or b"")
            if found:
                times.setdefault(found[1].decode(), []).append(message.timestamp)
    consumer.close()
    return {
        plate: sorted(found)[after]
        for plate, found in times.items()
        if plate in plates and len(found) > after
    }


def _phases(kafka: KafkaSettings) -> Counter[str]:
    reader = Reader(kafka, ALERTS)
    for _ in range(_IDLE_POLLS):
        values = reader.poll()
    reader.close()
    return Counter(str(msgspec.json.decode(value)["phase"]) for value in values)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.benchmarks.early_alerts")
    parser.add_argument("--passes", type=int, default=100)
    parser.add_argument("--seconds-between", type=float, default=0.5)
    arguments = parser.parse_args()
    with TemporaryDirectory(prefix="platestream-bench-") as name:
        folder = Path(name)
        with running_servers(folder) as servers:
            _run(servers, folder, arguments)


if __name__ == "__main__":
    main()
