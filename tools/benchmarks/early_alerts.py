"""Measures the time from a vehicle's second matching reading until the early alert is received.

Command: ``python -m tools.benchmarks.early_alerts [--passes 100] [--seconds-between 0.5]``.
Publishes two readings of each vehicle in turn, as the reading agent does. The time is
measured from when Kafka has stored the second reading until a receiver here gets the request.
"""

import argparse
import time
from uuid import UUID, uuid4

from kafka import KafkaProducer

from common.kafka.clients import producer_options, topic_name
from common.records.codec import encode
from common.records.frames import FRAME_META_HEADER, Box, FrameKind, FrameMeta, FrameReference
from common.records.recognitions import CharacterOption, FrameReadings, PlateReading
from common.records.topics import FRAMES, READINGS
from common.settings import KafkaSettings
from tools.benchmarks.demo_clip import demo_frame
from tools.benchmarks.receiver import Receiver, running_receiver
from tools.benchmarks.stack import BenchmarkStack, print_table, running_stack, spread, wait_until

_STEP_SECONDS = 0.2
_CONFIDENCE = 0.85


class Camera:
    """Publishes readings of passing vehicles, as if from a camera."""

    def __init__(self, stack: BenchmarkStack) -> None:
        """Create the camera, and publish the frame to which all readings refer."""
        self._stack, self._owner = stack, stack.owner_id()
        # Nothing listens at this URL, because the readings are published here.
        self._id = stack.create_camera("rtsp://127.0.0.1:9/camera")
        self._frame = _published_frame(stack, self._owner)

    def show(self, plate: str) -> float:
        """Publish two readings of a vehicle. Return the time (Unix s) of the second reading."""
        self._send(FrameKind.FRAME, (_reading(plate, x_px=400),))
        time.sleep(_STEP_SECONDS)
        self._send(FrameKind.FRAME, (_reading(plate, x_px=440),))
        return time.time()

    def tick(self) -> None:
        """Publish a tick, which advances the camera's clock."""
        self._send(FrameKind.TICK, ())

    def _send(self, kind: FrameKind, readings: tuple[PlateReading, ...]) -> None:
        record = FrameReadings(
            kind=kind,
            camera_id=self._id,
            owner_id=self._owner,
            camera_name="Gate",
            captured_ms=time.time_ns() // 1_000_000,
            frame=self._frame,
            width_px=1920,
            height_px=1080,
            readings=readings,
        )
        self._stack.send(READINGS, [(self._id, record)])


def _reading(plate: str, x_px: float) -> PlateReading:
    positions = ((CharacterOption(character=each, probability=_CONFIDENCE),) for each in plate)
    return PlateReading(
        text=plate,
        confidence=_CONFIDENCE,
        detection_confidence=0.9,
        box=Box(x=x_px, y=500, width=120, height=30),
        positions=tuple(positions),
    )


def _published_frame(stack: BenchmarkStack, owner_id: UUID) -> FrameReference:
    """Publish a frame of another camera, for the images of all passes. Return its reference."""
    kafka = stack.settings(KafkaSettings)
    producer = KafkaProducer(**producer_options(kafka, "frames"))
    camera_id = uuid4()
    meta = FrameMeta(
        kind=FrameKind.FRAME,
        camera_id=camera_id,
        owner_id=owner_id,
        camera_name="Other",
        captured_ms=time.time_ns() // 1_000_000,
    )
    sent = producer.send(
        topic_name(kafka, FRAMES),
        key=str(camera_id).encode(),
        value=demo_frame(),
        headers=[(FRAME_META_HEADER, encode(meta))],
    ).get(10)
    producer.close(10)
    return FrameReference(partition=sent.partition, offset=sent.offset)


def _plate(number: int) -> str:
    # Consecutive plates differ, so that tracking does not mistake a plate for a misreading of the
    # previous plate.
    digits = f"{number * 7919 % 10_000:04}"
    return f"{'KLMNPRST'[number % 8] * 2}{digits}{'ABCDEFGH'[number // 8 % 8] * 2}"


def measure(camera: Camera, receiver: Receiver, passes: int, between: float) -> list[float]:
    """Simulate passes, and return the latency of each pass in milliseconds."""
    read: dict[str, float] = {}
    for number in range(passes):
        read[_plate(number)] = camera.show(_plate(number))
        time.sleep(between)
        camera.tick()
    arrived: dict[str, tuple[float, str]] = {}

    def are_all_there() -> bool:
        arrived.update({k: v for k, v in receiver.first().items() if k not in arrived})
        return read.keys() <= arrived.keys()

    wait_until("an alert for each pass", are_all_there, 60)
    early = sum(arrived[plate][1] == "early" for plate in read)
    print(f"{early} of {len(read)} alerts were early")
    return [1000 * (arrived[plate][0] - at) for plate, at in read.items()]


def _warm_up(camera: Camera, receiver: Receiver) -> None:
    numbers = iter(range(10_000))

    def is_alerted() -> int:
        camera.show(f"WW{next(numbers):04}XX")
        time.sleep(2)
        camera.tick()
        return receiver.count()

    wait_until("the first alert", is_alerted)
    time.sleep(5)
    receiver.first()


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passes", type=int, default=100)
    parser.add_argument("--seconds-between", type=float, default=0.5)
    arguments = parser.parse_args()
    with running_stack() as stack, running_receiver() as receiver:
        alert = {"name": "all", "plateMatchMode": "any", "cooldownMinutes": 0, "early": True}
        stack.call("POST", "/api/alertas", json=alert)
        webhook = {"name": "early", "url": receiver.url(), "events": ["alert.triggered"]}
        stack.call("POST", "/api/webhooks", json=webhook)
        camera = Camera(stack)
        stack.run_only("api", "relay", "recognition", "alerts", "webhooks")
        _warm_up(camera, receiver)
        took_ms = measure(camera, receiver, arguments.passes, arguments.seconds_between)
    print_table("second matching reading → webhook, passes", "p50 ms", "p95 ms", "max ms")
    print(f"| {len(took_ms)} | {spread(took_ms)} |")


if __name__ == "__main__":
    main()
