"""What recognition takes for each frame of a camera, part by part, and what passes come out.

    python -m tools.benchmarks.looks [CLIP ...] [--fps 5] [--behind 0] [--whole 0]

Plays clips (``road`` is the demo scene) through ingest's choice of frames, the reading agent with
its engine, and tracking, one after the other in one process, without Kafka: the same frames give
the same passes at every run. Printed is processor time, which other work on the machine hardly
changes. A clip's passes are in ``passes.jsonl`` beside it (see :mod:`tools.benchmarks.clips`).
Tracking is ``--behind`` so many frames while one is read; all of every frame is looked at, or
with ``--whole`` above 0 all of one so often, in seconds.
"""

import argparse
import asyncio
import sys
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import av
import cv2
import msgspec

from common.records.codec import encode
from common.records.counts import CaptureCounts
from common.records.frames import FRAME_META_HEADER, FrameKind, FrameMeta, FrameReference
from common.records.recognitions import FrameReadings
from common.settings import load_settings
from deploy.local.camera import DEMO_CLIP, DEMO_TRUTH
from ingest.capture.changes import ChangedParts
from ingest.capture.decoded_frame import DecodedFrame
from ingest.capture.messages import MotionRules
from ingest.capture.sampling import MotionGate, Sampler
from recognition.detection.detector import Detector
from recognition.engine import Recognizer
from recognition.images import decode_image
from recognition.look import NOTHING_KNOWN, Look
from recognition.reading.reader import Reader
from recognition.settings import RecognizerSettings
from recognition.workers import worker
from recognition.workers.pool import ImageReadings
from recognition.workers.protocol import Job
from streams.recognition.metrics import RecognitionMetrics
from streams.recognition.reading.agent import FrameRecord, ReadingAgent
from streams.recognition.reading.fair_share import FairShare
from streams.recognition.reading.frame_store import FrameCache
from streams.recognition.reading.late_pace import LatePace
from streams.recognition.reading.look_plan import LookPlanner
from streams.recognition.tracking.passes import Pass, TrackingRules
from streams.recognition.tracking.state import TrackerState
from tools.benchmarks.clips import true_passes
from tools.synthetic.scene import SceneTruth
from tools.synthetic.score import score_passes

_CAMERA: Final = UUID(int=1)
START_MS: Final = 1_700_000_000_000
"""When the first frame is captured."""

_HOLD_SECONDS: Final = 2.0
_JPEG_QUALITY: Final = 85
_END_MS: Final = 3_000


@dataclass(frozen=True)
class Sent:
    """A frame as ingest sends it."""

    meta: FrameMeta
    jpeg: bytes


@dataclass
class Spent:
    """Processor seconds by part, how often each ran, and the passes."""

    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    runs: Counter[str] = field(default_factory=Counter)
    passes: list[Pass] = field(default_factory=list)
    early: list[tuple[int, str]] = field(default_factory=list)
    """When plates were reported provisionally, ms from the first frame on, and as what."""


def clip_frames(clip: Path) -> Iterator[tuple[float, av.VideoFrame]]:
    """Yield the seconds from the first frame on, and the frames of a clip."""
    with av.open(str(clip)) as container:
        first: float | None = None
        for each in container.decode(video=0):
            first = each.time if first is None else first
            yield each.time - first, each


def sent_frames(frames: Iterable[tuple[float, av.VideoFrame]], fps: float) -> Iterator[Sent]:
    """Yield those of frames, with the seconds from the first one on, that ingest would send."""
    sampler, gate = Sampler(), MotionGate(MotionRules(hold_seconds=_HOLD_SECONDS))
    changes, sent = ChangedParts(), 0
    for seconds, each in frames:
        captured_ms = START_MS + round(seconds * 1000)
        frame = DecodedFrame(each)
        if not sampler.takes(seconds, fps):
            continue
        grey = frame.grey()
        if not gate.passes(grey, captured_ms):
            continue
        image, sent = frame.jpeg(_JPEG_QUALITY), sent + 1
        meta = FrameMeta(
            kind=FrameKind.FRAME,
            camera_id=_CAMERA,
            owner_id=_CAMERA,
            camera_name="looks",
            captured_ms=captured_ms,
            width_px=image.width_px,
            height_px=image.height_px,
            counts=CaptureCounts(since_ms=START_MS, sent=sent),
            changed=changes.sent(grey, image.width_px, image.height_px),
        )
        yield Sent(meta, image.data)


class _Engine:
    """A pool of one reader in this process."""

    def __init__(self, recognizer: Recognizer) -> None:
        self._recognizer = recognizer

    async def read_image(
        self,
        data: bytes,
        *,
        min_plate_width_px: int = 0,
        look: Look = NOTHING_KNOWN,
        wait_seconds: float | None = None,
    ) -> ImageReadings:
        job = Job(image=data, min_plate_width_px=min_plate_width_px, look=look)
        (outcome,) = worker.read_image_files(self._recognizer, [job])
        return ImageReadings.of(outcome)


class Stage:
    """Reading and tracking of one camera."""

    def __init__(self, recognizer: Recognizer, behind: int, whole_ms: int) -> None:
        self.spent = Spent()
        self._states = deque([TrackerState()], maxlen=behind + 1)
        self._rules = rules = TrackingRules()
        self._reading = ReadingAgent(
            pool=_Engine(recognizer),
            cache=FrameCache(0),
            state_of=lambda _: self._states[0],
            publish=self._track,
            metrics=RecognitionMetrics(),
            fair_share=FairShare(time.monotonic, readers=1, is_busy=lambda: False),
            looks=LookPlanner(whole_ms, rules.end_ms),
            late_pace=LatePace(10**12),
            now_ms=lambda: START_MS,
        )

    async def read(self, number: int, sent: Sent) -> None:
        """Read a frame and track what was read."""
        record = FrameRecord(
            key=b"camera",
            value=sent.jpeg,
            headers={FRAME_META_HEADER: encode(sent.meta)},
            reference=FrameReference(partition=0, offset=number),
        )
        await self._reading.handle(record, _at_once, lambda: None)

    async def _track(self, key: bytes, frame: FrameReadings) -> None:
        step = self._states[-1].apply_frame(frame, self._rules)
        self._states.append(step.state)
        self.spent.passes += step.ended.passes
        now_ms = frame.captured_ms - START_MS
        self.spent.early += [(now_ms, one.plate) for one in step.reported]


async def _at_once() -> None:
    return None


def _counted(spent: Callable[[], Spent], name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def counted(*arguments: Any, **named: Any) -> Any:
        began = time.process_time()
        try:
            return call(*arguments, **named)
        finally:
            spent().seconds[name] += time.process_time() - began
            spent().runs[name] += 1

    return counted


def play(stage: Stage, frames: list[Sent]) -> Spent:
    """Play frames, then silence."""
    began = time.process_time()
    for number, sent in enumerate(frames):
        asyncio.run(stage.read(number, sent))
    stage.spent.seconds["all"] = time.process_time() - began
    last = frames[-1].meta
    end = FrameMeta(
        kind=FrameKind.TICK,
        camera_id=_CAMERA,
        owner_id=_CAMERA,
        camera_name=last.camera_name,
        captured_ms=last.captured_ms + _END_MS,
    )
    asyncio.run(stage.read(len(frames), Sent(end, b"")))
    return stage.spent


def report(name: str, frames: list[Sent], spent: Spent, true_plates: list[str]) -> None:
    """Print what one clip took and what came out."""
    count = len(frames)
    seconds = (frames[-1].meta.captured_ms - START_MS) / 1000
    spent.seconds["rest"] = 2 * spent.seconds["all"] - sum(spent.seconds.values())
    cores = spent.seconds["all"] / seconds
    print(f"\n{name}: {count} frames of {seconds:.0f} s, {cores:.3f} cores; ms of CPU a frame")
    for part, took in sorted(spent.seconds.items(), key=lambda item: -item[1]):
        print(
            f"  {part:8} {1000 * took / count:7.2f}   runs a frame {spent.runs[part] / count:.2f}"
        )
    score = score_passes(true_plates, [one.plate for one in spent.passes])
    print(f"  {score}")
    early = (f"{ms} {plate}" for ms, plate in spent.early)
    print(f"  reported provisionally, ms: {', '.join(early)}")


def _demo_plates() -> list[str]:
    truth = msgspec.json.decode(DEMO_TRUTH.read_bytes(), type=SceneTruth)
    return [one.plate for one in truth.passes]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clips", nargs="*", default=["road"])
    parser.add_argument("--fps", type=float, default=5.0)
    parser.add_argument("--behind", type=int, default=0)
    parser.add_argument("--whole", type=float, default=0.0)
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    spent = Spent()
    for owner, method, part in (
        (Detector, "search_all", "detect"),
        (Reader, "read_all", "read"),
        (worker, "decode_image", "decode"),
        (worker, "scene_view", "view"),
    ):
        setattr(owner, method, _counted(lambda: spent, part, getattr(owner, method)))
    recognizer = Recognizer(load_settings(RecognizerSettings))
    recognizer.recognize(decode_image(next(sent_frames(clip_frames(DEMO_CLIP), 1.0)).jpeg))
    for name in arguments.clips:
        clip = DEMO_CLIP if name == "road" else Path(name)
        if clip == DEMO_CLIP:
            plates = _demo_plates()
        else:
            known = true_passes(clip.parent)
            plates = [one.plate for one in known if one.clip == clip.name and one.readable]
        frames = list(sent_frames(clip_frames(clip), arguments.fps))
        stage = Stage(recognizer, arguments.behind, round(arguments.whole * 1000))
        spent = stage.spent
        report(clip.name, frames, play(stage, frames), plates)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
