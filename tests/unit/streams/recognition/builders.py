"""Readings, frames and whole passes for the tests of tracking."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from uuid import UUID

import cv2
import numpy as np

from common.records.frames import Box, FrameKind, FrameReference
from common.records.recognitions import CharacterOption, FrameReadings, PlateReading
from streams.recognition.tracking.passes import Pass, TrackingRules
from streams.recognition.tracking.state import TrackerState

CAMERA = UUID(int=7)
OWNER = UUID(int=8)
START_MS = 1_790_000_000_000
RULES = TrackingRules()
WIDTH_PX, HEIGHT_PX = 1920, 1080


def options(character: str, probability: float) -> tuple[CharacterOption, ...]:
    second = "8" if character != "8" else "B"
    return (
        CharacterOption(character=character, probability=probability),
        CharacterOption(character=second, probability=(1 - probability) * 0.6),
    )


def reading(
    text: str, confidence: float = 0.95, x: float = 800, y: float = 500, width: float = 120
) -> PlateReading:
    return PlateReading(
        text=text,
        confidence=confidence,
        detection_confidence=0.9,
        box=Box(x=x, y=y, width=width, height=width / 4),
        positions=tuple(options(character, confidence) for character in text),
        region="Netherlands",
    )


def frame(
    offset: int,
    ms: int,
    readings: Iterable[PlateReading] = (),
    *,
    kind: FrameKind = FrameKind.FRAME,
    stale: bool = False,
) -> FrameReadings:
    return FrameReadings(
        kind=kind,
        camera_id=CAMERA,
        owner_id=OWNER,
        camera_name="Gate",
        captured_ms=START_MS + ms,
        frame=FrameReference(partition=3, offset=offset),
        width_px=WIDTH_PX,
        height_px=HEIGHT_PX,
        stale=stale,
        readings=tuple(readings),
    )


@dataclass(frozen=True)
class Drive:
    """A vehicle that crosses the view: its times, position, speed and readings."""

    plate: str
    from_ms: int
    to_ms: int
    x_px: float = 200
    y_px: float = 500
    speed_px_s: float = 200
    confidence: float = 0.95

    def at(self, ms: int) -> PlateReading | None:
        if not self.from_ms <= ms <= self.to_ms:
            return None
        x = self.x_px + self.speed_px_s * (ms - self.from_ms) / 1000
        return reading(self.plate, self.confidence, x=x, y=self.y_px)


def film(drives: Sequence[Drive], until_ms: int, step_ms: int = 200) -> list[FrameReadings]:
    """Return the frames of a camera, every ``step_ms``, without ticks."""
    frames = []
    for offset, ms in enumerate(range(0, until_ms + 1, step_ms)):
        seen = [r for drive in drives if (r := drive.at(ms)) is not None]
        frames.append(frame(offset, ms, seen))
    return frames


def play(
    frames: Iterable[FrameReadings],
    state: TrackerState | None = None,
    rules: TrackingRules = RULES,
) -> tuple[TrackerState, list[Pass]]:
    state = state or TrackerState()
    passes: list[Pass] = []
    for each in frames:
        step = state.apply_frame(each, rules)
        state = step.state
        passes += step.ended.passes
    return state, passes


def plates(passes: Iterable[Pass]) -> list[str]:
    return [p.plate for p in passes]


@cache
def jpeg_image(width: int = WIDTH_PX, height: int = HEIGHT_PX) -> bytes:
    """Return a grey JPEG with a white patch at the position of the box of :func:`reading`."""
    image = np.full((height, width, 3), 90, np.uint8)
    image[500:530, 800:920] = 255
    _, data = cv2.imencode(".jpg", image)
    return data.tobytes()
