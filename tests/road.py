"""Parts of the demo clip with their passes, and the comparison of reports with these passes."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import cv2
import msgspec
import numpy as np

from deploy.local.camera import DEMO_CLIP, DEMO_TRUTH
from recognition.types import BgrImage


class TruePass(msgspec.Struct, frozen=True):
    """A pass. Times are seconds from the first frame, and include the last frame in view."""

    plate: str
    first_visible_s: float
    last_visible_s: float
    readable_to_s: float


class RoadTruth(msgspec.Struct, frozen=True):
    """The list of passes next to the demo clip."""

    fps: int
    passes: tuple[TruePass, ...]


TRUTH = msgspec.json.decode(DEMO_TRUTH.read_bytes(), type=RoadTruth)

FOUR_BY_DAY, TWO_AT_DUSK = (0.0, 11.72), (62.0, 69.6)
"""Sections of the demo clip, in seconds. Each starts at a key frame and splits no pass."""


@dataclass(frozen=True)
class RoadClip:
    """A clip with its length and its passes, in order of time."""

    path: Path
    duration_s: float
    passes: tuple[TruePass, ...]

    @property
    def plates(self) -> list[str]:
        return [one.plate for one in self.passes]


def cut_clip(path: Path, *spans: tuple[float, float]) -> RoadClip:
    """Write sections of the demo clip to ``path`` without re-encoding, and return the clip."""
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
    """Yield every ``step``-th frame of the demo clip with its time (s), up to ``until_s``."""
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
    return TruePass(
        one.plate,
        one.first_visible_s + by_s,
        one.last_visible_s + by_s,
        one.readable_to_s + by_s,
    )


@dataclass(frozen=True, kw_only=True)
class PassScore:
    """The comparison of reports with the passes of a clip that was shown once.

    ``doubled`` are plates with more reports than passes. ``invented`` are reported plates that did
    not pass. A misread plate counts as missed and invented.
    """

    passes: int
    right_once: tuple[str, ...]
    doubled: tuple[str, ...]
    missed: tuple[str, ...]
    invented: tuple[str, ...]

    @property
    def right_share(self) -> float:
        """Fraction of passes (0 to 1) with exactly one recognition, which has the right plate."""
        return len(self.right_once) / self.passes if self.passes else 1.0

    def __str__(self) -> str:
        return (
            f"{len(self.right_once)} of {self.passes} passes right and once, "
            f"doubled {list(self.doubled)}, missed {list(self.missed)}, "
            f"invented {list(self.invented)}"
        )


def score_passes(true_plates: Iterable[str], reported_plates: Iterable[str]) -> PassScore:
    """Return the comparison of reports with passes. A plate may pass more than once.

    Both arguments contain normalised plate texts (upper case, no separators).
    """
    truth, reported = Counter(true_plates), Counter(reported_plates)
    return PassScore(
        passes=truth.total(),
        right_once=tuple(sorted(p for p in truth if reported[p] == truth[p])),
        doubled=tuple(sorted(p for p in truth if reported[p] > truth[p])),
        missed=tuple(sorted(p for p in truth if reported[p] < truth[p])),
        invented=tuple(sorted((reported - Counter({p: reported[p] for p in truth})).elements())),
    )
