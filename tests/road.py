"""Parts of the demo's road clip, with the passes that are in them."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import cv2
import msgspec
import numpy as np

from deploy.local.camera import DEMO_CLIP, DEMO_TRUTH
from recognition.types import BgrImage
from tools.synthetic.scene import SceneTruth, TruePass

TRUTH = msgspec.json.decode(DEMO_TRUTH.read_bytes(), type=SceneTruth)

FOUR_BY_DAY, TWO_AT_DUSK = (0.0, 11.72), (62.0, 69.6)
"""Spans of the demo clip, in seconds. Each starts at a key frame and cuts no pass in two."""


@dataclass(frozen=True)
class RoadClip:
    """A clip, its length and the passes in it, in order of time."""

    path: Path
    duration_s: float
    passes: tuple[TruePass, ...]

    @property
    def plates(self) -> list[str]:
        """The plates that pass."""
        return [one.plate for one in self.passes]


def cut_clip(path: Path, *spans: tuple[float, float]) -> RoadClip:
    """Write spans of the demo clip one after the other, without encoding them again."""
    passes: list[TruePass] = []
    offset = 0
    with av.open(str(path), "w") as target, av.open(str(DEMO_CLIP)) as source:
        video = source.streams.video[0]
        stream = target.add_stream_from_template(video)
        ticks = round(1 / (TRUTH.fps * (video.time_base or Fraction(1, TRUTH.fps))))
        for span in spans:
            first, last = (round(at_s * TRUTH.fps) for at_s in span)
            passes += [_moved(one, offset / TRUTH.fps - span[0]) for one in _within(*span)]
            source.seek(first * ticks, stream=video)
            for packet in source.demux(video):
                if packet.pts is None or not first * ticks <= packet.pts < last * ticks:
                    continue
                packet.pts = packet.dts = packet.pts + (offset - first) * ticks
                packet.stream = stream
                target.mux(packet)
            offset += last - first
    return RoadClip(path, offset / TRUTH.fps, tuple(passes))


def frames(until_s: float, step: int) -> Iterator[tuple[float, BgrImage]]:
    """Yield each ``step``-th frame of the demo clip, with its time, up to a time in seconds."""
    capture = cv2.VideoCapture(str(DEMO_CLIP))
    try:
        for index in range(round(until_s * TRUTH.fps)):
            is_there = capture.grab()
            assert is_there, f"the demo clip has no frame {index}"
            if index % step == 0:
                yield index / TRUTH.fps, np.asarray(capture.retrieve()[1], np.uint8)
    finally:
        capture.release()


def _within(start_s: float, end_s: float) -> list[TruePass]:
    return [
        one for one in TRUTH.passes if start_s <= one.first_visible_s <= one.last_visible_s < end_s
    ]


def _moved(one: TruePass, by_s: float) -> TruePass:
    def later(at_s: float | None) -> float | None:
        return None if at_s is None else at_s + by_s

    return msgspec.structs.replace(
        one,
        first_visible_s=one.first_visible_s + by_s,
        last_visible_s=one.last_visible_s + by_s,
        readable_from_s=later(one.readable_from_s),
        readable_to_s=later(one.readable_to_s),
    )
