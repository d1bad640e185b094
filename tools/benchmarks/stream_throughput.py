"""Compares the recognition stage on Kafka and Faust with the same engine in a bare loop.

    python -m tools.benchmarks.stream_throughput VIDEO [--workers 1] [--seconds 30] [--rounds 2]

Both use the same frames (JPEG files made of the video), models and number of recogniser processes,
one after the other on the same machine, in turn. Kafka and S3 are started for it.
"""

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

import av
import cv2
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from common.kafka.clients import consumer_options, producer_options, topic_name
from common.records.codec import encode
from common.records.frames import FRAME_META_HEADER, FrameKind, FrameMeta
from common.records.topics import FRAMES, READINGS
from common.settings import KafkaSettings, load_settings
from recognition.engine import Recognizer
from recognition.images import decode_image
from recognition.settings import RecognizerSettings
from tools.benchmarks.recognition_stage import running_servers, running_stage

_OWNER = UUID(int=1)
_CAMERAS = 8
_FRAME_MS = 200
_JPEG_QUALITY = 85
_MAX_FRAMES = 120
_WARM_UP_SHARE = 0.2
_START_SECONDS = 120.0


def frames_of(video: Path) -> list[bytes]:
    """Return up to 120 frames of a video as JPEG, every fifth."""
    found: list[bytes] = []
    with av.open(str(video)) as container:
        for number, frame in enumerate(container.decode(video=0)):
            if number % 5 == 0 and len(found) < _MAX_FRAMES:
                pixels = frame.to_ndarray(format="bgr24")
                _, data = cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])
                found.append(data.tobytes())
    return found


def loop_bare(folder: Path, seconds: float) -> None:
    """Read frames for a while and print how many there were a second: one bare process."""
    cv2.setNumThreads(1)
    recognizer = Recognizer(load_settings(RecognizerSettings))
    frames = [path.read_bytes() for path in sorted(folder.glob("*.jpg"))]
    recognizer.recognize(decode_image(frames[0]))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    count, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        recognizer.recognize(decode_image(frames[count % len(frames)]))
        count += 1
    sys.stdout.write(f"{count / (time.perf_counter() - started)}\n")


def bare_rate(folder: Path, workers: int, seconds: float) -> float:
    """Return the frames a second of bare loops in ``workers`` processes."""
    command = [sys.executable, "-m", "tools.benchmarks.stream_throughput", str(folder)]
    command += ["--bare", "--seconds", str(seconds)]
    loops = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(workers)
    ]
    for loop in loops:
        assert loop.stdout is not None
        loop.stdout.readline()
    for loop in loops:
        assert loop.stdin is not None
        loop.stdin.write("go\n")
        loop.stdin.flush()
    return sum(float(loop.communicate()[0]) for loop in loops)


def send_frames(kafka: KafkaSettings, frames: list[bytes], count: int) -> None:
    """Put frames of several cameras on the frames topic."""
    # The same ones each time: how they lie on the partitions makes a tenth of the rate.
    cameras = [UUID(int=number) for number in range(1, _CAMERAS + 1)]
    producer = KafkaProducer(**producer_options(kafka, "bench"))
    start_ms = time.time_ns() // 1_000_000
    for number in range(count):
        camera = cameras[number % _CAMERAS]
        meta = FrameMeta(
            kind=FrameKind.FRAME,
            camera_id=camera,
            owner_id=_OWNER,
            camera_name="bench",
            captured_ms=start_ms + number // _CAMERAS * _FRAME_MS,
        )
        producer.send(
            topic_name(kafka, FRAMES),
            key=str(camera).encode(),
            value=frames[number // _CAMERAS % len(frames)],
            headers=[(FRAME_META_HEADER, encode(meta))],
        )
    producer.flush()
    producer.close()


def reading_times(kafka: KafkaSettings, count: int) -> list[float]:
    """Return when Kafka got each reading, in seconds, once there are ``count``."""
    consumer = KafkaConsumer(**consumer_options(kafka, "bench"))
    topic = topic_name(kafka, READINGS)
    consumer.assign([TopicPartition(topic, p) for p in range(kafka.kafka_partitions)])
    times: list[float] = []
    deadline = time.monotonic() + _START_SECONDS
    while len(times) < count:
        for records in consumer.poll(timeout_ms=500).values():
            times += [record.timestamp / 1000 for record in records]
            deadline = time.monotonic() + _START_SECONDS
        assert time.monotonic() < deadline, f"only {len(times)} readings"
    consumer.close()
    return sorted(times)


def stream_rate(frames: list[bytes], workers: int, count: int) -> float:
    """Return the frames a second of the whole stage, past its start."""
    with TemporaryDirectory(prefix="platestream-bench-") as name:
        folder = Path(name)
        with running_servers(folder) as servers:
            send_frames(servers.kafka, frames, count)
            with running_stage(servers, folder, RECOGNITION_WORKERS=str(workers)):
                times = reading_times(servers.kafka, count)
    steady = times[int(len(times) * _WARM_UP_SHARE) :]
    return (len(steady) - 1) / (steady[-1] - steady[0])


def main() -> None:
    """Measure both in turn and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("video", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--bare", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.bare:
        loop_bare(arguments.video, arguments.seconds)
        return
    frames = frames_of(arguments.video)
    ratios = []
    with TemporaryDirectory(prefix="platestream-bench-frames-") as name:
        for number, data in enumerate(frames):
            (Path(name) / f"{number:04}.jpg").write_bytes(data)
        for _ in range(arguments.rounds):
            before = bare_rate(Path(name), arguments.workers, arguments.seconds)
            stream = stream_rate(frames, arguments.workers, round(before * arguments.seconds))
            after = bare_rate(Path(name), arguments.workers, arguments.seconds)
            ratios.append(2 * stream / (before + after))
            print(f"bare {before:.2f} and {after:.2f}, stream {stream:.2f} frames/s")
    print(f"ratio {statistics.median(ratios):.3f} with {arguments.workers} workers")


if __name__ == "__main__":
    main()
