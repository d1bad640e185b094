"""Readings, frames and whole drives past a camera, for the tests of tracking."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from contracts.frames import Box, FrameKind, FrameReference
from contracts.readings import CharacterOption, FrameReadings, PlateReading
from streams.recognition.camera import CameraTracks, advance
from streams.recognition.passes import Pass
from streams.recognition.rules import TrackingRules

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
    """A vehicle that crosses the picture: when, where, how fast, and how it is read."""

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
    """Return the frames of a camera at ``1000 / step_ms`` a second, with nothing in between."""
    frames = []
    for offset, ms in enumerate(range(0, until_ms + 1, step_ms)):
        seen = [r for drive in drives if (r := drive.at(ms)) is not None]
        frames.append(frame(offset, ms, seen))
    return frames


def play(
    frames: Iterable[FrameReadings],
    state: CameraTracks | None = None,
    rules: TrackingRules = RULES,
) -> tuple[CameraTracks, list[Pass]]:
    state = state or CameraTracks()
    passes: list[Pass] = []
    for each in frames:
        step = advance(state, each, rules)
        state = step.state
        passes += step.ended.passes
    return state, passes


def plates(passes: Iterable[Pass]) -> list[str]:
    return [p.plate for p in passes]
